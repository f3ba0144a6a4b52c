"""Writing local files so that a yes means durable: the one place that knows about fsync.

Shared by the journal and the file backend. It runs at every agent event, so it imports nothing but ``os`` and the
platform's lock call. Each function either did all it says and the result survives a power cut, or raises
:class:`~holdfast.errors.Unavailable` naming the file and the next step, having put back what it could. None of them
locks: callers that share a file hold :func:`lock` around reading and writing.

Source: Rebello et al., "Can Applications Recover from fsync Failures?" (USENIX ATC 2020): a failed fsync is never
retried on the same file, since the kernel may have marked the lost pages clean. Pillai et al., "All File Systems Are
Not Created Equal" (OSDI 2014): a rename or a new name is durable only after an fsync of the directory.
"""

from __future__ import annotations

import errno
import os
import sys
import time
from _thread import allocate_lock
from operator import attrgetter

from holdfast.errors import Unavailable

TYPE_CHECKING = False  # as typing has it, without the import
if TYPE_CHECKING:
    import weakref
    from collections.abc import Callable
    from types import TracebackType
    from typing import Protocol, Self, TypeAlias

    PathArg: TypeAlias = str | os.PathLike[str]

    class HeedsForks(Protocol):
        def after_fork(self) -> None: ...


if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

#: How names of unfinished temporary files begin and end; a crash can leave one behind, nothing ever reads it.
TEMP_PREFIX, TEMP_SUFFIX = ".holdfast-", ".tmp"

_file_of: Callable[[os.stat_result], tuple[int, int]] = attrgetter("st_dev", "st_ino")
_NOFOLLOW: int = getattr(os, "O_NOFOLLOW", 0)  # Windows has none
_BINARY: int = getattr(os, "O_BINARY", 0)  # and has this one
_BUSY = (errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK)
_NEXT_STEPS = {
    errno.ENOSPC: "Free some disk space, then try again.",
    errno.EDQUOT: "Free some of the disk quota, then try again.",
    errno.EFBIG: "Raise the file size limit (`ulimit -f`) or move the file away, then try again.",
    errno.EROFS: "Make the file system writable, then try again.",
    errno.EACCES: "Give this user write permission on the file and its folder, then try again.",
    errno.EPERM: "Check the owner and the attributes (`lsattr`) of the file and its folder, then try again.",
    errno.EISDIR: "A folder is where the file should be: move it away, then try again.",
    errno.ENOTDIR: "A file is where a folder should be: move it away, then try again.",
    errno.EEXIST: "A file is where a folder should be: move it away, then try again.",
    errno.ELOOP: "Replace the symbolic link by a real file, then try again.",
    errno.EIO: "The disk reported an error: check it, then try again.",
    errno.ENAMETOOLONG: "Use a shorter name.",
    errno.EMFILE: "Close some files or raise the limit (`ulimit -n`), then try again.",
}
#: The first words of what is done without writing.
_ONLY_READING = frozenset({"read", "find", "list", "check", "open"})


def unavailable(error: OSError, path: PathArg, doing: str) -> Unavailable:
    """What went wrong for a person: ``doing`` is a phrase like "append to"; the file is named without its folder."""
    name = os.path.basename(os.fspath(path)) or os.fspath(path)
    code = error.errno or 0
    step = _NEXT_STEPS.get(code, "Check the file and its folder, then try again.")
    if code == errno.EACCES and doing.split(maxsplit=1)[0] in _ONLY_READING:
        step = "Give this user read permission on the file, and access to its folder, then try again."
    reason = os.strerror(code) if code else str(error)
    return Unavailable(
        f"Could not {doing} {name!r}: {reason}.",
        next_step=step,
    )


class Lock:
    """An exclusive lock between threads and processes, as a context manager. See :func:`lock`."""

    def __init__(self, path: PathArg, timeout_s: float) -> None:
        self._path = os.fspath(path)
        self._timeout_s = timeout_s
        self._fd = -1
        self._file = (-1, -1)  # device and inode of what is open

    def __enter__(self) -> Self:
        if not self._try():
            self._wait(time.monotonic() + self._timeout_s)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        fd, self._fd = self._fd, -1
        try:
            _unlock(fd)
        finally:
            os.close(fd)

    def _wait(self, deadline: float) -> None:
        pause = 0.0005
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                raise Unavailable(
                    f"The lock {os.path.basename(self._path)!r} was still held after {self._timeout_s:g} s.",
                    next_step="Another process is writing: wait for it or end it, then try again. "
                    "The lock frees itself when its process ends; the file need not be removed.",
                )
            time.sleep(min(pause, left))
            if self._try():
                return
            pause = min(pause * 2, 0.01)

    def _try(self) -> bool:
        held = False
        try:
            fd = self._open()
            try:
                file = _file_of(os.fstat(fd))
                # The file may have been removed (`git clean`) and made anew by another process while this one was
                # waiting: a lock on a file that has no name keeps nobody out.
                held = _lock(fd) and _file_at(self._path) == file
            finally:
                if not held:
                    os.close(fd)
        except OSError as error:
            raise unavailable(error, self._path, "take the lock") from error
        if held:
            self._fd, self._file = fd, file
        return held

    def _open(self) -> int:
        return os.open(self._path, os.O_RDWR | os.O_CREAT | _NOFOLLOW, 0o600)


