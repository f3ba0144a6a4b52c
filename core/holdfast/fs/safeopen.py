"""Open files at paths that a cloned project could have prepared, refusing symbolic links in the path and special files.

A path is walked from the file system root, folder by folder, each opened relative to the previous one (``openat`` with
``O_NOFOLLOW``). So a folder swapped for a link between check and use is refused, and a new file can only be created in
the intended folder. A private file must also belong to this user and have one name, so that a hard link cannot redirect
a write. FIFOs and devices neither block nor count as files.

Callers resolve the user's own links once, with ``os.path.realpath``. Windows has no folder descriptors, so every part
is checked before use. Here is also how an operating system's error becomes a sentence and a next step.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from operator import attrgetter
from stat import S_IMODE, S_ISDIR, S_ISLNK, S_ISREG
from typing import BinaryIO, Self, TypeAlias

from holdfast.errors import Unavailable
from holdfast.fs import paths, userdir

Identity: TypeAlias = tuple[int, int, int, int, int]
PathArg: TypeAlias = str | os.PathLike[str]
#: A file's device, inode, size, modification time and status change time, which programs cannot set: what changes with
#: it. Not a class, because each change of a store makes two of them.
identity_of: Callable[[os.stat_result], Identity] = attrgetter(
    "st_dev", "st_ino", "st_size", "st_mtime_ns", "st_ctime_ns"
)
SIZE, TIME = 2, 3
_NOFOLLOW: int = getattr(os, "O_NOFOLLOW", 0)  # Windows lacks these
_FILE_FLAGS: int = _NOFOLLOW | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
_FOLDER_FLAGS: int = getattr(os, "O_DIRECTORY", 0) | _NOFOLLOW
#: Opens a folder without permission to list it, where the system supports that.
_PASSING: int = getattr(os, "O_PATH", os.O_RDONLY) | _FOLDER_FLAGS
_BY_DESCRIPTOR = sys.platform != "win32"


class UnsafeFile(OSError):
    """A file that must not be used; ``next_step`` resolves it."""

    def __init__(self, code: int, reason: str, path: str, next_step: str) -> None:
        super().__init__(code, reason, path)
        self.next_step = next_step


class Folder:
    """An open folder; its methods act on names directly inside it. A context manager.

    ``syncable`` opens it so that :meth:`sync` works. Raises: OSError, ELOOP for a link in the path.
    """

    __slots__ = ("fd", "path")

    def __init__(self, path: PathArg, *, syncable: bool = False) -> None:
        self.path = os.path.abspath(path)
        self.fd = -1
        if _BY_DESCRIPTOR:
            self.fd = _walked(self.path, os.O_RDONLY | _FOLDER_FLAGS if syncable else _PASSING)
        else:
            _check_way(self.path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)

    def open(self, name: str, flags: int, mode: int = 0o600, *, private: bool = True) -> int:
        """A descriptor of the regular file ``name``; see :func:`open_fd`. ``O_TRUNC`` acts after the checks."""
        fd = os.open(self._at(name), flags & ~os.O_TRUNC | _FILE_FLAGS, mode, dir_fd=self._dir)
        try:
            self._check(fd, name, flags, mode, private)
            if flags & os.O_TRUNC:
                os.ftruncate(fd, 0)
        except BaseException:
            os.close(fd)
            raise
        return fd

    def stat(self, name: str) -> os.stat_result:
        """The name's own status, never that of a link's target."""
        return os.stat(self._at(name), dir_fd=self._dir, follow_symlinks=False)

    def names(self) -> list[str]:
        """Everything in the folder, sorted."""
        if self.fd < 0:
            return sorted(os.listdir(self.path))
        fd = os.open(".", os.O_RDONLY | _FOLDER_FLAGS, dir_fd=self.fd)
        try:
            return sorted(os.listdir(fd))
        finally:
            os.close(fd)

    def make(self, name: str, mode: int = 0o700) -> None:
        """Make a folder in this one. Raises: OSError."""
        os.mkdir(self._at(name), mode, dir_fd=self._dir)

    def chmod(self, name: str, mode: int) -> None:
        if self.fd < 0:
            return
        try:
            fd = os.open(name, os.O_RDONLY | _FOLDER_FLAGS, dir_fd=self.fd)
        except PermissionError:  # created under a umask that removes the user's own access
            os.chmod(name, mode, dir_fd=self.fd)
            return
        try:
            os.fchmod(fd, mode)
        finally:
            os.close(fd)

    def replace(self, old: str, new: str) -> None:
        """Rename within the folder, replacing a file with the new name."""
        os.replace(self._at(old), self._at(new), src_dir_fd=self._dir, dst_dir_fd=self._dir)

    def take(self, name: str, other: Folder, old: str) -> None:
        """Move ``old`` out of another folder to ``name`` in this one."""
        os.rename(other._at(old), self._at(name), src_dir_fd=other._dir, dst_dir_fd=self._dir)

    def unlink(self, name: str) -> None:
        os.unlink(self._at(name), dir_fd=self._dir)

    def sync(self) -> None:
        """Make its names durable. Raises: OSError."""
        if self.fd < 0:
            return  # Windows cannot open folders; NTFS journals names itself
        try:
            os.fsync(self.fd)
        except OSError as error:
            if error.errno != errno.EINVAL:  # network file systems without support answer this
                raise

    @property
    def _dir(self) -> int | None:
        return self.fd if self.fd >= 0 else None

    def _at(self, name: str) -> str:
        return name if self.fd >= 0 else os.path.join(self.path, name)

    def _check(self, fd: int, name: str, flags: int, mode: int, private: bool) -> None:
        status, path = os.fstat(fd), os.path.join(self.path, name)
        if S_ISDIR(status.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        if not S_ISREG(status.st_mode):
            step = "Move it away or restore the file from a copy, then try again."
            raise UnsafeFile(errno.EINVAL, "It is not a regular file", path, step)
        if not private:
            return
        if status.st_nlink > 1:
            step = "Replace it with a separate copy, then try again."
            raise UnsafeFile(errno.EMLINK, "It has several names (hard links)", path, step)
        if not self._is_ours(status):
            step = "Run this as that user, or give the file to this user (`chown`), then try again."
            raise UnsafeFile(errno.EPERM, "It belongs to another user", path, step)
        if flags & (os.O_WRONLY | os.O_RDWR) and self.fd >= 0:
            now = S_IMODE(status.st_mode)
            wanted = now & mode | mode & 0o600  # a umask removes nothing from the user, but may from others
            if now != wanted:
                os.fchmod(fd, wanted)

    def is_shared(self, status: os.stat_result) -> bool:
        """Whether a file in this folder, of ``status``, has several names or another owner. Writing to it would change
        another path's contents, or another user's file."""
        return status.st_nlink > 1 or not self._is_ours(status)

    def _is_ours(self, status: os.stat_result) -> bool:
        """On file systems that do not record owners, the folder shows the owner of everything in it."""
        if self.fd < 0 or status.st_uid == os.geteuid():
            return True
        return status.st_uid == os.fstat(self.fd).st_uid


def open_fd(path: PathArg, flags: int, *, private: bool = True) -> int:
    """A descriptor of the regular file ``path``; no part of the path may be a symbolic link.

    A ``private`` file must belong to this user and have one name. Opening it for writing removes all permissions of
    others and ensures the user's own, regardless of the umask. Raises: OSError, with :class:`UnsafeFile` among its
    kinds.
    """
    folder, name = os.path.split(os.path.abspath(path))
    with Folder(folder) as parent:
        return parent.open(name, flags, private=private)


@contextmanager
def opened(path: PathArg, flags: int, *, private: bool = True) -> Iterator[int]:
    fd = open_fd(path, flags, private=private)
    try:
        yield fd
    finally:
        os.close(fd)


def reader(path: PathArg, *, private: bool = True) -> BinaryIO:
    """The file, open for reading. Raises: OSError."""
    return os.fdopen(open_fd(path, os.O_RDONLY, private=private), "rb")


def read(path: PathArg, most: int = -1, *, private: bool = True) -> bytes:
    """The file's bytes, at most ``most`` if given. Raises: OSError; EFBIG when there are more."""
    with reader(path, private=private) as file:
        if most < 0:
            return file.read()
        data = file.read(min(most, os.fstat(file.fileno()).st_size) + 1)  # it allocates the requested size
        while len(data) <= most and (more := file.read(1 << 16)):  # it has grown, or its size is unknown
            data += more
    if len(data) > most:
        raise UnsafeFile(
            errno.EFBIG, f"It is larger than {most} bytes", os.fspath(path), "Move it away, then try again."
        )
    return data


