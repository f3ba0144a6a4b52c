"""Bytes and requests of facts in a Gitea store, on the stand-in server: ``python benchmarks/gitea.py``.

Each call is made by an instance of its own, as in a process of its own: on a machine that has never read the store
(cold), and on one that read it before (warm). Bytes are those of all bodies, in both directions. Facts are written as a
flush writes them, several at a time, and the last ones one by one. Nothing here fails on a figure.

    python benchmarks/gitea.py --sizes 100,1000,5000 --at-a-time 10
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from holdfast import Holdfast
from holdfast.config.values import Config, FactsConfig, StorageConfig
from holdfast_gitea.standin import StandIn

REPO = "agent/memory"
#: Facts that were written one by one after the others.
LAST = 20
WORDS = [f"{a}{b}{c}" for a in ("pre", "con", "mi", "ta") for b in ("vo", "li", "der", "quan") for c in "abcdefgh"]
CALLS: dict[str, Callable[[Holdfast, int], object]] = {
    "prompt": lambda memory, number: memory.prompt(2000),
    "facts list": lambda memory, number: memory.facts.list(),
    "remember": lambda memory, number: memory.facts.create(**row(number)),
}


def row(number: int) -> dict[str, object]:
    """A fact of ordinary length; ``number`` decides all of it."""
    draw = random.Random(number)
    text = f"The user said {' '.join(draw.choices(WORDS, k=9))} {number}"
    return {"content": text, "category": "knowledge", "confidence": draw.randrange(50, 100) / 100}


def measure(size: int, at_a_time: int) -> list[str]:
    """Lines of the table for a store with so many facts."""
    with StandIn() as standin, tempfile.TemporaryDirectory() as folder:
        standin.make_repo(REPO)
        os.environ["HOLDFAST_GITEA_TOKEN"] = standin.token
        options = {"server": standin.url, "repository": REPO}
        config = Config(storage=StorageConfig(backend="gitea", options=options), facts=FactsConfig(max_facts=2 * size))

        def opened(machine: str) -> Holdfast:
            place = Path(folder, machine)
            place.mkdir(exist_ok=True)
            return Holdfast.open(place, config=config)

        began = time.monotonic()
        with opened("writer") as memory:
            backend = memory.store.backend
            for start in range(0, size - LAST, at_a_time):
                with backend.batch():
                    for number in range(start, min(start + at_a_time, size - LAST)):
                        memory.facts.create(**row(number))
            for number in range(size - LAST, size):
                memory.facts.create(**row(number))
        written = sum(seen.size for seen in standin.requests)
        lines = [f"{size:>7,}  {'writing all':12}{len(standin.requests):>15,}{written / 1e3:>14,.0f} kB"]
        lines[0] += f"{time.monotonic() - began:>9.0f} s"
        hours = 1
        standin.world.clock = lambda: time.time() + hours * 3600  # what was written is no longer new
        for name, call in CALLS.items():
            for state in ("cold", "warm", "warm"):
                machine = f"{name} {size}"
                with opened(machine) as memory:
                    standin.requests.clear()
                    at = time.perf_counter()
                    call(memory, size + len(lines))
                    took = time.perf_counter() - at
                moved = sum(seen.size for seen in standin.requests)
                title = f"{name}, {state}"
                lines.append(
                    f"{'':7}  {title:18}{len(standin.requests):>9}{moved / 1e3:>14,.1f} kB{took * 1e3:>8.0f} ms"
                )
            hours += 1
    return lines


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="100,1000,5000")
    parser.add_argument("--at-a-time", type=int, default=10)
    args = parser.parse_args()
    print(f"{'facts':>7}  {'call':18}{'requests':>9}{'bytes':>17}")
    for size in args.sizes.split(","):
        print("\n".join(measure(int(size), args.at_a_time)))


if __name__ == "__main__":
    main()
