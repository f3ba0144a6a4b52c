"""A disk in memory that keeps what was synced apart from what was only written, and fails at a chosen call.

It is a FUSE file system, so every program of every language runs on it unchanged. What it models is the least that
ext4, XFS and APFS promise: fsync of a file makes its data and its own name durable, fsync of a folder its names;
everything else is lost when the power goes, or the names stay and the data is lost, as after a crash of XFS.
"""

from __future__ import annotations

import errno
import itertools
import os
import signal
import stat
import subprocess
import threading
import time
from typing import Any, Final, Self

import mfusepy as fuse  # type: ignore[import-not-found]
from attrs import define, field

DEATHS: Final = ("kill", "power cut", "power cut, names kept")
KINDS: Final = (*DEATHS, "full disk", "I/O error", "hang")
"""What can happen at a call."""


@define(eq=False)
class Node:
    """A file, a folder or a link. Names map to nodes; `durable` and `kept` are what a power cut leaves."""

    mode: int
    data: bytearray = field(factory=bytearray)
    names: dict[str, Node] = field(factory=dict)
    durable: bytes | None = None
    kept: dict[str, Node] = field(factory=dict)
    target: str = ""
    changed: int = field(factory=time.time_ns)
    number: int = field(factory=itertools.count(1).__next__)

    @property
    def folder(self) -> bool:
        return stat.S_ISDIR(self.mode)


@define(eq=False)
class Fault:
    """One of KINDS at the `at`-th changing call, from 1, of the processes in group `group`."""

    kind: str
    at: int
    group: int
    struck: bool = False


