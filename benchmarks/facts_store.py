"""The fact stores' speed as ratios to raw limits of the same run: ``python benchmarks/facts_store.py``.

A durable add in SQLite is compared with an insert of one row into a bare table (write-ahead log, synchronous=FULL), in
files with an append and an fsync of as many bytes. The two are done in turns, and the median of the ratios of each call
to the raw one right before it is printed. Nothing here fails on a figure.

    python benchmarks/facts_store.py --sizes 500,10000,100000 --rounds 400
"""

from __future__ import annotations

import argparse
import os
import random
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from holdfast.models import Fact
from holdfast.storage import Add, StorageBackend

AIMS = {
    ("sqlite", "add"): "<= 2 raw inserts; at 100,000 <= 1.3 of 500",
    ("file", "add"): "<= 2 raw appends; at 100,000 <= 1.3 of 500",
    ("sqlite", "add at the cap"): "<= 1.9 own adds",
    ("file", "add at the cap"): "<= 1.4 own adds",
    ("sqlite", "duplicate"): "<= 0.2 ms, no flush",
    ("file", "duplicate"): "<= 0.2 ms, no flush",
}
WORDS = [
    f"{a}{b}{c}" for a in ("pre", "con", "mi", "ta", "or") for b in ("vo", "li", "der", "quan") for c in "abcdefgh"
]
CREATED = datetime(2026, 1, 1, tzinfo=UTC)


def fact(number: int) -> Fact:
    """A fact of ordinary length; ``number`` decides all of it."""
    draw = random.Random(number)
    text = f"The user said {' '.join(draw.choices(WORDS, k=9))} {number}"
    return Fact(
        id=f"fact_{number * 2654435761 % 2**32:08x}",
        content=text,
        category="knowledge",
        confidence=draw.randrange(50, 100) / 100,
        created_at=CREATED + timedelta(seconds=number),
        source="benchmark",
    )


def open_store(kind: str, folder: Path) -> StorageBackend:
    if kind == "sqlite":
        from holdfast_sqlite.backend import SqliteBackend

        return SqliteBackend(folder)
    from holdfast_file.backend import FileBackend

    return FileBackend(folder)


def filled(kind: str, folder: Path, size: int) -> StorageBackend:
    """A store of ``size`` facts, opened anew."""
    if kind == "file":  # the file that as many calls would leave
        from holdfast_file.lines import Operation, encode

        (folder / ".holdfast").mkdir()
        with (folder / ".holdfast" / "facts.jsonl").open("wb") as file:
            file.writelines(encode(Operation(fact=fact(number))) for number in range(size))
    else:
        store = open_store(kind, folder)
        store.commit([Add(fact(number), size + 1) for number in range(size)])
        store.close()
    return open_store(kind, folder)


@contextmanager
def raw_insert(folder: Path) -> Iterator[Callable[[Fact], None]]:
    """One row into a bare table, committed and flushed."""
    with closing(sqlite3.connect(folder / "raw.db", isolation_level=None)) as raw:
        raw.execute("PRAGMA journal_mode = WAL")
        raw.execute("PRAGMA synchronous = FULL")
        raw.execute("CREATE TABLE facts (seq INTEGER PRIMARY KEY, id, content, category, confidence, created, source)")

        def insert(new: Fact) -> None:
            row = (new.id, new.content, new.category, new.confidence, new.created_at.isoformat(), new.source)
            raw.execute("INSERT INTO facts VALUES (NULL, ?, ?, ?, ?, ?, ?)", row)

        yield insert


@contextmanager
def raw_append(folder: Path) -> Iterator[Callable[[Fact], None]]:
    """As many bytes as the file store writes: open, write, fsync, close."""
    line = b"x" * 245 + b"\n"
    path = folder / "raw.jsonl"
    path.touch()

    def append(_: Fact) -> None:
        fd = os.open(path, os.O_WRONLY | os.O_APPEND)
        os.write(fd, line)
        os.fsync(fd)
        os.close(fd)

    yield append


def timed(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


class Figures:
    """Seconds of single calls, by what they did."""

    def __init__(self) -> None:
        self.times: dict[str, list[float]] = {}

    def take(self, what: str, call: Callable[[], object]) -> None:
        self.times.setdefault(what, []).append(timed(call))

    def typical(self, what: str) -> float:
        """The lower quartile."""
        times = self.times[what]
        return statistics.quantiles(times, n=4)[0] if len(times) > 1 else times[0]

    def by_pairs(self, what: str, base: str) -> float:
        """The median of the ratios of calls that were done in turns."""
        return statistics.median(a / b for a, b in zip(self.times[what], self.times[base], strict=True))


def measure(kind: str, size: int, rounds: int) -> Figures:
    """Adds, raw limits, evictions and duplicates at one size."""
    figures = Figures()
    with tempfile.TemporaryDirectory(prefix="facts-store-") as name:
        folder = Path(name)
        store = filled(kind, folder, size)
        store.add_fact(fact(size), size + 10)  # reads or opens the file
        raw_limit = raw_insert if kind == "sqlite" else raw_append
        with raw_limit(folder) as raw:
            for number in range(size + 1, size + 1 + rounds):
                new = fact(number)
                figures.take("raw", lambda new=new: raw(new))
                figures.take("add", lambda new=new: store.add_fact(new, 10 * size + rounds))
            for number in (n * 7919 % size for n in range(rounds)):
                old = fact(number)
                figures.take("duplicate", lambda old=old: store.add_fact(old, 10 * size + rounds))
            cap = len(list(store.facts()))
            store.add_fact(fact(size + 1 + rounds), cap)  # the first eviction may have to rank them all
            for number in range(size + 2 + rounds, size + 2 + 2 * rounds):
                new = fact(number)
                figures.take("raw beside the cap", lambda new=new: raw(new))
                figures.take("add at the cap", lambda new=new: store.add_fact(new, cap))
        assert len(list(store.facts())) == cap
        store.close()
    return figures


def report(kind: str, sizes: list[int], rounds: int) -> None:
    """Print the figures of one store at each size."""
    adds: list[float] = []
    for size in sizes:
        got = measure(kind, size, rounds)
        adds.append(got.by_pairs("add", "raw"))
        at_the_cap = got.by_pairs("add at the cap", "raw beside the cap") / adds[-1]
        print(f"{kind}, {size:,} facts (raw limit {got.typical('raw') * 1e3:.3f} ms)")
        print(f"  add              {adds[-1]:7.2f} x raw        aim {AIMS[kind, 'add']}")
        print(f"  add at the cap   {at_the_cap:7.2f} x an add     aim {AIMS[kind, 'add at the cap']}")
        print(f"  duplicate        {got.typical('duplicate') * 1e3:7.4f} ms          aim {AIMS[kind, 'duplicate']}")
    print(f"{kind}: an add at {sizes[-1]:,} costs {adds[-1] / adds[0]:.2f} of one at {sizes[0]:,}, in raw limits\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="500,10000,100000", help="numbers of facts, with commas between")
    parser.add_argument("--rounds", type=int, default=400, help="calls of each kind")
    parser.add_argument("--backends", default="sqlite,file")
    arguments = parser.parse_args()
    for kind in arguments.backends.split(","):
        report(kind, [int(size) for size in arguments.sizes.split(",")], arguments.rounds)


if __name__ == "__main__":
    main()
