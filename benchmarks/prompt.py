"""What the prompt block costs beyond reading the lines it prints: ``python benchmarks/prompt.py``.

The block is made from a store of each size, with no validator and with the default ones (what is read passes the gate
again), and compared with an indexed read of as many facts as it prints, done in turns in the same run: own work is the
median of the differences. The aim: cost follows the budget and not the store; at most 0.15 ms of own work for 2,000
tokens of 10,000 facts. Nothing here fails on a figure.

    python benchmarks/prompt.py --sizes 500,10000 --backends file,sqlite
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from holdfast import Holdfast
from holdfast.config.values import Config, FactsConfig, PluginConfig, StorageConfig
from holdfast.plugin import discovery
from holdfast.storage import FactOrder
from holdfast.text import tokens

WORDS = [
    "the user",
    "prefers",
    "short answers",
    "with code",
    "and says so",
    "whenever",
    "a reply",
    "is longer than",
    "a screen",
]


def row(number: int) -> dict[str, object]:
    """A fact of ordinary length, unlike any other."""
    return {
        "content": f"{' '.join(WORDS[number % 3 :])} {number}",
        "category": "preference",
        "confidence": number * 37 % 101 / 100,
    }


def timed(call: Callable[[], object]) -> float:
    """Milliseconds."""
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1000


def measure(backend: str, size: int, rounds: int) -> str:
    """One line of the table."""
    plain = {name: PluginConfig(enabled=False) for name in discovery.defaults()}
    with store(backend, size, plain) as memory:
        text = memory.prompt(2000)
        assert tokens.estimate(text) <= 2000
        lines = text.count("\n- [")
        stored = memory.store.backend
        pairs = [
            (timed(lambda: memory.prompt(2000)), timed(lambda: list(stored.facts(FactOrder.CONFIDENCE, lines))))
            for _ in range(rounds)
        ]
    with store(backend, size, {}) as memory:
        guarded = statistics.median(timed(lambda: memory.prompt(2000)) for _ in range(rounds))
    whole, reading = (statistics.median(times) for times in zip(*pairs, strict=True))
    own = statistics.median(prompt - read for prompt, read in pairs)
    return f"{backend:8}{size:>8,}{lines:>7}{whole:>12.3f}{reading:>12.3f}{own:>12.3f}{guarded:>14.3f}"


@contextmanager
def store(backend: str, size: int, plugins: dict[str, PluginConfig]) -> Iterator[Holdfast]:
    """A project with so many facts."""
    config = Config(storage=StorageConfig(backend=backend), facts=FactsConfig(max_facts=size), plugins=plugins)
    with tempfile.TemporaryDirectory() as folder, Holdfast.open(Path(folder), config=config) as memory:
        memory.facts.import_(map(row, range(size)))
        yield memory


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="500,10000")
    parser.add_argument("--backends", default="file,sqlite")
    parser.add_argument("--rounds", type=int, default=101)
    args = parser.parse_args()
    print(f"{'backend':8}{'facts':>8}{'lines':>7}{'prompt ms':>12}{'reading ms':>12}{'own ms':>12}{'with gate ms':>14}")
    for backend in args.backends.split(","):
        for size in args.sizes.split(","):
            print(measure(backend, int(size), args.rounds))


if __name__ == "__main__":
    main()