def names(folder: PathArg) -> list[str]:
    """Everything in ``folder``, sorted. Raises: OSError."""
    with Folder(folder) as opened:
        return opened.names()


def stat(path: PathArg) -> os.stat_result:
    """The path's own status. No parent may be a link. Raises: OSError."""
    folder, name = os.path.split(os.path.abspath(path))
    with Folder(folder) as parent:
        return parent.stat(name)


def _walked(path: str, flags: int) -> int:
    parts = [part for part in path.split(os.sep) if part]
    fd = os.open(os.sep, flags if not parts else _PASSING)
    for number, part in enumerate(parts, start=1):
        try:
            below = os.open(part, flags if number == len(parts) else _PASSING, dir_fd=fd)
        except NotADirectoryError as error:
            if S_ISLNK(os.stat(part, dir_fd=fd, follow_symlinks=False).st_mode):
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path) from error
            raise
        finally:
            os.close(fd)
        fd = below
    return fd


def _check_way(path: str) -> None:
    """Without folder descriptors, check that no part of ``path`` is a link or another reparse point."""
    for way in paths.upwards(path):
        status = os.lstat(way)
        if S_ISLNK(status.st_mode) or getattr(status, "st_reparse_tag", 0) != 0:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)


_NEXT_STEPS = {
    errno.ENOSPC: "Free some disk space, then try again.",
    errno.EDQUOT: "Free some of the disk quota, then try again.",
    errno.EFBIG: "Raise the file size limit (`ulimit -f`) or move the file away, then try again.",
    errno.EROFS: "Make the file system writable, then try again.",
    errno.EACCES: "Give this user write permission on the file and its folder, then try again.",
    errno.EPERM: "Check the owner and the attributes (`lsattr`) of the file and its folder, then try again.",
    errno.ELOOP: "Replace the symbolic link with a real file or folder, then try again.",
    errno.EIO: "The disk reported an error: check it, then try again.",
    errno.EISDIR: "A folder is where the file should be: move it away, then try again.",
    errno.ENAMETOOLONG: "Use a shorter name.",
    errno.EMFILE: "Close some files or raise the limit (`ulimit -n`), then try again.",
}
#: First words of actions that only read.
_ONLY_READING = frozenset({"read", "find", "list", "check", "open"})


