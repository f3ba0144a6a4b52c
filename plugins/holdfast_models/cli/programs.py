"""A user's program as a model: finding it on PATH or where the user's own settings say, never inside the project;
running it once; and explaining its failure, without its own words, because they may quote the conversation or a key."""

import atexit
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from typing import IO, Final, NamedTuple

from holdfast.config import settings
from holdfast.errors import ModelFailed
from holdfast.text import untrusted

#: Only the beginning of the output and of stderr is read, in bytes. The longest accepted answer has 400,000 characters.
_MAX_OUTPUT_BYTES: Final = 8_000_000
_MAX_ERROR_BYTES: Final = 64_000
_POLL_S: Final = 0.02
#: Seconds for a killed program to end.
_REAP_S: Final = 5.0

_running: set[subprocess.Popen[bytes]] = set()
_QUOTA = re.compile(
    r"\b429\b|usage limit|rate.?limit|quota|hit your .{0,20}limit|limit reached|resource.?exhausted|credit balance|"
    r"insufficient.?(credit|fund|balance)|too many requests",
    re.IGNORECASE,
)
_LOGIN = re.compile(
    r"\b40[13]\b|not logged in|log ?in\b|/login|sign in|api.?key|unauthori[sz]ed|authenticat|credential|auth method|"
    r"missing environment variable|forbidden",
    re.IGNORECASE,
)
_MODEL = re.compile(
    r"\b404\b|selected model|model.{0,60}(not found|not exist|not supported|unknown)|ModelNotFound", re.IGNORECASE
)
_PASSING = re.compile(
    r"\b(408|409|5\d\d)\b|overloaded|high demand|temporar|timed? ?out|network|connection|disconnected|ENOTFOUND|"
    r"ECONN|unavailable|empty response",
    re.IGNORECASE,
)


class _Cause(NamedTuple):
    """Why a program failed: HTTP statuses and words that show it, what to say of it, and whether it passes."""

    statuses: Sequence[int]
    words: re.Pattern[str]
    problem: str
    step: str
    passes: bool = False


_CAUSES: Final = (
    _Cause((429,), _QUOTA, "is over its quota or rate limit", "Wait until the quota is renewed.", True),
    _Cause((401, 403), _LOGIN, "is not logged in, or its login is not valid", "Start `{0}` in a terminal and log in."),
    _Cause(
        (404,),
        _MODEL,
        "does not know the model, or has no access to it",
        "Set another one: `holdfast config --user plugins.{1}.model MODEL`.",
    ),
    _Cause(
        (503, 408, 409, *range(500, 600)), _PASSING, "asks a server that is not available", "It will be retried.", True
    ),
)


def find(name: str, plugin: str, root: str) -> str:
    """The absolute path of the program ``name`` for ``plugin``: the user's setting, otherwise the first on PATH.

    ``root`` is the project folder, empty for none. Raises: ModelFailed; ConfigError.
    """
    # Not even a trusted project may name a program, so its file is not read.
    named = os.environ.get(f"HOLDFAST_PLUGINS__{plugin.upper()}__PROGRAM")
    if named is None:
        named = string(settings.user_raw()[0], "plugins", plugin, "program")
    if named:
        if os.path.isabs(named) and os.access(named, os.X_OK) and os.path.isfile(named) and not inside(named, root):
            return named
        raise ModelFailed(
            f"plugins.{plugin}.program is not the absolute path of a program outside of the project.",
            next_step=f"Set another path: `holdfast config --user plugins.{plugin}.program PATH`.",
        )
    path = shutil.which(name, path=safe_path(root))
    if path is None or inside(path, root):
        raise ModelFailed(
            f"The program `{name}` was not found on PATH; folders inside the project are not searched.",
            next_step=f"Install it outside of the project, or set its absolute path: "
            f"`holdfast config --user plugins.{plugin}.program PATH`.",
        )
    return path


def safe_path(root: str) -> str:
    """PATH without relative folders and without those inside the project, because a clone can put programs there."""
    folders = os.environ.get("PATH", "").split(os.pathsep)
    return os.pathsep.join(folder for folder in folders if os.path.isabs(folder) and not inside(folder, root))


def inside(path: str, root: str) -> bool:
    """Whether ``path``, or the file that it links to, is in the folder ``root``."""
    if not root:
        return False
    folder = os.path.join(os.path.normcase(os.path.realpath(root)), "")
    for candidate in (os.path.abspath(path), os.path.realpath(path)):
        parent = os.path.realpath(os.path.dirname(candidate))
        if os.path.normcase(os.path.join(parent, os.path.basename(candidate), "")).startswith(folder):
            return True
    return False