class KeptLock(Lock):
    """A :func:`lock` for whoever takes it again and again: its file stays open in between, which halves the calls.

    The threads of a process share one object, and it excludes them, too. A forked child has no part in it: its copy of
    the descriptor is closed before it runs, so it neither frees its parent's lock nor goes on holding that of a killed
    one, and it opens the file itself when it takes the lock. :meth:`close` closes the file; so does garbage collection.
    """

    def __init__(self, path: PathArg, timeout_s: float) -> None:
        super().__init__(path, timeout_s)
        self._held = False
        self._mutex = allocate_lock()  # threads share the descriptor, and with it what flock knows of it
        tell_of_forks(self)

    def __del__(self) -> None:
        self._drop()

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if not self._held:
            return  # a child that was forked inside of the block: what is held is its parent's
        self._held = False
        freed = False
        try:
            _unlock(self._fd)
            freed = True
        finally:
            if not freed:
                self._drop()
            self._mutex.release()

    def close(self) -> None:
        """Close the file, unless a block is under way; taking the lock again opens it anew."""
        if self._mutex.acquire(False):
            try:
                self._drop()
            finally:
                self._mutex.release()

    def after_fork(self) -> None:
        """In a child, before it runs anything else: have no part in what the parent holds."""
        self._held = False
        self._mutex = allocate_lock()  # whichever thread holds the old one is not in this process
        self._drop()

    def _try(self) -> bool:
        if not self._mutex.acquire(False):
            return False
        held = False
        try:
            try:
                held = self._fd >= 0 and _lock(self._fd) and _file_of(os.stat(self._path)) == self._file
            except OSError:  # it was removed, or a network file system has lost it
                held = False
            if not held:
                self._drop()
                held = super()._try()
            self._held = held
        finally:
            if not held:
                self._drop()
                self._mutex.release()
        return held

    def _drop(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


#: Who is told of forks, by id.
_told_of_forks: dict[int, weakref.ref[HeedsForks]] = {}


def tell_of_forks(heeding: HeedsForks) -> None:
    """Call ``heeding.after_fork()`` in each child that is forked off this process, before the child runs anything else,
    for as long as ``heeding`` lives."""
    import weakref  # here, since agents' hooks have nobody to tell and pay for every import

    known, key = _told_of_forks, id(heeding)
    known[key] = weakref.ref(heeding, lambda _: known.pop(key, None))


def _after_fork() -> None:
    for found in list(_told_of_forks.values()):
        heeding = found()
        if heeding is not None:
            heeding.after_fork()


if sys.platform != "win32":  # which cannot fork
    os.register_at_fork(after_in_child=_after_fork)


def lock(path: PathArg, *, timeout_s: float = 10.0) -> Lock:
    """Hold the lock file ``path`` (made when missing, never removed) while the block runs; not re-entrant.

    It is freed when the process ends in whatever way. Waits ``timeout_s`` seconds at most.
    Raises: Unavailable when it stays held or cannot be opened.
    """
    return Lock(path, timeout_s)


def replace(path: PathArg, data: bytes, *, mode: int = 0o600) -> None:
    """Make ``data`` the whole content of ``path``, new or not. A crash leaves the old content or the new, whole.

    Raises: Unavailable; the old content is still there, except that after a failed flush of the *folder* the new
    content is already visible and not known to be durable.
    """
    target = os.fspath(path)
    temp = os.path.join(os.path.dirname(target), f"{TEMP_PREFIX}{os.getpid()}-{os.urandom(6).hex()}{TEMP_SUFFIX}")
    try:
        renamed = False
        try:
            fd = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NOFOLLOW | _BINARY, mode)
            try:
                _write_all(fd, data)
                _flush(fd)
            finally:
                os.close(fd)
            os.replace(temp, target)
            renamed = True
        finally:
            if not renamed:
                _unlink_quietly(temp)
    except OSError as error:
        raise unavailable(error, target, "write") from error
    fsync_dir(os.path.dirname(target))


