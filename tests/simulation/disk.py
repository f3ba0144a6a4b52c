"""A file system in memory that remembers which writes and which names were synced, and what a power cut can leave."""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from operator import attrgetter
from random import Random
from stat import S_IFDIR, S_IFREG, S_ISDIR
from types import SimpleNamespace
from typing import Any

SECTOR = 512
PASSING = getattr(os, "O_PATH", 0)
_USER = os.geteuid() if hasattr(os, "geteuid") else 0
#: Descriptors from here on are of this disk; lower ones are the real system's.
FIRST_FD = 1 << 20


class Node:
    """A file or a folder: what processes see (``data``, ``names``), and what is on the disk."""

    __slots__ = (
        "data", "disk", "disk_mode", "disk_names", "holder", "ino", "is_folder", "mode", "mtime", "names", "pending",
        "readers", "uid",
    )  # fmt: skip

    def __init__(self, ino: int, mode: int, mtime: int) -> None:
        self.ino, self.mode, self.disk_mode, self.mtime = ino, mode, mode, mtime
        self.data, self.disk, self.uid = bytearray(), b"", _USER
        self.pending: list[tuple[int, bytes]] = []  # unsynced writes by offset; (-size - 1, b"") cuts to that size
        self.names: dict[str, Node] = {}
        self.disk_names: dict[str, Node] = {}
        self.holder: Handle | None = None  # of its lock
        self.is_folder = S_ISDIR(mode)
        self.readers: list[_File] = []


class Handle:
    """An open file, shared by duplicates of its descriptor."""

    __slots__ = ("fds", "flags", "node", "owner", "place")

    def __init__(self, node: Node, flags: int, owner: object) -> None:
        self.node, self.flags, self.owner, self.place, self.fds = node, flags, owner, 0, 0


class _File(io.BytesIO):
    """An open file as a stream, for reading. What is written meanwhile is seen."""

    def __init__(self, disk: Disk, fd: int) -> None:
        self._disk, self._fd, self._node = disk, fd, disk.handle(fd).node
        super().__init__(self._node.data)
        self._node.readers.append(self)

    def fileno(self) -> int:
        return self._fd

    def refresh(self) -> None:
        at = self.tell()
        super().__init__(self._node.data)
        self.seek(at)

    def close(self) -> None:
        if not self.closed:
            self._node.readers.remove(self)
            self._disk.close(self._fd)
        super().close()


class _Stat:
    """As ``os.stat_result``."""

    __slots__ = ("st_ino", "st_mode", "st_mtime_ns", "st_size", "st_uid")
    st_dev, st_nlink, st_gid = 99, 1, 0
    st_ctime_ns = property(attrgetter("st_mtime_ns"))
    st_mtime = property(lambda self: self.st_mtime_ns / 1e9)

    def __init__(self, node: Node) -> None:
        self.st_mode, self.st_ino, self.st_size, self.st_mtime_ns = node.mode, node.ino, len(node.data), node.mtime
        self.st_uid = node.uid


_reason = cache(os.strerror)


def _fail(code: int, path: object = None) -> OSError:
    return OSError(code, _reason(code), path)