class Ended(NamedTuple):
    """``code`` is the exit status. ``late`` is true when the program was killed at its time limit."""

    code: int
    stdout: str
    stderr: str
    late: bool = False

    @property
    def said(self) -> str:
        """A failed program's own words: from stderr, otherwise plain text from stdout."""
        return self.stderr.strip() or (self.stdout[:500] if self.code else "")


def run(argv: Sequence[str], text: str, *, folder: str, env: Mapping[str, str], timeout_s: float) -> Ended:
    """Run ``argv`` in ``folder`` with ``text`` on stdin, for at most ``timeout_s`` seconds.

    No process of its group is left when this returns. Raises: OSError when it cannot be started.
    """
    new_group = 0x200 if sys.platform == "win32" else 0  # CREATE_NEW_PROCESS_GROUP
    # Files without a name, because a process that left the group could keep a pipe open.
    with (
        tempfile.TemporaryFile(dir=folder) as stdin,
        tempfile.TemporaryFile(dir=folder) as out,
        tempfile.TemporaryFile(dir=folder) as err,
    ):
        stdin.write(text.encode("utf-8", "replace"))
        stdin.seek(0)
        process = subprocess.Popen(  # noqa: S603 - the program is the user's choice
            argv,
            stdin=stdin,
            stdout=out,
            stderr=err,
            cwd=folder,
            env=dict(env),
            start_new_session=True,
            creationflags=new_group,
        )
        _running.add(process)
        try:
            end = time.monotonic() + timeout_s
            while not (ended := _ended(process)) and time.monotonic() < end:
                time.sleep(_POLL_S)
        finally:
            _kill(process)
            _running.discard(process)
        output, errors = _start_of(out, _MAX_OUTPUT_BYTES), _start_of(err, _MAX_ERROR_BYTES)
    return Ended(process.returncode, output, errors, late=not ended)


def _start_of(file: IO[bytes], size: int) -> str:
    file.seek(0)
    return file.read(size).decode("utf-8", "replace")


def _ended(process: subprocess.Popen[bytes]) -> bool:
    """Whether the program has ended. Where the system can, it is not reaped yet: its id still names its group."""
    waitid = getattr(os, "waitid", None)
    if waitid is None:
        return process.poll() is not None
    return waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _kill(process: subprocess.Popen[bytes]) -> None:
    if sys.platform == "win32":
        tree = ["taskkill", "/T", "/F", "/PID", str(process.pid)]
        subprocess.run(tree, capture_output=True, check=False)  # noqa: S603
    else:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_REAP_S)


@atexit.register
def _kill_all() -> None:
    """Kill a call abandoned at its deadline, so that it does not outlive holdfast."""
    for process in tuple(_running):
        _kill(process)


def rows(text: str) -> list[dict[str, object]]:
    """The JSON objects in ``text``, one on each line; other lines are skipped."""
    objects = (untrusted.table(line) for line in text.splitlines() if line.lstrip().startswith("{"))
    return [row for row in objects if row is not None]


def whole(text: str) -> dict[str, object] | None:
    """The last JSON object that starts a line of ``text`` and may span several, None when there is none."""
    decoder, last, end = json.JSONDecoder(), None, 0
    for brace in re.finditer(r"^\{", text, re.MULTILINE):
        if brace.start() >= end:
            with contextlib.suppress(ValueError, RecursionError):
                last, end = decoder.raw_decode(text, brace.start())
    return last


def part(value: object, *keys: str) -> object:
    """The value at ``keys`` in nested objects, None when there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def number(value: object, *keys: str) -> int:
    field = part(value, *keys)
    return field if isinstance(field, int) and not isinstance(field, bool) else 0


def string(value: object, *keys: str) -> str:
    field = part(value, *keys)
    return field if isinstance(field, str) else ""


def failed(program: str, plugin: str, report: str, status: int | None = None, *, code: int = 0) -> ModelFailed:
    """The error for a failure of ``program``: ``report`` in its own words, ``status`` its HTTP status, ``code`` its
    exit status."""
    is_named = status is not None and 400 <= status < 600
    causes = (cause for cause in _CAUSES if (status in cause.statuses if is_named else cause.words.search(report)))
    cause = next(causes, None)
    if cause is None:
        ended = f" and ended with exit status {code}" if code else ""
        step = f"Run `{program}` in a terminal to see the cause. It may need an update."
        return ModelFailed(f"`{program}` gave no answer{ended}.", next_step=step, status=status if is_named else None)
    return ModelFailed(
        f"`{program}` {cause.problem}.",
        next_step=cause.step.format(program, plugin),
        status=status if is_named else cause.statuses[0],
        retryable=cause.passes,
    )


def killed(program: str, timeout_s: float) -> ModelFailed:
    """The error for a program killed at its time limit."""
    return ModelFailed(
        f"`{program}` did not answer within {timeout_s:.0f} seconds and was ended.",
        next_step="It will be retried; `timeout_s` sets the limit.",
        status=408,
        retryable=True,
    )
