"""The public calls that store something, with all default plugins: ``python benchmarks/adds.py``.

``facts.create`` and ``session.add`` are compared with the raw durable write of the same run: for files an append and an
fsync of as many bytes, for SQLite an insert into a bare table (write-ahead log, synchronous=FULL). Calls and raw writes
take turns. Printed are the ratio of the lower quartiles and the median ratio of the pairs; a found duplicate and the
prompt block are in milliseconds. Nothing here fails on a figure.

    python benchmarks/adds.py --sizes 500,10000,100000 --rounds 300
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

from holdfast import Holdfast
from holdfast.config.values import Config, FactsConfig, StorageConfig

LINE = b"x" * 246 + b"\n"  # as long as a stored fact


@contextmanager
def raw_write(backend: str, folder: Path) -> Iterator[Callable[[], object]]:
    """The durable write that a call of this backend cannot do without."""
    if backend == "sqlite":
        with closing(sqlite3.connect(folder / "raw.db", isolation_level=None)) as sql:
            sql.execute("PRAGMA journal_mode = WAL")
            sql.execute("PRAGMA synchronous = FULL")
            sql.execute("CREATE TABLE raw (line BLOB)")
            yield lambda: sql.execute("INSERT INTO raw VALUES (?)", (LINE,))
        return

    def append() -> None:
        fd = os.open(folder / "raw", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(fd, LINE)
            os.fsync(fd)
        finally:
            os.close(fd)

    yield append


def timed(call: Callable[[], object]) -> float:
    """Milliseconds."""
    begin = time.perf_counter()
    call()
    return (time.perf_counter() - begin) * 1000


def against(own: list[float], raw: list[float]) -> str:
    quartile = statistics.quantiles(own)[0] / statistics.quantiles(raw)[0]
    pairs = statistics.median(mine / bare for mine, bare in zip(own, raw, strict=True))
    return f"{quartile:5.2f} ({pairs:.2f})"


def measure(backend: str, size: int, rounds: int) -> str:
    """One line of the table."""
    raw: list[float] = []
    create: list[float] = []
    duplicate: list[float] = []
    add: list[float] = []
    config = Config(storage=StorageConfig(backend=backend), facts=FactsConfig(max_facts=10 * size))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "project").mkdir()
        with Holdfast.open(folder / "project", config=config) as memory, raw_write(backend, folder) as write:
            memory.facts.import_(
                {"content": f"The user said number {n} of the old facts", "confidence": n % 97 / 100}
                for n in range(size)
            )
            session = memory.session("benchmark")
            for number in range(rounds):
                content = f"The user said something new and of ordinary length, number {number}, about the build"
                raw.append(timed(write))
                create.append(timed(partial(memory.facts.create, content, "preference", 0.7)))
                duplicate.append(timed(partial(memory.facts.create, content, "preference", 0.7)))
                add.append(timed(partial(session.add, "user", content)))
            prompt = statistics.median(timed(memory.prompt) for _ in range(20))
    return (
        f"{backend:<8}{size:>8,}{statistics.quantiles(raw)[0]:9.3f} ms{against(create, raw):>15}"
        f"{statistics.median(duplicate):11.3f} ms{against(add, raw):>15}{prompt:10.2f} ms"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="500,10000", help="numbers of stored facts, with commas between")
    parser.add_argument("--rounds", type=int, default=300, help="calls of each kind")
    args = parser.parse_args()
    head = ("raw write", 12), ("create", 15), ("duplicate", 14), ("session.add", 15), ("prompt", 13)
    print(f"{'backend':<8}{'facts':>8}" + "".join(f"{title:>{width}}" for title, width in head))
    for backend in ("file", "sqlite"):
        for size in map(int, args.sizes.split(",")):
            print(measure(backend, size, args.rounds), flush=True)


if __name__ == "__main__":
    main()