class Disk:
    """The calls of ``os`` for paths below ``root``. The machine's ``step(name, size)`` is called before each change and
    may raise; the number that it returns is how many bytes a write writes. ``running`` is the process that calls."""

    def __init__(self, root: str, machine: Any) -> None:
        self.root, self._machine = root, machine
        self._ino, self._fd = 100, FIRST_FD
        self.fds: dict[int, Handle] = {}
        self.top = self._new(S_IFDIR | 0o755)
        self._moves: list[list[tuple[Node, str, Node | None]]] = []  # changes of names, not all of them synced
        #: By path, a folder's path ending in a slash, as long as no folder goes.
        self._places: dict[str, tuple[Node, str]] = {}
        self.top.names[root.strip("/")] = self.top.disk_names[root.strip("/")] = self._new(S_IFDIR | 0o755)

    def _new(self, mode: int) -> Node:
        self._ino += 1
        return Node(self._ino, mode, self._machine.now_ns())

    # paths

    def _split(self, path: Any, folder: int | None) -> tuple[Node, str]:
        """The folder and the last name; an empty name for the folder itself."""
        if folder is None and path in self._places:
            return self._places[path]
        above, slash, name = path.rpartition("/")
        name = "" if name == "." else name
        if not slash:
            return self.handle(folder or 0).node, name
        if folder is not None:  # what is in an open folder needs no path
            raise _fail(errno.EXDEV, path)
        node, _ = self._places.get(f"{above}/") or (self.top, "")
        if node is self.top:
            for part in above.split("/"):
                node = self._child(node, part, path) if part and part != "." else node
            if not node.is_folder:
                raise _fail(errno.ENOTDIR, path)
            self._places[f"{above}/"] = node, ""
        self._places[path] = node, name
        return node, name

    def _child(self, node: Node, name: str, path: str) -> Node:
        found = node.names.get(name)
        if found is None:
            raise _fail(errno.ENOENT if node.is_folder else errno.ENOTDIR, path)
        return found

    def find(self, path: Any, folder: int | None = None) -> Node:
        if type(path) is int:
            return self.handle(path).node
        above, name = self._split(path, folder)
        return (above.names.get(name) if name else above) or self._child(above, name, path)

    # descriptors

    def handle(self, fd: int) -> Handle:
        try:
            return self.fds[fd]
        except KeyError:
            self._machine.step("look", 0)  # a dead process has no files
            raise _fail(errno.EBADF) from None

    def open(self, path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        above, name = self._split(path, dir_fd)
        node = above.names.get(name) if name else above
        if node is None or not node.is_folder:
            self._machine.step("look" if node or not flags & os.O_CREAT else "create", 0)
            node = above.names.get(name)  # others had their turn
        if node is None and flags & os.O_CREAT:
            node = self._new(S_IFREG | mode)
            self._change([(above, name, node)])
        elif node is None:
            raise _fail(errno.ENOENT, path)
        elif flags & os.O_CREAT and flags & os.O_EXCL:
            raise _fail(errno.EEXIST, path)
        if flags & os.O_DIRECTORY and not node.is_folder:
            raise _fail(errno.ENOTDIR, path)
        if node.is_folder and flags & (os.O_WRONLY | os.O_RDWR):
            raise _fail(errno.EISDIR, path)
        return self._opened(Handle(node, flags, self._machine.running))

    def _opened(self, handle: Handle) -> int:
        self._fd += 1
        handle.fds += 1
        self.fds[self._fd] = handle
        return self._fd

    def dup(self, fd: int) -> int:
        return self._opened(self.handle(fd))

    def close(self, fd: int) -> None:
        handle = self.fds.pop(fd, None)
        if handle is not None:  # a dead process has none
            handle.fds -= 1
            if not handle.fds and handle.node.holder is handle:
                handle.node.holder = None

    def fdopen(self, fd: int, mode: str = "rb") -> _File:
        assert mode == "rb", mode
        return _File(self, fd)

    def reader(self, path: str, *, private: bool = True) -> _File:
        """As ``safeopen.reader``."""
        return _File(self, self.open_file(path, os.O_RDONLY))

    def stat_below(self, path: str) -> _Stat:
        """As ``safeopen.stat``."""
        self._look_for_folder(path)
        return self.stat(path)

    def open_file(self, path: Any, flags: int, mode: int = 0o600, *, private: bool = True) -> int:
        """As ``safeopen.open_fd``."""
        self._look_for_folder(path)
        fd = self.open(path, flags & ~os.O_TRUNC, mode)
        try:
            self.check(fd, path)
            if flags & os.O_TRUNC:
                self.ftruncate(fd, 0)
        except BaseException:
            self.close(fd)
            raise
        return fd

    def check(self, fd: int, path: str, *_: object) -> None:
        """As ``safeopen.Folder``'s, of files that are all this user's."""
        if self.fds[fd].node.is_folder:
            raise _fail(errno.EISDIR, path)

    def read_file(self, path: Any, most: int = -1, *, private: bool = True) -> bytes:
        """As ``safeopen.read``."""
        self._look_for_folder(path)
        above, name = self._split(path, None)
        self._machine.step("look", 0)
        node = self._child(above, name, path)  # others had their turn
        if node.is_folder or 0 <= most < len(node.data):
            raise _fail(errno.EISDIR if node.is_folder else errno.EFBIG, path)
        return bytes(node.data)

    def _look_for_folder(self, path: str) -> None:
        folder = path.rpartition("/")[0] if path not in self._places else ""
        if folder and f"{folder}/" not in self._places:  # which has only those that exist
            above, name = self._split(folder, None)
            if name not in above.names:
                self._machine.step("look", 0)

    def flock(self, fd: int, how: int) -> None:
        import fcntl

        handle = self.handle(fd)
        node = handle.node
        if how == fcntl.LOCK_UN:
            node.holder = None if node.holder is handle else node.holder
            return
        is_cleaned = self._machine.step("lock", 0)
        if is_cleaned and node.holder is None and not node.is_folder:
            self.remove(next(path for path, one in below("", self.top) if one is node))
        if node.holder not in (None, handle):
            raise BlockingIOError(errno.EWOULDBLOCK, "locked")
        node.holder = handle

    def read(self, fd: int, size: int) -> bytes:
        handle = self.handle(fd)
        found = bytes(handle.node.data[handle.place : handle.place + size])
        handle.place += len(found)
        return found

    # changes

    def write(self, fd: int, data: Any) -> int:
        handle = self.handle(fd)
        is_over = not handle.flags & os.O_APPEND and handle.place + len(data) <= len(handle.node.data)
        data = bytes(data)[: self._machine.step("overwrite" if is_over else "write", len(data))]
        at = len(handle.node.data) if handle.flags & os.O_APPEND else handle.place
        handle.node.data[at : at + len(data)] = data
        handle.node.pending.append((at, data))
        handle.node.mtime = self._machine.now_ns()
        for reader in handle.node.readers:
            reader.refresh()
        handle.place = at + len(data)
        return len(data)

    def ftruncate(self, fd: int, size: int) -> None:
        self._machine.step("truncate", 0)
        node = self.handle(fd).node
        if size == len(node.data):
            return
        node.data[:] = node.data[:size].ljust(size, b"\0")
        node.pending.append((-size - 1, b""))
        for reader in node.readers:
            reader.refresh()
        node.mtime = self._machine.now_ns()

    def fsync(self, fd: int) -> None:
        try:
            lies = self._machine.step("fsync", 0)
        except OSError as error:
            if error.errno == errno.EIO:  # the kernel counts the lost pages as written
                self.handle(fd).node.pending.clear()
            raise
        handle = self.handle(fd)
        node = handle.node
        if handle.flags & PASSING:
            raise _fail(errno.EBADF)
        if lies:
            return
        node.disk_mode = node.mode
        if node.is_folder:
            self._sync_names(node)
        else:
            node.disk = _applied(node.disk, node.pending)  # without writes whose sync failed
            node.pending.clear()

    def mkdir(self, path: Any, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        self._machine.step("mkdir", 0)
        above, name = self._split(path, dir_fd)
        if name in above.names:
            raise _fail(errno.EEXIST, path)
        self._change([(above, name, self._new(S_IFDIR | mode))])

    def rename(self, old: Any, new: Any, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None) -> None:
        self._machine.step("rename", 0)
        (above, name), (target, to) = self._split(old, src_dir_fd), self._split(new, dst_dir_fd)
        node = self._child(above, name, old)
        if node.is_folder:
            self._places.clear()
        self._change([(target, to, node), (above, name, None)])

    def unlink(self, path: Any, *, dir_fd: int | None = None) -> None:
        self._machine.step("unlink", 0)
        above, name = self._split(path, dir_fd)
        if self._child(above, name, path).is_folder:
            raise _fail(errno.EISDIR, path)
        self._change([(above, name, None)])

    def rmdir(self, path: Any, *, dir_fd: int | None = None) -> None:
        self._machine.step("rmdir", 0)
        above, name = self._split(path, dir_fd)
        if self._child(above, name, path).names:
            raise _fail(errno.ENOTEMPTY, path)
        self._places.clear()
        self._change([(above, name, None)])

    def fchmod(self, fd: int, mode: int) -> None:
        node = self.handle(fd).node
        node.mode = node.mode & ~0o7777 | mode

    def _change(self, move: list[tuple[Node, str, Node | None]]) -> None:
        _rename(move, "names")
        self._moves.append(move)
        for above, _, _ in move:
            above.mtime = self._machine.now_ns()

    def _sync_names(self, folder: Node) -> None:
        """Names reach the disk in their order, and with them what the same calls did in other folders."""
        folders, chosen, left = {folder}, [], []
        for move in reversed(self._moves):
            if any(above in folders for above, _, _ in move):
                folders |= {above for above, _, _ in move}
                chosen.append(move)
            else:
                left.append(move)
        for move in reversed(chosen):
            _rename(move, "disk_names")
        self._moves = left[::-1]

    # looks

    def stat(self, path: Any, *, dir_fd: int | None = None, follow_symlinks: bool = True) -> _Stat:
        return _Stat(self.find(path, dir_fd))

    def access(self, path: Any, mode: int) -> bool:
        """All processes are of one user."""
        return True

    def listdir(self, path: Any) -> list[str]:
        node = self.find(path)
        if not node.is_folder:
            raise _fail(errno.ENOTDIR, path)
        return list(node.names)

    def scandir(self, path: Any) -> AbstractContextManager[list[SimpleNamespace]]:
        return nullcontext([_entry(f"{os.fspath(path)}/{name}", node) for name, node in self.find(path).names.items()])

    # ends

    def kill(self, owner: object) -> None:
        """A process ends: its files are closed and its locks freed."""
        for fd in [fd for fd, handle in self.fds.items() if handle.owner is owner]:
            self.close(fd)

    def restore(self, top: Node) -> None:
        """Begin with a copy of another disk."""
        self.top, self._ino = _copy(top, {}), self._ino + 1000
        self._places.clear()

    def remove(self, path: str) -> None:
        """Another program removes it, with all in it."""
        above, name = self._split(path, None)
        del above.names[name]
        above.disk_names.pop(name, None)
        self._places.clear()

    def edit(self, path: str, gone: Iterable[str]) -> None:
        """A person removes these texts, and a file in which nothing is left."""
        above, name = self._split(path, None)
        node, text = above.names[name], above.names[name].data.decode()
        for one in gone:
            text = text.replace(one, "")
        node.data[:] = node.disk = text.encode()
        if not text:
            self.remove(path)

    def cut_power(self, chance: Random, kind: str = "") -> None:
        """What was not synced is lost, kept, cut, full of holes or reordered. Nothing is open any more."""
        self.fds.clear()
        self._places.clear()
        all_kept = bool(kind)
        kind, late = kind or chance.choice(("lost", "kept", "mixed", "mixed")), set[Node]()
        for move in self._moves:
            folders = {above for above, _, _ in move}
            if kind == "kept" or (kind == "mixed" and not folders & late and chance.random() < 0.5):
                _rename(move, "disk_names")
            else:
                late |= folders
        self._moves = []
        waiting, seen = [self.top], set[Node]()
        while waiting:
            node = waiting.pop()
            node.holder = None
            if node in seen:
                continue
            seen.add(node)
            node.mode = node.disk_mode = chance.choice((node.mode, node.disk_mode))
            if node.is_folder:
                node.names = dict(node.disk_names)
                waiting += node.names.values()
            else:
                node.disk = bytes(node.data) if all_kept else _left(node, chance)
                node.data, node.pending = bytearray(node.disk), []


def below(path: str, node: Node) -> Iterator[tuple[str, Node]]:
    """The file or folder, and all in it."""
    yield path, node
    for name, one in node.names.items():
        yield from below(f"{path}/{name}", one)


def _copy(node: Node, copied: dict[Node, Node]) -> Node:
    if node not in copied:
        new = copied[node] = Node(node.ino, node.mode, node.mtime)
        new.data, new.disk, new.disk_mode = bytearray(node.data), node.disk, node.disk_mode
        new.names = {name: _copy(one, copied) for name, one in node.names.items()}
        new.disk_names = {name: _copy(one, copied) for name, one in node.disk_names.items()}
    return copied[node]


def _entry(path: str, node: Node) -> SimpleNamespace:
    """As ``os.DirEntry``."""
    kinds = {"is_dir": node.is_folder, "is_file": not node.is_folder, "is_symlink": False}
    answers = {kind: lambda follow_symlinks=True, answer=answer: answer for kind, answer in kinds.items()}
    return SimpleNamespace(name=os.path.basename(path), path=path, **answers)


def _rename(move: list[tuple[Node, str, Node | None]], kind: str) -> None:
    for above, name, node in reversed(move):
        names = getattr(above, kind)
        if node is not None:
            names[name] = node
        elif len(move) == 1 or names.get(name) is move[0][2]:
            names.pop(name, None)


def _applied(data: bytes, writes: list[tuple[int, bytes]]) -> bytes:
    found = bytearray(data)
    for at, added in writes:
        if at < 0:
            found[:] = found[: -at - 1].ljust(-at - 1, b"\0")
        else:
            found[:] = found.ljust(at, b"\0")
            found[at : at + len(added)] = added
    return bytes(found)


def _left(node: Node, chance: Random) -> bytes:
    """What a power cut leaves of a file."""
    writes = node.pending
    if not writes:
        return node.disk
    kind = chance.choice(("lost", "kept", "cut", "zeros", "hole"))
    if kind == "lost":
        return node.disk
    if kind == "kept":
        return _applied(node.disk, writes)
    done = chance.randrange(len(writes))
    before, (at, added) = _applied(node.disk, writes[:done]), writes[done]
    if at < 0:
        return before
    cut = chance.randrange(len(added) + 1)
    if at < len(before):  # in place: whole sectors
        return _applied(before, [(at, added[: max(0, cut - (at + cut) % SECTOR)])])
    if kind == "cut":
        return _applied(before, [(at, added[:cut])])
    end = len(added)
    if kind == "hole" and added.count(b"\n") == 1:  # some of one record's sectors are missing
        end = min(end, cut + SECTOR * chance.randrange(1, 9))
        cut, end = max(0, cut - (at + cut) % SECTOR), max(cut, end - (at + end) % SECTOR)
    return _applied(before, [(at, added[:cut] + bytes(end - cut) + added[end:])])