def unavailable(error: OSError, path: PathArg, doing: str) -> Unavailable:
    """An error message and next step for a user. ``doing`` is like "append to"; the folder is not named."""
    name = os.path.basename(os.fspath(path)) or os.fspath(path)
    code = error.errno or 0
    if isinstance(error, UnsafeFile):
        return Unavailable(f"Could not {doing} {name!r}: {error.strerror}.", next_step=error.next_step)
    step = _NEXT_STEPS.get(code, "Check the file and its folder, then try again.")
    if code == errno.EACCES and doing.split(maxsplit=1)[0] in _ONLY_READING:
        step = "Give this user read permission on the file, and access to its folder, then try again."
    if code in (errno.ENOTDIR, errno.EEXIST) and (in_the_way := _in_the_way(os.fspath(path))):
        step = f"A file is where a folder should be: move {in_the_way!r} away, then try again."
    own, target = userdir.folder() + os.sep, os.path.abspath(os.fspath(path)) + os.sep
    if code in (errno.EROFS, errno.EACCES, errno.EPERM) and (own.startswith(target) or target.startswith(own)):
        step = f"Make {own[:-1]!r} writable, or set {userdir.VARIABLE} to a folder that is."
    reason = os.strerror(code) if code else str(error)
    return Unavailable(f"Could not {doing} {name!r}: {reason}.", next_step=step)


class reporting:  # noqa: N801 - reads as a function; not a generator, because every read and write enters it
    """Raises: Unavailable for an OSError in the block, see :func:`unavailable`."""

    def __init__(self, path: PathArg, doing: str) -> None:
        self._path, self._doing = path, doing

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, OSError):
            raise unavailable(error, self._path, self._doing) from error


def _in_the_way(path: str) -> str:
    """The file where ``path`` needs a folder, on the way or at its end. Empty without one."""
    while path and not os.path.lexists(path):
        path = os.path.dirname(path)
    return os.path.basename(path) if path and not os.path.isdir(path) else ""
