"""A power cut: what a disk still has when everything that was not flushed is gone."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from stat import S_ISDIR
from typing import Any

from attrs import define, field

from holdfast.fs import ownership_mark

Tree = dict[str, "Tree | bytes"]


@define(eq=False)
class _Node:
    """A file's or folder's flushed content."""

    data: bytes = b""
    names: dict[str, _Node] | None = None


@define
class Disk:
    """Watches the calls of ``os`` that change ``root``. ``skipped`` is the number of a flush that is not made.

    ``states`` has, after each call, what a power cut may leave, with the value of ``answered`` at that time: unflushed
    data is lost, unflushed names are lost or kept.
    """

    root: Path
    skipped: int = -1
    answered: int = 0
    flushes: list[str] = field(factory=list)
    states: list[tuple[int, Tree]] = field(factory=list)
    watching: bool = True
    _nodes: dict[int, _Node] = field(factory=dict)

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Everything in the folder counts as flushed at the beginning."""
        self._flush_all(self.root)
        real = {name: getattr(os, name) for name in ("fsync", "replace", "rename", "unlink", "write", "mkdir")}
        wrapped: dict[str, Callable[..., Any]] = {
            "fsync": self._fsync(real["fsync"]),
            "replace": self._moving(real["replace"]),
            "rename": self._moving(real["rename"]),
            "unlink": self._unlink(real["unlink"]),
            "write": self._plain(real["write"]),
            "mkdir": self._plain(real["mkdir"]),
        }
        try:
            for name, function in wrapped.items():
                setattr(os, name, function)
            yield
        finally:
            for name, function in real.items():
                setattr(os, name, function)

    def leave(self, tree: Tree) -> None:
        """Make the folder what a power cut left."""
        shutil.rmtree(self.root)
        self._write(self.root, tree)
        for mark in self.root.rglob(ownership_mark.FILE):
            if mark.stat().st_size:
                ownership_mark.write(str(mark.parent))  # it names the folder's inode

    def copy(self, folder: Path) -> Tree:
        """The folder's content now."""
        return {p.name: self.copy(p) if p.is_dir() else p.read_bytes() for p in folder.iterdir()}

    def answer(self) -> None:
        """The caller has been told so far."""
        self.answered += 1
        self.note()

    def note(self) -> None:
        """Collect what a power cut at this moment may leave."""
        for tree in (self._flushed(self._node(self.root.stat())), self._named(self.root)):
            if (self.answered, tree) not in self.states[-4:]:
                self.states.append((self.answered, tree))

    def _node(self, found: os.stat_result) -> _Node:
        if found.st_ino not in self._nodes:
            self._nodes[found.st_ino] = _Node(names={} if S_ISDIR(found.st_mode) else None)
        return self._nodes[found.st_ino]

    def _flush_all(self, folder: Path) -> None:
        names = self._node(folder.stat()).names = {}
        for path in folder.iterdir():
            names[path.name] = self._node(path.stat())
            if path.is_dir():
                self._flush_all(path)
            else:
                names[path.name].data = path.read_bytes()

    def _flushed(self, node: _Node) -> Tree:
        return {k: one.data if one.names is None else self._flushed(one) for k, one in (node.names or {}).items()}

    def _named(self, folder: Path) -> Tree:
        return {p.name: self._named(p) if p.is_dir() else self._node(p.stat()).data for p in folder.iterdir()}

    def _write(self, folder: Path, tree: Tree) -> None:
        folder.mkdir(mode=0o700)
        for name, content in tree.items():
            if isinstance(content, bytes):
                (folder / name).write_bytes(content)
                (folder / name).chmod(0o600)
            else:
                self._write(folder / name, content)

    def _is_inside(self, path: str) -> bool:
        return path == str(self.root) or path.startswith(f"{self.root}{os.sep}")

    def _fsync(self, real: Callable[[int], None]) -> Callable[[int], None]:
        def fsync(fd: int) -> None:
            real(fd)
            path = os.readlink(f"/proc/self/fd/{fd}")
            if not self._is_inside(path):
                return
            self.flushes.append(os.path.relpath(path, self.root))
            if len(self.flushes) - 1 != self.skipped:
                node = self._node(os.fstat(fd))
                if node.names is None:
                    node.data = Path(path).read_bytes()
                else:
                    node.names = {one.name: self._node(one.stat()) for one in Path(path).iterdir()}
            self.note()

        return fsync

    def _moving(self, real: Callable[..., None]) -> Callable[..., None]:
        def move(source: str, target: str, **folders: Any) -> None:
            self._drop(target, folders.get("dst_dir_fd"))
            real(source, target, **folders)
            self.note()

        return move

    def _unlink(self, real: Callable[..., None]) -> Callable[..., None]:
        def unlink(path: str, **folder: Any) -> None:
            self._drop(path, folder.get("dir_fd"))
            real(path, **folder)
            self.note()

        return unlink

    def _plain(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **named: Any) -> Any:
            made = real(*args, **named)
            self.note()
            return made

        return call

    def _drop(self, path: str, folder: int | None) -> None:
        """The inode's number may be used again."""
        with suppress(FileNotFoundError):
            self._nodes.pop(os.stat(path, dir_fd=folder, follow_symlinks=False).st_ino, None)
