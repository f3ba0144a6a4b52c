"""Locks between threads and processes. The lock file is freed when its process ends.

Ctrl-C may interrupt a block at any moment, also while it takes or frees its lock, and the program may continue. So
an interrupted attempt frees the locks it has taken.

Part of the hot path: imports nothing but ``os`` and the platform's lock call.
"""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from operator import attrgetter
from os import getpid
from typing import Self

from holdfast.errors import Unavailable
from holdfast.fs import safeopen
from holdfast.fs.safeopen import Folder, PathArg, unavailable

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_file_of: Callable[[os.stat_result], tuple[int, int]] = attrgetter("st_dev", "st_ino")
_BUSY = (errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK)


class Lock:
    """Hold the lock file ``path`` (created if missing, never removed) while the block runs; not re-entrant.

    It excludes threads and processes, and is freed when the process ends in any way. Waits at most ``timeout_s``
    seconds. Raises: Unavailable when it stays held or cannot be opened.
    """

    _fd = -1  # on the class for an object whose making was interrupted

    def __init__(self, path: PathArg, timeout_s: float = 10.0) -> None:
        self._path = os.fspath(path)
        self._timeout_s = timeout_s

    def __enter__(self) -> Self:
        deadline, pause = time.monotonic() + self._timeout_s, 0.0005
        try:
            while not self._try():
                left = deadline - time.monotonic()
                if left <= 0:
                    raise Unavailable(
                        f"The lock {os.path.basename(self._path)!r} was still held after {self._timeout_s:g} s.",
                        next_step="Another process is writing: wait for it or end it, then try again. "
                        "The lock is freed when its process ends; do not remove the file.",
                    )
                time.sleep(min(pause, left))
                pause = min(pause * 2, 0.01)
        except BaseException:
            self._drop()
            raise
        return self

    def __del__(self) -> None:
        self._drop()

    def __exit__(self, *_: object) -> None:
        try:
            if self._fd >= 0 and self._pid == getpid():  # in a child forked inside the block, it is its parent's
                _unlock(self._fd)  # not by closing alone, because a child may still have the descriptor
        finally:
            self._drop()

    def _try(self) -> bool:
        held = False
        try:
            self._fd, self._pid = self._open(), getpid()
            # The file may have been removed (`git clean`) and recreated by another process during the wait. A lock
            # on a file without a name excludes no process.
            held = _lock(self._fd) and _file_at(self._path) == _file_of(os.fstat(self._fd))
        except OSError as error:
            raise unavailable(error, self._path, "take the lock") from error
        finally:
            if not held:
                self._drop()
        return held

    def _drop(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            with suppress(OSError):  # other code in this process closed it
                os.close(fd)

    def _open(self) -> int:
        return safeopen.open_fd(self._path, os.O_RDWR | os.O_CREAT)


class FolderLock(Lock):
    """A lock on the folder ``path`` itself, without a file in it. On Windows it has no effect."""

    def _try(self) -> bool:
        return sys.platform == "win32" or super()._try()

    def _open(self) -> int:
        with Folder(self._path, syncable=True) as folder:
            return os.dup(folder.fd)


class Line(Lock):
    """A lock that waiting processes get in the order of arrival. Each holds a ticket, a lock file in the folder
    ``path``, and checks its turn less often the more are before it. Exclusion itself depends only on ``path.lock``."""

    def __init__(self, path: PathArg, timeout_s: float = 10.0) -> None:
        super().__init__(f"{os.fspath(path)}.lock", timeout_s)
        self._folder = os.fspath(path)

    def __enter__(self) -> Self:
        if sys.platform == "win32":  # an open ticket cannot be removed there
            return super().__enter__()
        if not self._before("~") and self._try():
            return self
        with safeopen.reporting(self._folder, "make the folder"):
            os.makedirs(self._folder, 0o700, exist_ok=True)
        deadline = time.monotonic() + self._timeout_s
        mine = f"{time.monotonic_ns():020d}-{getpid()}-{os.urandom(4).hex()}"
        ticket = os.path.join(self._folder, mine)
        with Lock(ticket, 1.0):
            try:
                while (before := self._before(mine)) and time.monotonic() < deadline:
                    time.sleep(min(0.2, 0.005 * before))
                return super().__enter__()
            finally:
                with suppress(OSError):  # the lock is held, and others remove an unlocked ticket
                    os.unlink(ticket)

    def _before(self, mine: str) -> int:
        """The number of tickets before ``mine``. The nearest ones are removed while their processes are dead."""
        try:
            names = sorted(name for name in os.listdir(self._folder) if name < mine)
        except FileNotFoundError:
            return 0
        while names:
            nearest = os.path.join(self._folder, names[-1])
            try:
                with Lock(nearest, 0.0):
                    os.unlink(nearest)
            except (Unavailable, OSError):
                break  # it lives, or cannot be removed
            names.pop()
        return len(names)


lock = Lock


def _file_at(path: str) -> tuple[int, int] | None:
    with suppress(FileNotFoundError):
        return _file_of(os.stat(path))
    return None


if sys.platform == "win32":

    def _lock(fd: int) -> bool:
        try:
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        except OSError as error:
            if error.errno in _BUSY:
                return False
            raise
        return True

    def _unlock(fd: int) -> None:
        os.lseek(fd, 0, os.SEEK_SET)
        msvcrt.locking(fd, msvcrt.LK_UNLCK, 1)

else:

    def _lock(fd: int) -> bool:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in _BUSY:
                return False
            raise
        return True

    def _unlock(fd: int) -> None:
        fcntl.flock(fd, fcntl.LOCK_UN)
