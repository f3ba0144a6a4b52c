"""A workload with a known state after each step, and stand-ins for ``os`` that fail, die or record.

The stand-ins replace the name ``os`` in the modules that write, and nowhere else: every call that touches the store
goes through them, and nothing of pytest does.
"""

import itertools
import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from holdfast.errors import Conflict, NotFound
from holdfast.fs import durable, safeopen
from holdfast.storage import ABSENT, StorageBackend, delete_fact, sha256, update_fact
from holdfast.testing.base import make_block, make_fact
from holdfast_file import documents, facts, intent, mark
from holdfast_file.backend import FileBackend

DAY, HEADER = "memory/2026-03-01.md", "# Daily Memory: 2026-03-01\n"
LONG = "- " + "\u00e9\U0001f469\u200d" * 900

Step = Callable[[StorageBackend], object]


def _append(block_id: str, text: str = "- short") -> Step:
    return lambda store: store.append(DAY, make_block(block_id, text), HEADER, block_id)


def _add(number: int, confidence: float = 0.5, limit: int = 2) -> Step:
    return lambda store: store.add_fact(make_fact(number, confidence=confidence), limit)


STEPS: tuple[Step, ...] = (
    lambda store: store.write("MEMORY.md", "# Memory\n", expected=ABSENT),
    _append("one"),
    _append("two", LONG),
    _add(1, 0.9),
    _add(2),
    lambda store: store.write("MEMORY.md", "# Memory\n- changed\n", expected=sha256("# Memory\n")),
    _append("two", LONG),
    _add(3),  # evicts 2
    lambda store: update_fact(store, "fact_00000003", confidence=0.1),
    _add(4),  # evicts 3
    _add(4),
    lambda store: delete_fact(store, "fact_00000001"),  # and the file is rewritten, see Os.installed_in
    _add(5),
    lambda store: store.write("notes/deep/x.md", "x"),
    lambda store: store.delete("MEMORY.md"),
    _append("three"),
)


class State(NamedTuple):
    """Everything a reader can see of a store."""

    documents: tuple[tuple[str, str], ...]
    facts: tuple[object, ...]


def observe(root: Path) -> State:
    """Open the store as a new process would, and look. Changes nothing."""
    store = FileBackend(root)
    texts = tuple((name, store.read(name).text) for name in store.names())
    return State(texts, tuple(store.facts()))


def states(root: Path) -> list[State]:
    """The state before the first step and after each one, when nothing goes wrong."""
    store = FileBackend(root)
    seen = [observe(root)]
    for step in STEPS:
        step(store)
        seen.append(observe(root))
    return seen


def finish(root: Path, done: int, wanted: list[State], store: StorageBackend | None = None) -> None:
    """Check what a crash after ``done`` acknowledged steps left, repeat the step it hit, and do the rest."""
    found = observe(root)
    assert found in wanted[done : done + 2], f"after step {done}: {found} is neither {wanted[done : done + 2]}"
    store = store or FileBackend(root)
    for at in range(done, len(STEPS)):
        try:
            STEPS[at](store)
        except (Conflict, NotFound):
            assert at == done, "only the step that was hit may find its work done"
            assert found == wanted[done + 1]
        if at == done:
            assert observe(root) == wanted[at + 1]
    assert observe(root) == wanted[-1]
    leftovers = [p.name for p in (root / ".holdfast").rglob(f"{durable.TEMP_PREFIX}*")]
    assert len(leftovers) <= 1, leftovers


