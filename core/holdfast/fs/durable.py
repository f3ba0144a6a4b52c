"""Write local files so that success means durable. The only module that deals with fsync.

Shared by the journal and the file backend. It runs at every agent event, so it imports nothing heavy. Written paths
must not contain a symbolic link, see :mod:`holdfast.fs.safeopen`; resolve the user's own links first. Each function
either succeeds completely, with a result that survives a power cut, or undoes as much as it can and raises
:class:`~holdfast.errors.Unavailable` naming the file and the next step. None of them locks; callers that share a file
hold :func:`lock` while reading and writing.

Source: Rebello et al., "Can Applications Recover from fsync Failures?" (USENIX ATC 2020): never
retry a failed fsync on the same file, since the kernel may have marked the lost pages clean. Pillai et al., "All File
Systems Are Not Created Equal" (OSDI 2014): renames and new names become durable by an fsync of the directory.
"""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from stat import S_IMODE, S_ISDIR, S_ISLNK, S_ISREG
from zlib import crc32

from holdfast.errors import Corrupt, Refused, Unavailable
from holdfast.fs import paths, safeopen
from holdfast.fs.locks import FolderLock, Line, Lock, lock
from holdfast.fs.records import may_be_torn
from holdfast.fs.safeopen import Folder, PathArg, reporting, unavailable

if sys.platform == "darwin":
    import fcntl

__all__ = [
    "TEMP_PREFIX", "TEMP_SUFFIX", "FolderLock", "Line", "Lock", "StoreFolder", "append", "fsync_dir", "lock",
    "make_private_dir", "may_be_torn", "read_sealed", "remove", "replace", "reporting", "sealed", "sync",
    "truncate", "unavailable", "write_sealed",
]  # fmt: skip

#: Prefix and suffix of unfinished temporary files. A crash can leave one, which is never read.
TEMP_PREFIX, TEMP_SUFFIX = ".holdfast-", ".tmp"
#: Mode of a folder whose name may not be durable yet.
_UNSETTLED = 0o1700


def replace(path: PathArg, data: bytes, *, mode: int = 0o600, flush: bool = True) -> None:
    """Replace the content of ``path`` with ``data``, creating it if missing. A crash leaves either the complete old
    content or the complete new content.

    Without ``flush`` a power cut may lose the new content. Raises: Unavailable. The old content remains, except that
    after a failed flush of the *folder* the new content is already visible but possibly not durable.
    """
    target = os.path.abspath(path)
    temp = f"{TEMP_PREFIX}{os.getpid()}-{os.urandom(6).hex()}{TEMP_SUFFIX}"
    with reporting(target, "write"), Folder(os.path.dirname(target), syncable=True) as folder:
        try:
            fd = folder.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
            try:
                _write_all(fd, data)
                if flush:
                    _flush(fd)
            finally:
                os.close(fd)
            folder.replace(temp, os.path.basename(target))
        except BaseException:
            with suppress(OSError):
                folder.unlink(temp)
            raise
        if flush:
            _sync_names(folder)


def append(path: PathArg, data: bytes, *, private: bool = True, flush: bool = True, undo: bool = True) -> int:
    """Append ``data`` to ``path``, creating it if missing. Returns the data's start offset.

    A new or empty file's name becomes durable before its first byte is written, so a file with content needs no folder
    flush, even if its creator was killed. Without ``flush`` a power cut may lose the data. Raises: Unavailable. The
    file is cut back to its old length, or removed if it was new. If that fails too, part of the data remains; callers
    recognise such a torn tail by their framing and cut it. Callers without a lock must not ``undo``, because that would
    cut what others append meanwhile.
    """
    target = os.path.abspath(path)
    name, flags, offset = os.path.basename(target), os.O_WRONLY | os.O_APPEND, -1
    with reporting(target, "append to"), Folder(os.path.dirname(target), syncable=True) as folder:
        try:
            fd, new = folder.open(name, flags, private=private), False
        except FileNotFoundError:
            fd, new = folder.open(name, flags | os.O_CREAT, private=private), True
        try:
            offset = os.fstat(fd).st_size
            if flush and not offset:
                _sync_names(folder)
            _write_all(fd, data)
            if flush:
                _flush(fd)
        except BaseException:  # undone as far as the disk permits
            with suppress(OSError):
                if undo and offset >= 0:
                    os.ftruncate(fd, offset)
            with suppress(OSError):
                if undo and new:
                    folder.unlink(name)
            raise
        finally:
            os.close(fd)
    return offset