def append(path: PathArg, data: bytes, *, mode: int = 0o600) -> int:
    """Add ``data`` at the end of ``path``, made when missing. Returns the offset at which the data begins.

    Raises: Unavailable; the file is cut back to its old length, and removed when it was new. Should that fail too,
    part of the data stays behind: callers recognise such a torn tail by their framing and cut it.
    """
    target = os.fspath(path)
    flags = os.O_WRONLY | os.O_APPEND | _NOFOLLOW | _BINARY
    try:
        try:
            fd, new = os.open(target, flags), False
        except FileNotFoundError:
            fd, new = os.open(target, flags | os.O_CREAT, mode), True
        done = False
        offset = 0
        try:
            offset = os.fstat(fd).st_size
            _write_all(fd, data)
            _flush(fd)
            if new:
                fsync_dir(os.path.dirname(target))
            done = True
        finally:
            try:
                if not done:
                    _cut_back(fd, offset, target, new=new)
            finally:
                os.close(fd)
    except OSError as error:
        raise unavailable(error, target, "append to") from error
    return offset


def append_open(fd: int, path: PathArg, data: bytes, *, size: int) -> None:
    """:func:`append` for whoever has ``path`` open, with O_APPEND, and has seen that it is ``size`` bytes long.

    ``fd`` stays open. Raises: Unavailable, as :func:`append` does.
    """
    try:
        done = False
        try:
            written = os.write(fd, data)
            if written != len(data):
                _write_all(fd, data[written:])
            _flush(fd)
            done = True
        finally:
            if not done:
                _cut_back(fd, size, os.fspath(path), new=False)
    except OSError as error:
        raise unavailable(error, path, "append to") from error


def truncate(path: PathArg, length: int) -> None:
    """Cut ``path`` to its first ``length`` bytes, durably. Raises: Unavailable."""
    try:
        fd = os.open(path, os.O_WRONLY | _NOFOLLOW | _BINARY)
        try:
            os.ftruncate(fd, length)
            _flush(fd)
        finally:
            os.close(fd)
    except OSError as error:
        raise unavailable(error, path, "cut") from error


def sync(path: PathArg) -> None:
    """Make durable what another process, perhaps a killed one, wrote to ``path``. Raises: Unavailable."""
    try:
        fd = os.open(path, (os.O_RDWR if sys.platform == "win32" else os.O_RDONLY) | _NOFOLLOW | _BINARY)
        try:
            _flush(fd)
        finally:
            os.close(fd)
    except OSError as error:
        raise unavailable(error, path, "flush") from error
    fsync_dir(os.path.dirname(os.fspath(path)))


def remove(path: PathArg) -> None:
    """Remove ``path`` durably; one that is missing is fine. Raises: Unavailable."""
    try:
        os.unlink(path)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise unavailable(error, path, "remove") from error
    fsync_dir(os.path.dirname(os.fspath(path)))


def retire(path: PathArg) -> None:
    """Remove a lock file that this process holds. Whoever waits for it sees that what it got has no name any more, and
    takes a new one. Where an open file cannot be removed (Windows) the file stays; it is empty. Raises: Unavailable."""
    if sys.platform != "win32":
        remove(path)


def make_private_dir(path: PathArg) -> None:
    """Make the folder ``path`` and its missing parents, mode 0700, durably. Raises: Unavailable."""
    target = os.path.abspath(path)
    missing: list[str] = []
    while not os.path.isdir(target):
        missing.append(target)
        target = os.path.dirname(target)
    for folder in reversed(missing):
        try:
            os.mkdir(folder, 0o700)
        except FileExistsError as error:
            if not os.path.isdir(folder):  # it may just have been made by another process
                raise unavailable(error, folder, "make the folder") from error
        except OSError as error:
            raise unavailable(error, folder, "make the folder") from error
        fsync_dir(os.path.dirname(folder))


def fsync_dir(path: PathArg) -> None:
    """Make names that were added to, removed from or renamed in the folder ``path`` durable. Raises: Unavailable."""
    if sys.platform == "win32":
        return  # folders cannot be opened there; NTFS journals names by itself
    folder = os.fspath(path) or "."
    try:
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
    except OSError as error:
        if error.errno != errno.EINVAL:  # some network file systems cannot, and say so like this
            raise unavailable(error, folder, "flush the folder") from error


def _write_all(fd: int, data: bytes) -> None:
    while (written := os.write(fd, data)) != len(data):
        if written <= 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        data = data[written:]


def _flush(fd: int) -> None:
    if sys.platform == "darwin":
        try:
            fcntl.fcntl(fd, fcntl.F_FULLFSYNC)  # fsync alone leaves the data in the drive's cache there
            return
        except OSError as error:
            if error.errno not in (errno.ENOTSUP, errno.EINVAL):
                raise
    os.fsync(fd)


def _cut_back(fd: int, length: int, path: str, *, new: bool) -> None:
    """Undo a failed append as far as the disk lets us; the caller raises the error that led here."""
    try:  # noqa: SIM105 - importing contextlib costs more than all of this module
        os.ftruncate(fd, length)
    except OSError:
        pass
    if new:
        _unlink_quietly(path)


def _unlink_quietly(path: str) -> None:
    try:  # noqa: SIM105 - as above
        os.unlink(path)
    except OSError:
        pass


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
        # Said aloud, not left to close: a forked child may still have the descriptor.
        fcntl.flock(fd, fcntl.LOCK_UN)
