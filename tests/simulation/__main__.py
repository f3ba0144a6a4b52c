"""``python -m tests.simulation``: play histories, and print those that break a rule. Exit code 1 when data is lost."""

import argparse
import gc
import logging
import multiprocessing
import sys
import time
from functools import partial
from itertools import count

from tests.simulation.history import Broken, History, Lost


def hurry() -> None:
    """For speed: nothing is logged, and garbage is collected seldom."""
    logging.disable()
    gc.freeze()
    gc.set_threshold(200_000)


def play(seed: int, *, shown: bool = False) -> Broken | None:
    """What the seed's history breaks."""
    history = History(seed)
    broken = None
    try:
        history.play()
    except Broken as error:
        broken = error
    if shown or broken:
        verdict = "LOST" if isinstance(broken, Lost) else "BROKEN"
        sys.stdout.write("\n".join([*history.log, f"{verdict}: {broken}" if broken else "all is well"]) + "\n\n")
    return broken


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seed", type=int, help="play and print this history")
    parser.add_argument("--first", type=int, default=1, metavar="N", help="the first seed (1)")
    parser.add_argument("--histories", type=int, default=0, metavar="N", help="how many (until stopped)")
    parser.add_argument("--seconds", type=float, default=0.0, metavar="S", help="how long at most")
    parser.add_argument("--processes", type=int, default=1, metavar="N", help="how many at once (1)")
    options = parser.parse_args()
    if options.seed is not None:
        return isinstance(play(options.seed, shown=True), Lost)
    began = time.perf_counter()
    with multiprocessing.get_context("fork").Pool(options.processes) as pool:
        results = pool.map(partial(some, options, began), range(options.processes), chunksize=1)
    played, cpu = sum(one[0] for one in results), sum(one[1] for one in results)
    lost, broken = (sorted(seed for one in results for seed in one[at]) for at in (2, 3))
    spent = time.perf_counter() - began
    sys.stdout.write(f"{played} histories in {spent:.0f} s ({cpu:.0f} s of processor time)\n")
    sys.stdout.write(f"lost: {lost}; broken otherwise: {broken}\n")
    return bool(lost)


def some(options: argparse.Namespace, began: float, number: int) -> tuple[int, float, list[int], list[int]]:
    """Every n-th history: how many were played, the processor time, and the seeds that lost or broke something."""
    hurry()
    played, lost, broken = 0, list[int](), list[int]()
    for seed in count(options.first + number, options.processes):
        late = options.seconds and time.perf_counter() - began > options.seconds
        if late or (options.histories and seed >= options.first + options.histories):
            break
        played += 1
        if found := play(seed):
            (lost if isinstance(found, Lost) else broken).append(seed)
    return played, time.process_time(), lost, broken


if __name__ == "__main__":
    sys.exit(main())