class Disk(fuse.Operations):  # type: ignore[misc]
    """The file system. `calls` counts the changing calls since `arm`."""

    use_ns = True
    HANG = 4.0  # seconds

    def __init__(self, root: Node | None = None) -> None:
        self.root = root or Node(stat.S_IFDIR | 0o755)
        self.open_files: dict[int, Node] = {}
        self.next = 1
        self.calls = 0
        self.fault: Fault | None = None

    # faults

    def arm(self, fault: Fault | None) -> None:
        self.fault, self.calls = fault, 0

    def cut(self, *, names: bool) -> None:
        """Go back to what was synced. `names` stay as they are with their data gone back."""
        seen: set[int] = set()

        def back(node: Node) -> None:
            if id(node) in seen:
                return
            seen.add(id(node))
            if node.folder:
                if not names:
                    node.names = dict(node.kept)
                for one in node.names.values():
                    back(one)
            else:
                node.data = bytearray(node.durable or b"")

        back(self.root)
        self.open_files.clear()

    def settle(self) -> None:
        """Sync everything, as a shutdown does."""
        waiting = [self.root]
        while waiting:
            node = waiting.pop()
            node.durable, node.kept = bytes(node.data), dict(node.names)
            waiting += [one for one in node.names.values() if one.folder or one.durable != bytes(one.data)]

    def _changing(self) -> None:
        """Count a call that changes the disk, and let the armed fault happen at it."""
        self.calls += 1
        fault = self.fault
        if fault is None or self.calls < fault.at:
            return
        first, fault.struck = not fault.struck, True
        if fault.kind == "full disk":
            return  # only calls that need room fail: see `_needs_room`
        if not first:
            if fault.kind in DEATHS:
                raise fuse.FuseOSError(errno.EIO)  # the group is dying; nothing of it reaches the disk any more
            return
        if fault.kind == "I/O error":
            raise fuse.FuseOSError(errno.EIO)
        if fault.kind == "hang":
            time.sleep(self.HANG)
            return
        os.killpg(fault.group, signal.SIGKILL)
        raise fuse.FuseOSError(errno.EIO)

    def _needs_room(self) -> None:
        if self.fault is not None and self.fault.kind == "full disk" and self.calls >= self.fault.at:
            raise fuse.FuseOSError(errno.ENOSPC)

    # looking up

    def _node(self, path: str) -> Node:
        node = self.root
        for part in path.split("/"):
            if part:
                if part not in node.names:
                    raise fuse.FuseOSError(errno.ENOENT)
                node = node.names[part]
        return node

    def _place(self, path: str) -> tuple[Node, str]:
        folder, name = path.rsplit("/", 1)
        return self._node(folder), name

    def _opened(self, node: Node) -> int:
        self.next += 1
        self.open_files[self.next] = node
        return self.next

    def getattr(self, path: str, fh: int | None = None) -> dict[str, Any]:
        node = self.open_files[fh] if fh in self.open_files else self._node(path)
        size = len(node.target) if node.target else len(node.data)
        times = {"st_mtime": node.changed, "st_ctime": node.changed, "st_atime": node.changed}
        owner = {"st_uid": os.getuid(), "st_gid": os.getgid(), "st_ino": node.number}
        return {"st_mode": node.mode, "st_size": size, "st_nlink": 2 if node.folder else 1, **times, **owner}

    def readdir(self, path: str, fh: int) -> list[tuple[str, dict[str, int], int]]:
        names = {".": self.root, "..": self.root, **self._node(path).names}  # a name with number 0 would be left out
        return [(name, {"st_ino": node.number, "st_mode": node.mode}, 0) for name, node in names.items()]

    def readlink(self, path: str) -> str:
        return self._node(path).target

    def statfs(self, path: str) -> dict[str, int]:
        return {"f_bsize": 4096, "f_frsize": 4096, "f_blocks": 1 << 20, "f_bfree": 1 << 19, "f_bavail": 1 << 19}

    # reading and writing

    def open(self, path: str, flags: int) -> int:
        return self._opened(self._node(path))

    def create(self, path: str, mode: int, fi: Any = None) -> int:
        self._changing()
        self._needs_room()
        folder, name = self._place(path)
        node = folder.names[name] = Node(stat.S_IFREG | (mode & 0o7777))
        return self._opened(node)

    def read(self, path: str, size: int, offset: int, fh: int) -> bytes:
        return bytes(self.open_files[fh].data[offset : offset + size])

    def write(self, path: str, data: bytes, offset: int, fh: int) -> int:
        self._changing()
        self._needs_room()
        node = self.open_files[fh]
        if len(node.data) < offset:
            node.data.extend(bytes(offset - len(node.data)))
        node.data[offset : offset + len(data)] = data
        node.changed = time.time_ns()
        return len(data)

    def truncate(self, path: str, length: int, fh: int | None = None) -> int:
        self._changing()
        node = self.open_files[fh] if fh in self.open_files else self._node(path)
        if length > len(node.data):
            self._needs_room()
            node.data.extend(bytes(length - len(node.data)))
        del node.data[length:]
        node.changed = time.time_ns()
        return 0

    def fsync(self, path: str, datasync: int, fh: int) -> int:
        self._changing()
        node = self.open_files[fh]
        node.durable = bytes(node.data)
        try:
            folder, name = self._place(path)
        except fuse.FuseOSError:
            return 0
        if folder.names.get(name) is node:
            self._keep_names(path.rsplit("/", 1)[0], {name})
        return 0

    def fsyncdir(self, path: str, datasync: int, fh: int) -> int:
        self._changing()
        node = self._node(path)
        self._keep_names(path, node.names.keys() | node.kept.keys())
        return 0

    def _keep_names(self, path: str, names: set[str]) -> None:
        """Make names in a folder durable, and the folder's own name with them, as a journalling file system does."""
        folder = self._node(path)
        for name in names:
            if name in folder.names:
                folder.kept[name] = folder.names[name]
            else:
                folder.kept.pop(name, None)
        if path.strip("/"):
            above, _, name = path.rstrip("/").rpartition("/")
            self._keep_names(above, {name})

    def flush(self, path: str, fh: int) -> int:
        return 0

    def release(self, path: str, fh: int) -> int:
        self.open_files.pop(fh, None)
        return 0

    # names

    def mkdir(self, path: str, mode: int) -> int:
        self._changing()
        self._needs_room()
        folder, name = self._place(path)
        folder.names[name] = Node(stat.S_IFDIR | (mode & 0o7777))
        return 0

    def symlink(self, target: str, source: str) -> int:
        self._changing()
        folder, name = self._place(target)
        folder.names[name] = Node(stat.S_IFLNK | 0o777, target=source)
        return 0

    def link(self, target: str, source: str) -> int:
        self._changing()
        folder, name = self._place(target)
        folder.names[name] = self._node(source)
        return 0

    def rename(self, old: str, new: str, flags: int = 0) -> int:
        self._changing()
        folder, name = self._place(old)
        node = self._node(old)
        into, called = self._place(new)
        into.names[called] = node
        del folder.names[name]
        return 0

    def unlink(self, path: str) -> int:
        self._changing()
        folder, name = self._place(path)
        del folder.names[name]
        return 0

    def rmdir(self, path: str) -> int:
        if self._node(path).names:
            raise fuse.FuseOSError(errno.ENOTEMPTY)
        return self.unlink(path)

    def chmod(self, path: str, mode: int) -> int:
        node = self._node(path)
        node.mode = stat.S_IFMT(node.mode) | (mode & 0o7777)
        return 0

    def chown(self, path: str, uid: int, gid: int) -> int:
        return 0

    def utimens(self, path: str, times: Any = None) -> int:
        return 0


class Mounted:
    """The disk at `folder` while the `with` block runs."""

    def __init__(self, disk: Disk, folder: str) -> None:
        self.disk, self.folder = disk, folder

    def __enter__(self) -> Self:
        before = os.stat(self.folder).st_dev
        options = {
            "foreground": True,
            "nothreads": True,
            "use_ino": True,
            "attr_timeout": 0,
            "entry_timeout": 0,
            "negative_timeout": 0,
        }
        self.thread = threading.Thread(target=fuse.FUSE, args=(self.disk, self.folder), kwargs=options, daemon=True)
        self.thread.start()
        until = time.monotonic() + 10
        while os.stat(self.folder).st_dev == before:
            if time.monotonic() > until:
                raise TimeoutError("FUSE did not mount the disk within 10 s; is /dev/fuse there?")
            time.sleep(0.002)
        return self

    def __exit__(self, *_: object) -> None:
        subprocess.run(["fusermount3", "-u", "-z", self.folder], check=False)
        self.thread.join(10)
