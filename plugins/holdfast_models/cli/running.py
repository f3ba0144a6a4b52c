"""Running a program once: text on stdin, bounded output and time, and the whole process group ended afterwards."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from typing import IO, TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: Maximum output in bytes before the program is killed. The longest accepted answer has 400,000 characters.
MAX_OUTPUT_BYTES: Final = 8_000_000
#: Only the beginning of stderr is kept, in bytes.
MAX_ERROR_BYTES: Final = 64_000
_POLL_S: Final = 0.02
#: Seconds for a killed program to end.
_REAP_S: Final = 5.0
#: Start of a failed program's output, searched for the cause.
_SAID_CHARS = 500

_running: set[subprocess.Popen[bytes]] = set()


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
    # Files without a name, because a process that left the group could keep a pipe open.
    with (
        tempfile.TemporaryFile(dir=folder) as given,
        tempfile.TemporaryFile(dir=folder) as out,
        tempfile.TemporaryFile(dir=folder) as err,
    ):
        given.write(text.encode("utf-8", "replace"))
        given.seek(0)
        process = subprocess.Popen(  # noqa: S603 - the program is the user's choice; see finding.py
            argv,
            stdin=given,
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
            while not (ended := _ended(process)) and time.monotonic() < end and _size(out) <= MAX_OUTPUT_BYTES:
                time.sleep(_POLL_S)
        finally:
            _kill(process)
            _running.discard(process)
        too_long = _size(out) > MAX_OUTPUT_BYTES
        said, errors = _start_of(out, MAX_OUTPUT_BYTES), _start_of(err, MAX_ERROR_BYTES)
    return Ended(process.returncode, said, errors, late=not ended and not too_long, too_long=too_long)


def _start_of(file: IO[bytes], size: int) -> str:
    file.seek(0)
    return file.read(size).decode("utf-8", "replace")


def _size(file: IO[bytes]) -> int:
    return os.fstat(file.fileno()).st_size


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
        process.wait(_REAP_S)


@atexit.register
def _kill_all() -> None:
    """Kill a call abandoned at its deadline, so that it does not outlive holdfast."""
    for process in tuple(_running):
        _kill(process)