def truncate(path: PathArg, length: int, *, private: bool = True) -> None:
    """Cut ``path`` to its first ``length`` bytes, durably. Raises: Unavailable."""
    with reporting(path, "cut"), safeopen.opened(path, os.O_WRONLY, private=private) as fd:
        os.ftruncate(fd, length)
        _flush(fd)


def sync(path: PathArg, *, private: bool = True) -> None:
    """Make another process's writes to ``path`` durable, even if that process was killed. Raises: Unavailable."""
    flags = os.O_RDWR if sys.platform == "win32" else os.O_RDONLY
    with reporting(path, "flush"), safeopen.opened(path, flags, private=private) as fd:
        _flush(fd)
    fsync_dir(os.path.dirname(os.path.abspath(path)))


def remove(path: PathArg, *, flush: bool = True) -> None:
    """Remove ``path``, which may be missing. Without ``flush`` a power cut may bring it back. Raises: Unavailable."""
    target = os.path.abspath(path)
    with (
        reporting(path, "remove"),
        suppress(FileNotFoundError, NotADirectoryError),
        Folder(os.path.dirname(target), syncable=True) as folder,
    ):
        folder.unlink(os.path.basename(target))
        if flush:
            _sync_names(folder)


def make_private_dir(path: PathArg) -> int:
    """Create the folder ``path`` and its missing parents durably, with mode 0700 regardless of the umask, and return
    the mode. Raises: Unavailable.

    A folder created here has the sticky bit until its name is durable, so that the next process completes the work of a
    killed one.
    """
    target = os.path.abspath(path)
    above, name = os.path.split(target)
    if not name:
        return 0  # the root of the file system
    with reporting(target, "make the folder"):
        try:
            status = safeopen.stat(target)
        except (FileNotFoundError, NotADirectoryError):
            make_private_dir(above)
        else:
            if not S_ISDIR(status.st_mode):
                code = errno.ELOOP if S_ISLNK(status.st_mode) else errno.EEXIST
                raise OSError(code, os.strerror(code))
            if (mode := S_IMODE(status.st_mode)) != _UNSETTLED:
                return mode
        with Folder(above, syncable=True) as parent:
            try:
                parent.make(name, _UNSETTLED)
            except FileExistsError:  # by another process, possibly killed
                if not S_ISDIR(parent.stat(name).st_mode):
                    raise
            _sync_names(parent)
            parent.chmod(name, 0o700)
    return 0o700


def fsync_dir(path: PathArg) -> None:
    """Make added, removed and renamed names in the folder ``path`` durable. Raises: Unavailable."""
    if sys.platform == "win32":
        return  # folders cannot be opened there; NTFS journals names itself
    with reporting(path, "flush the folder"), Folder(path, syncable=True) as folder:
        folder.sync()


def _sync_names(folder: Folder) -> None:
    """Raises: Unavailable."""
    with reporting(folder.path, "flush the folder"):
        folder.sync()


def sealed(body: bytes) -> bytes:
    return b"%b %08x\n" % (body, crc32(body))


