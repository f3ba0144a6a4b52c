"""Commands of holdfast as processes of their own, without starting Python anew for each.

A server, one for each process of the tests, has imported holdfast. For each command it forks a child, which runs
``python -m holdfast`` from its first line to its last, with a working folder, an environment and streams of its own.
"""

import atexit
import contextlib
import json
import os
import runpy
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

#: What the server imports, so that its children need not.
_PACKAGES = tuple(f"holdfast{end}" for end in ("", "_cli", "_app", "_agents", "_file", "_gitea", "_redaction"))


def run(
    *words: str,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    data: str | bytes = "",
    timeout: float = 120,
    dies_at: int = 0,
) -> subprocess.CompletedProcess[str]:
    """``python -m holdfast words``, run to its end, like ``subprocess.run`` with captured output; killed instead of its
    call number ``dies_at`` that changes the disk."""
    given = data.encode() if isinstance(data, str) else data
    env = dict(os.environ if env is None else env)
    if not hasattr(os, "pidfd_open") or "PYTHONPATH" in env:
        assert not dies_at, "only a forked child can be killed so"
        command = [sys.executable, "-m", "holdfast", *words]
        done = subprocess.run(command, cwd=cwd, env=env, input=given, capture_output=True, timeout=timeout, check=False)
        return subprocess.CompletedProcess(words, done.returncode, *(_text(s) for s in (done.stdout, done.stderr)))
    asked = json.dumps([words, str(cwd or Path.cwd()), env, dies_at]).encode()
    with contextlib.ExitStack() as stack:
        # Files, not pipes: a process that the command leaves behind keeps nobody waiting.
        files = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(4)]
        for file, content in zip(files, (asked, given, b"", b""), strict=True):
            file.write(content)
            file.seek(0)
        client = stack.enter_context(socket.socket(socket.AF_UNIX))
        client.connect(_server())
        socket.send_fds(client, [b"?"], [file.fileno() for file in files])
        client.settimeout(timeout)
        answers = stack.enter_context(client.makefile())  # a quick command's two numbers can come together
        pid = int(answers.readline())
        try:
            code = int(answers.readline())
        except TimeoutError:
            os.kill(pid, signal.SIGKILL)
            raise subprocess.TimeoutExpired(words, timeout) from None
        for file in files:
            file.seek(0)
        return subprocess.CompletedProcess(words, code, _text(files[2].read()), _text(files[3].read()))


#: A program that hands its words, folder, environment and streams to the server.
_PROGRAM = """#!{python} -IS
import json, os, socket, sys
if "PYTHONPATH" in os.environ:
    os.execv({python!r}, [{python!r}, "-m", "holdfast", *sys.argv[1:]])
asked = os.memfd_create("asked")
os.write(asked, json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ), 0]).encode())
os.lseek(asked, 0, os.SEEK_SET)
with socket.socket(socket.AF_UNIX) as client:
    client.connect({server!r})
    socket.send_fds(client, [b"?"], [asked, 0, 1, 2])
    answers = client.makefile()
    answers.readline()
    sys.exit(int(answers.readline()) & 255)
"""


def programs(folder: Path) -> Path:
    """``folder`` with ``holdfast`` and ``holdfast-memory``, which do what the installed programs do, for a shell."""
    folder.mkdir()
    if not hasattr(os, "pidfd_open"):
        return Path(sys.executable).parent
    for name in ("holdfast", "holdfast-memory"):
        program = folder / name
        program.write_text(_PROGRAM.format(python=sys.executable, server=_server()))
        program.chmod(0o755)
    return folder


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


@cache
def _server() -> str:
    """The address of this process's server."""
    folder = tempfile.mkdtemp(prefix="holdfast-test-")
    address = os.path.join(folder, "server")
    server = subprocess.Popen([sys.executable, __file__, address], stdin=subprocess.PIPE)

    def stop() -> None:
        server.communicate()  # closes its input
        shutil.rmtree(folder)

    atexit.register(stop)
    while not os.path.exists(address):
        assert server.poll() is None, "the server of commands ended"
        time.sleep(0.02)
    return address


def _serve(address: str) -> tuple[list[str], str, dict[str, str], int]:
    """Answer requests until the tests end. Returns in each child, with what it is to do."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"{address}.new")
    listener.listen(100)
    os.rename(f"{address}.new", address)
    waiting = selectors.DefaultSelector()
    waiting.register(0, selectors.EVENT_READ)
    waiting.register(listener, selectors.EVENT_READ)
    while True:
        for key, _ in waiting.select():
            if key.fd == 0:
                os._exit(0)
            if key.fileobj is not listener:
                waiting.unregister(key.fd)
                os.close(key.fd)
                pid, client = key.data
                code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                client.sendall(f"{code}\n".encode())
                client.close()
                continue
            client, _ = listener.accept()
            files = socket.recv_fds(client, 1, 4)[1]
            pid = os.fork()
            if not pid:
                waiting.close()
                listener.close()
                client.close()
                for number, file in enumerate(files[1:]):
                    os.dup2(file, number)
                with open(files[0], "rb") as file:
                    asked = json.load(file)
                for file in files[1:]:
                    os.close(file)
                return tuple(asked)
            for file in files:
                os.close(file)
            client.sendall(f"{pid}\n".encode())
            waiting.register(os.pidfd_open(pid), selectors.EVENT_READ, (pid, client))


def _import_everything() -> None:
    import gc
    import importlib
    import pkgutil

    for package in _PACKAGES:
        found = importlib.import_module(package)
        for module in pkgutil.walk_packages(found.__path__, f"{package}."):
            if ".testing" not in module.name and not module.name.endswith("__main__"):
                importlib.import_module(module.name)
    # Nor need they compile the expressions and the readers of settings.
    from holdfast.config.serde import config_from
    from holdfast.text.lazy import Lazy

    config_from({"plugins": {"offline": {"enabled": True}}}, "")
    for one in gc.get_objects():
        if isinstance(one, Lazy):
            one.search("")
    gc.freeze()


if __name__ == "__main__":
    _import_everything()
    import dying  # it lies beside this file

    words, cwd, env, dies_at = _serve(sys.argv[1])
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    time.tzset()
    sys.argv[1:] = words
    sys.path[0] = cwd
    if dies_at:
        dying.arm(dies_at)
    try:
        runpy.run_module("holdfast", run_name="__main__", alter_sys=True)
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # taking all modules down again is half the time


def finished(
    command: Any, *, timeout: float = 120, check: bool = False, **more: Any
) -> subprocess.CompletedProcess[str]:
    """A command run to its end, with what it printed."""
    return subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", timeout=timeout, check=check, **more
    )