class Os:
    """``os`` as the writing modules see it; subclasses look at each call that changes files."""

    CHANGES = ("open", "write", "fsync", "replace", "ftruncate", "truncate", "unlink", "mkdir")

    def __init__(self) -> None:
        self.calls = 0

    def __getattr__(self, name: str) -> Any:
        real = getattr(os, name)
        if name not in self.CHANGES:
            return real

        def counted(*args: Any, **named: Any) -> Any:
            if name == "open" and not args[1] & (os.O_WRONLY | os.O_RDWR):  # a look, as on the way to a folder
                return self.on_look(partial(real, **named), args)
            self.calls += 1
            return self.on_call(name, partial(real, **named), args)

        return counted

    def on_call(self, name: str, real: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        return real(*args)

    def on_look(self, real: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        return real(*args)

    def installed_in(self) -> Iterator[tuple[Any, str, Any]]:
        """What to patch, for ``monkeypatch.setattr``; the facts file is rewritten early, too."""
        for module in (durable, safeopen, intent, documents, facts, mark):
            yield module, "os", self
        yield facts, "SPARE_DEAD_LINES", 0


class CountingOs(Os):
    """Counts the calls that change files, by name."""

    def __init__(self) -> None:
        super().__init__()
        self.found: Counter[str] = Counter()

    def on_call(self, name: str, real: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        self.found[name] += 1
        return real(*args)


class NoFlushOs(Os):
    """Every flush to the disk fails."""

    def on_call(self, name: str, real: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        if name == "fsync":
            raise OSError(5, os.strerror(5))
        return real(*args)


class KillingOs(Os):
    """SIGKILL at the k-th call: in the middle of a write, else right after it, which is before the next one."""

    def __init__(self, k: int) -> None:
        super().__init__()
        self.k = k

    def on_call(self, name: str, real: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        if self.calls == self.k:
            try:
                real(args[0], args[1][: len(args[1]) // 2]) if name == "write" else real(*args)
            finally:
                os.kill(os.getpid(), signal.SIGKILL)
        return real(*args)


class FailingOs(Os):
    """The k-th call fails with ``code``, and with ``always`` all later ones until :meth:`mend`.

    ``short``: a write that fails has written half, as on a disk that fills up.
    """

    def __init__(self, k: int, code: int, *, always: bool, short: bool = False) -> None:
        super().__init__()
        self.k, self.code, self.always, self.short = k, code, always, short
        self.hit = ""

    def mend(self) -> None:
        self.k, self.always = -1, False

    def on_call(self, name: str, real: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        if self.calls == self.k or (self.always and self.calls > self.k):
            self.hit = self.hit or name
            if self.short and name == "write" and len(args[1]) > 1:
                real(args[0], args[1][: len(args[1]) // 2])
            raise OSError(self.code, os.strerror(self.code))
        return real(*args)


class Killed(BaseException):
    """Stands for the end of the process: nothing after it reaches the disk."""


class _Node:
    def __init__(self) -> None:
        self.now = b""
        self.synced = b""

    def may_be(self) -> list[bytes]:
        """What a power cut may leave of this file."""
        old, new = self.synced, self.now
        if old == new:
            return [old]
        found = [old, new]
        if new.startswith(old):
            added = new[len(old) :]
            half = len(added) // 2
            zeros = b"\0" * len(added)
            found += [
                old + added[:half],
                old + zeros,
                old + added[:half] + zeros[half:],
                old + zeros[:half] + added[half:],
            ]
        return found


class DiskOs(Os):
    """Keeps beside the real files what of them has been flushed, and collects what a power cut would leave.

    Unsynced data may be lost, kept, cut in half or zeroed, for each file on its own; names that were not synced with
    their folder may all be lost or all be kept. ``kill_at``: the process ends before that call.
    """

    def __init__(self, root: Path, *, kill_at: int = -1) -> None:
        super().__init__()
        self.root = str(root)
        self.kill_at = kill_at
        self.names: dict[str, _Node | None] = {}  # path -> file, None for a folder
        self.synced_names: dict[str, _Node | None] = {}
        self.fds: dict[int, tuple[str, _Node | None]] = {}
        self.acknowledged = 0
        self.watching = True
        self.left: set[tuple[int, frozenset[tuple[str, bytes | None]]]] = set()

    def on_call(self, name: str, real: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        if 0 <= self.kill_at <= self.calls:
            raise Killed
        result = real(*args)
        getattr(self, f"_{name}")(result, *self._absolute(name, args, getattr(real, "keywords", {})))
        self.cut_power()
        return result

    def on_look(self, real: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        if 0 <= self.kill_at <= self.calls:
            raise Killed
        result = real(*args)
        self._open(result, *self._absolute("open", args, getattr(real, "keywords", {})))
        return result

    def _absolute(self, name: str, args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        """The arguments with names in a folder's descriptor as paths."""
        folder = named.get("dir_fd", named.get("src_dir_fd"))
        if folder is None:
            return args
        paths = 2 if name == "replace" else 1
        inside = self.fds[folder][0]
        return (*(os.path.normpath(os.path.join(inside, one)) for one in args[:paths]), *args[paths:])

    def cut_power(self) -> None:
        """Note every state that a power cut at this moment may leave."""
        if not self.watching:
            return
        for names in (self.names, self.synced_names):
            there = {p: node for p, node in names.items() if all(str(q) in names for q in self._above(p))}
            paths = sorted(there)
            choices = [[None] if there[p] is None else there[p].may_be() for p in paths]
            for contents in itertools.product(*choices):
                self.left.add((self.acknowledged, frozenset(zip(paths, contents, strict=True))))

    def _above(self, path: str) -> Iterator[str]:
        while (path := os.path.dirname(path)) != self.root:
            yield path

    def _open(self, fd: int, path: Any, flags: int, mode: int = 0) -> None:
        path = os.fspath(path)
        if path == self.root or path in self.names:
            self.fds[fd] = (path, self.names.get(path))
        elif path.startswith(self.root):
            assert flags & os.O_CREAT, path
            self.names[path] = _Node()
            self.fds[fd] = (path, self.names[path])
        else:
            self.fds[fd] = (path, None)

    def _write(self, count: int, fd: int, data: Any) -> None:
        path, node = self.fds[fd]
        if not path.startswith(self.root):
            return
        assert node is not None
        if path.endswith(mark.FILE):
            node.now = b""  # written in place, and always of one length
        node.now += bytes(data[:count])  # appended or to a new file: nothing else writes in the middle

    def _fsync(self, _: None, fd: int) -> None:
        path, node = self.fds[fd]
        if node is not None:
            node.synced = node.now
            return
        for name in {*self.names, *self.synced_names}:
            if os.path.dirname(name) == path:
                if name in self.names:
                    self.synced_names[name] = self.names[name]
                else:
                    del self.synced_names[name]

    def _replace(self, _: None, source: str, target: str) -> None:
        if not target.startswith(self.root):
            return  # the user's key
        self.names[target] = self.names.pop(source)

    def _ftruncate(self, _: None, fd: int, length: int) -> None:
        node = self.fds[fd][1]
        assert node is not None
        node.now = node.now[:length]

    def _truncate(self, _: None, path: str, length: int) -> None:
        node = self.names[path]
        assert node is not None
        node.now = node.now[:length]

    def _unlink(self, _: None, path: Any) -> None:
        del self.names[os.fspath(path)]

    def _mkdir(self, _: None, path: str, mode: int) -> None:
        if path.startswith(self.root):
            self.names[path] = None


def build(root: Path, before: str, files: frozenset[tuple[str, bytes | None]]) -> None:
    """Make the folder that a power cut left."""
    for path, content in sorted(files, key=lambda item: item[0]):
        target = root / os.path.relpath(path, before)
        if content is None:
            target.mkdir(parents=True, exist_ok=True)
        else:
            target.write_bytes(content)