def read_sealed(path: PathArg, *bases: int) -> tuple[int, ...]:
    """The numbers, each in its base, of the private file's :func:`sealed` body. Empty when it is missing or damaged."""
    with suppress(OSError, ValueError):
        body, _, seal = safeopen.read(path, 100).rstrip(b"\n").rpartition(b" ")
        if int(seal, 16) == crc32(body):
            return tuple(map(int, body.split(), bases))
    return ()


def write_sealed(path: PathArg, body: bytes) -> None:
    """Write the :func:`sealed` line in place, not flushed, always as long. A failure leaves the old line."""
    with suppress(OSError), safeopen.opened(path, os.O_WRONLY | os.O_CREAT) as fd:
        os.write(fd, sealed(body))


class StoreFolder:
    """The folder ``path`` of a store under the project ``root``. ``state`` is the private folder in it, or in
    ``.holdfast`` when it is the project itself. Nothing is made."""

    def __init__(self, root: PathArg, path: str) -> None:
        """Raises: Refused for a folder outside of the project."""
        self.root = os.path.realpath(root)
        self._below = os.path.join(self.root, "")
        self.folder = os.path.normpath(os.path.join(self.root, path))
        inside = "state" if self.folder != self.root else os.path.join(".holdfast", "state")
        self.state = os.path.join(self.folder, inside)
        if os.path.commonpath((self.root, self.folder)) != self.root:
            raise Refused(
                f"The store's folder {path!r} is outside of the project.",
                next_step="Set `[storage] path` to a folder under the project.",
            )

    def holds(self, real_path: str) -> bool:
        """Whether a path without symbolic links is the root or below it."""
        return real_path == self.root or real_path.startswith(self._below)

    def shown(self, name: str) -> str:
        """Where ``name`` in the folder is, for people: its path from the project's folder."""
        return os.path.relpath(os.path.join(self.folder, name), self.root).replace(os.sep, "/")

    def regular(self, path: str) -> os.stat_result | None:
        """The status of the regular file ``path``, None when there is none. Raises: Refused for a symbolic link;
        Corrupt for anything else; Unavailable."""
        try:
            status = os.lstat(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            if isinstance(error, NotADirectoryError):
                self.check_folders(path)
            raise unavailable(error, path, "find") from error
        if S_ISLNK(status.st_mode):
            raise Refused(f"{self.shown(path)!r} is a symbolic link.", next_step="Replace the link by the file itself.")
        if not S_ISREG(status.st_mode):
            step = "Move it away or restore the file from a copy, then try again."
            raise Corrupt(f"{self.shown(path)!r} is not a regular file.", next_step=step)
        return status

    def check_folders(self, name: str) -> None:
        """Raises: Corrupt for the first folder on the way to ``name`` that is missing, or a file."""
        above = [path for path in paths.upwards(os.path.dirname(os.path.join(self.folder, name))) if self.holds(path)]
        if spoiled := next((path for path in reversed(above) if not os.path.isdir(path)), ""):
            what, first = ("not a folder", "Move it away. ") if os.path.lexists(spoiled) else ("missing", "")
            step = "Restore the folder from a copy or from git, or make an empty one, then try again."
            raise Corrupt(f"{self.shown(spoiled)!r} is {what}.", next_step=first + step)

    def check_inside(self, folder: str) -> None:
        """Raises: Refused when a symbolic link takes ``folder`` out of the project."""
        if not self.holds(os.path.realpath(folder)):
            raise Refused(
                "A symbolic link takes the store's folder out of the project.",
                next_step="Replace the link by a real folder.",
            )

    def make_folder(self, folder: str) -> None:
        """Make ``folder``, and make every folder between the root and it durable: even of existing ones the creator may
        have been killed before its flush. Raises: Unavailable."""
        if not os.path.isdir(self.root):
            raise Unavailable(
                f"The project folder {os.path.basename(self.root)!r} does not exist.", next_step="Make it first."
            )
        make_private_dir(folder)
        while self.holds(folder) and folder != self.root:
            folder = os.path.dirname(folder)
            fsync_dir(folder)


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
