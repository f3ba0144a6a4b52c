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
from operator import attrgetter

from holdfast.errors import Unavailable
from holdfast.fs import safeopen
from holdfast.fs.faults import unavailable
from holdfast.fs.safeopen import Folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    import weakref
    from collections.abc import Callable
    from types import TracebackType
    from typing import Protocol, Self

    from holdfast.fs.safeopen import PathArg

    class ForkAware(Protocol):
        def after_fork(self) -> None: ...


if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_file_of: Callable[[os.stat_result], tuple[int, int]] = attrgetter("st_dev", "st_ino")
_BUSY = (errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK)


class Lock:
    """An exclusive lock between threads and processes, as a context manager. See :func:`lock`."""

    _fd = -1  # on the class for an object whose making was interrupted

    def __init__(self, path: PathArg, timeout_s: float) -> None:
        self._path = os.fspath(path)
        self._timeout_s = timeout_s
        self._file = (-1, -1)  # device and inode of the open file

    def __enter__(self) -> Self:
        attempt = object()
        try:
            if not self._try(attempt):
                self._wait(attempt, time.monotonic() + self._timeout_s)
            return self
        except BaseException:
            self._give_up(attempt)
            raise

    def __del__(self) -> None:
        self._drop()

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            _unlock(self._fd)
        finally:
            self._drop()

    def _wait(self, attempt: object, deadline: float) -> None:
        pause = 0.0005
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                raise Unavailable(
                    f"The lock {os.path.basename(self._path)!r} was still held after {self._timeout_s:g} s.",
                    next_step="Another process is writing: wait for it or end it, then try again. "
                    "The lock is freed when its process ends; do not remove the file.",
                )
            time.sleep(min(pause, left))
            if self._try(attempt):
                return
            pause = min(pause * 2, 0.01)

    def _try(self, attempt: object) -> bool:
        """Whether the lock was free and is now held by ``attempt``, which is an object of its own for each block."""
        held = False
        try:
            self._fd = self._open()
            self._file = _file_of(os.fstat(self._fd))
            # The file may have been removed (`git clean`) and recreated by another process during the wait. A lock
            # on a file without a name excludes no process.
            held = _lock(self._fd) and _file_at(self._path) == self._file
        except OSError as error:
            raise unavailable(error, self._path, "take the lock") from error
        finally:
            if not held:
                self._drop()
        return held

    def _give_up(self, attempt: object) -> None:
        self._drop()

    def _drop(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            try:  # noqa: SIM105 - importing contextlib costs more than this whole module
                os.close(fd)
            except OSError:  # other code in this process closed it
                pass

    def _open(self) -> int:
        return safeopen.open_fd(self._path, os.O_RDWR | os.O_CREAT)


class FolderLock(Lock):
    """A :func:`lock` on the folder ``path`` itself, without a file in it. On Windows this is not possible, so it has no
    effect."""

    def _try(self, attempt: object) -> bool:
        return sys.platform == "win32" or super()._try(attempt)

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if sys.platform != "win32":
            super().__exit__(kind, value, traceback)

    def _open(self) -> int:
        with Folder(self._path, syncable=True) as folder:
            return os.dup(folder.fd)


class KeptLock(Lock):
    """A :func:`lock` for repeated use. Its file stays open in between, which halves the system calls.

    A process's threads share one object, which also excludes them from each other. A forked child does not share
    it. The child's copy of the descriptor is closed before it runs, so it neither frees its parent's lock nor keeps a
    killed parent's lock, and it opens the file itself to take the lock. :meth:`close` or garbage collection
    closes the file.
    """

    def __init__(self, path: PathArg, timeout_s: float) -> None:
        super().__init__(path, timeout_s)
        # The attempt that holds it, because threads share the descriptor, and so its flock state. Setting a missing
        # item is one step, and shows an interrupted attempt whether it was the one.
        self._holder: dict[None, object] = {}
        tell_of_forks(self)

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if not self._holder:
            return  # in a child forked inside the block, the lock is its parent's
        freed = False
        try:
            _unlock(self._fd)
            freed = True
        finally:
            if not freed:
                self._drop()
            self._holder.clear()

    def close(self) -> None:
        """Close the file, unless a block is running; taking the lock again reopens it."""
        attempt = object()
        if self._holder.setdefault(None, attempt) is attempt:
            self._give_up(attempt)

    def after_fork(self) -> None:
        """In a child, before it runs anything else, detach from the parent's locks."""
        self._holder = {}  # the thread that holds the lock is not in this process
        self._drop()

    def _try(self, attempt: object) -> bool:
        if self._holder.setdefault(None, attempt) is not attempt:
            return False
        held = False
        try:
            try:
                held = self._fd >= 0 and _lock(self._fd) and _file_of(os.stat(self._path)) == self._file
            except OSError:  # it was removed, or a network file system lost it
                held = False
            if not held:
                self._drop()
                held = super()._try(attempt)
        finally:
            if not held:
                self._give_up(attempt)
        return held

    def _give_up(self, attempt: object) -> None:
        if self._holder.get(None) is attempt:
            self._drop()
            self._holder.clear()


#: Objects to notify of forks, by id.
_told_of_forks: dict[int, weakref.ref[ForkAware]] = {}


def tell_of_forks(heeding: ForkAware) -> None:
    """Call ``heeding.after_fork()`` in each forked child, before the child runs anything else, for as long as
    ``heeding`` lives."""
    import weakref  # here, because agents' hooks have no forks to notify and pay for every import

    known, key = _told_of_forks, id(heeding)
    known[key] = weakref.ref(heeding, lambda _: known.pop(key, None))


def _after_fork() -> None:
    for found in list(_told_of_forks.values()):
        heeding = found()
        if heeding is not None:
            heeding.after_fork()


if sys.platform != "win32":  # it cannot fork
    os.register_at_fork(after_in_child=_after_fork)


def lock(path: PathArg, *, timeout_s: float = 10.0) -> Lock:
    """Hold the lock file ``path`` (created if missing, never removed) while the block runs; not re-entrant.

    It is freed when the process ends in any way. Waits at most ``timeout_s`` seconds. Raises: Unavailable when it stays
    held or cannot be opened.
    """
    return Lock(path, timeout_s)


def _file_at(path: str) -> tuple[int, int] | None:
    try:
        return _file_of(os.stat(path))
    except FileNotFoundError:
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
        # Unlock explicitly instead of relying on close, because a forked child may still have the descriptor.
        fcntl.flock(fd, fcntl.LOCK_UN)
