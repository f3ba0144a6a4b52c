"""A workload with a known state after each step, and stand-ins for ``os`` that fail or die.

The stand-ins replace the name ``os`` in the modules that write, and nowhere else: every call that touches the store
goes through them, and nothing of pytest does.
"""

from __future__ import annotations

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


def _add(number: int, confidence: float = 0.5, limit: int = 3) -> Step:
    return lambda store: store.add_fact(make_fact(number, confidence=confidence), limit)


STEPS: tuple[Step, ...] = (
    lambda store: store.write("MEMORY.md", "# Memory\n", expected=ABSENT),
    _append("one"),
    _append("two", LONG),
    _add(1, 0.9),
    _add(2),
    _append("three"),
    lambda store: store.write("MEMORY.md", "# Memory\n- changed\n", expected=sha256("# Memory\n")),
    _append("three"),
    _add(3),
    _add(4),  # evicts 2
    lambda store: update_fact(store, "fact_00000003", confidence=0.1),
    _add(5),  # evicts 3
    _add(5),
    lambda store: delete_fact(store, "fact_00000001"),
    _add(6),
    _add(7),
    _add(8),  # by now the file has been rewritten, see small_files
    lambda store: store.write("notes/deep/x.md", "x"),
    lambda store: store.delete("MEMORY.md"),
    _append("four"),
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
                return real(*args, **named)
            self.calls += 1
            return self.on_call(name, partial(real, **named), args)

        return counted

    def on_call(self, name: str, real: Callable[..., Any], args: tuple[Any, ...]) -> Any:
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
