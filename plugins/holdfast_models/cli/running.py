"""Running a program once: text on stdin, bounded output and time, and the whole process group ended afterwards."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from typing import IO, TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: Maximum output in bytes before the program is killed. The longest accepted answer has 400,000 characters.
MAX_OUTPUT_BYTES: Final = 8_000_000
#: Only the beginning of stderr is kept, in bytes.
MAX_ERROR_BYTES: Final = 64_000
_PIECE: Final = 65_536
_POLL_S: Final = 0.02
#: Seconds for the output to arrive after the program has ended.
_DRAIN_S: Final = 1.0

_running: set[subprocess.Popen[bytes]] = set()


#: Start of a failed program's output, searched for the cause.
_SAID_CHARS = 500


class Ended(NamedTuple):
    """``code`` is the exit status. ``late`` and ``too_long`` are true when the program was killed for it."""

    code: int
    stdout: str
    stderr: str
    late: bool = False
    too_long: bool = False

    @property
    def said(self) -> str:
        """A failed program's own words: from stderr, otherwise plain text from stdout."""
        return self.stderr.strip() or (self.stdout[:_SAID_CHARS] if self.code else "")


def run(argv: Sequence[str], text: str, *, folder: str, env: Mapping[str, str], timeout_s: float) -> Ended:
    """Run ``argv`` in ``folder`` with ``text`` on stdin, for at most ``timeout_s`` seconds.

    No process of its group is left when this returns. Raises: OSError when it cannot be started.
    """
    new_group = 0x200 if sys.platform == "win32" else 0  # CREATE_NEW_PROCESS_GROUP
    process = subprocess.Popen(  # noqa: S603 - the program is the user's choice; see finding.py
        argv,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        env=dict(env),
        start_new_session=True,
        creationflags=new_group,
    )
    _running.add(process)
    try:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        out, err = _Reader(process.stdout, MAX_OUTPUT_BYTES), _Reader(process.stderr, MAX_ERROR_BYTES)
        threads = [out.thread, err.thread, _thread(_write, process.stdin, text.encode("utf-8", "replace"))]
        end = time.monotonic() + timeout_s
        while not (ended := _ended(process)) and time.monotonic() < end and not out.overflowed:
            time.sleep(_POLL_S)
        if ended:
            out.thread.join(_DRAIN_S)
    finally:
        _kill(process)
        _running.discard(process)
    for thread in threads:
        thread.join(_DRAIN_S)  # a process that left the group may hold a pipe, so do not wait for it
    late = not ended and not out.overflowed
    return Ended(process.returncode, out.text(), err.text(), late=late, too_long=out.overflowed)


class _Reader:
    """Reads a stream to its end in a thread and keeps the first ``limit`` bytes."""

    def __init__(self, stream: IO[bytes], limit: int) -> None:
        self._stream, self._limit = stream, limit
        self._kept = bytearray()
        self.overflowed = False
        self.thread = _thread(self._read)

    def _read(self) -> None:
        with contextlib.suppress(OSError, ValueError), self._stream:
            while piece := os.read(self._stream.fileno(), _PIECE):
                room = self._limit - len(self._kept)
                self._kept += piece[:room]
                self.overflowed = self.overflowed or len(piece) > room

    def text(self) -> str:
        return bytes(self._kept).decode("utf-8", "replace")


def _thread(job: object, *arguments: object) -> threading.Thread:
    thread = threading.Thread(target=job, args=arguments, name="holdfast-model", daemon=True)  # type: ignore[arg-type]
    thread.start()
    return thread


def _write(stream: IO[bytes], data: bytes) -> None:
    with contextlib.suppress(OSError, ValueError):  # the program may end without reading all of it
        try:
            stream.write(data)
        finally:
            stream.close()


def _ended(process: subprocess.Popen[bytes]) -> bool:
    """Whether the program has ended. Where the system can, it is not reaped yet: its id still names its group."""
    waitid = getattr(os, "waitid", None)
    if waitid is None:
        return process.poll() is not None
    return waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill the program's process group and reap the program."""
    if sys.platform == "win32":
        tree = ["taskkill", "/T", "/F", "/PID", str(process.pid)]
        subprocess.run(tree, capture_output=True, check=False)  # noqa: S603
    else:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_DRAIN_S * 5)


@atexit.register
def _kill_all() -> None:
    """Kill a call abandoned at its deadline, so that it does not outlive holdfast."""
    for process in tuple(_running):
        _kill(process)
