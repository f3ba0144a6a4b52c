"""The spine's speed as ratios to raw limits that are measured in the same run: `python benchmarks/spine.py`.

Processes are compared with a bare ``python -c pass``, a durable flush with the same number of raw
write+fsync+rename in the same folder. Runs of the candidates are interleaved and medians compared, so that a machine
that slows down slows all of them. Nothing here fails on a figure.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

AIMS = {
    "import holdfast": "under 1 ms beyond the interpreter",
    "holdfast --version": "",
    "holdfast add": "5x, 8x at most",
    "holdfast load": "18x",
    "holdfast flush": "20x",
    "flush in process": "3x",
}


def medians(commands: dict[str, list[str]], runs: int, cwd: Path) -> dict[str, float]:
    """Median wall time of each command in seconds, runs interleaved."""
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    times: dict[str, list[float]] = {name: [] for name in commands}
    for round_ in range(runs + 1):
        for name, command in commands.items():
            start = time.perf_counter()
            subprocess.run(command, cwd=cwd, env=env, check=True, capture_output=True, stdin=subprocess.DEVNULL)
            if round_:  # the first round fills caches
                times[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in times.items()}


def processes(folder: Path, runs: int) -> list[tuple[str, float, float]]:
    """(name, seconds, ratio to a bare interpreter) of each command line."""
    program = os.path.join(sysconfig.get_path("scripts"), "holdfast")
    payload = folder / "payload.json"
    payload.write_text(json.dumps(PAYLOAD), encoding="utf-8")
    bare = "python -c pass"
    found = medians(
        {
            bare: [sys.executable, "-c", "pass"],
            "import holdfast": [sys.executable, "-c", "import holdfast"],
            "holdfast --version": [program, "--version"],
            "holdfast add": [program, "add", "user", "One turn of a conversation, of ordinary length."],
            "holdfast load": [program, "load"],
            "holdfast flush": [program, "flush", "--payload", str(payload)],
        },
        runs,
        folder,
    )
    return [(name, seconds, seconds / found[bare]) for name, seconds in found.items()]


PAYLOAD = {
    "objective": "Measure the flush",
    "facts": ["The disk is what it is"],
    "decisions": ["Report ratios"],
    "blockers": [],
    "next_step": "Read the figures",
    "artifacts": ["benchmarks/spine.py"],
    "follow_ups": [],
    "state_mutations": [],
    "work_open": True,
    "handoff": {"active_task": "Benchmark", "branch": "main", "blocker": "none", "next_action": "Read the figures"},
    "curated": "none",
}


def flush_in_process(folder: Path, runs: int) -> tuple[float, float, int]:
    """Median seconds of a flush, of as many raw write+fsync+rename as it makes durable changes, and that number."""
    from holdfast import Holdfast
    from holdfast.config.serde import payload_from
    from holdfast.fs import durable

    count = 0

    def counted(function: Callable[..., object]) -> Callable[..., object]:
        def call(*args: object, **named: object) -> object:
            nonlocal count
            count += 1
            return function(*args, **named)

        return call

    names = ("replace", "append", "remove", "truncate", "sync")
    originals = {name: getattr(durable, name) for name in names}
    memory = Holdfast.open(folder)
    session = memory.session("bench")
    payload = payload_from(PAYLOAD)

    def once(number: int) -> float:
        session.add("user", f"message {number}")
        start = time.perf_counter()
        session.flush(payload)
        return time.perf_counter() - start

    once(-1)
    for name in names:
        setattr(durable, name, counted(originals[name]))
    once(0)
    for name in names:
        setattr(durable, name, originals[name])

    flushes, raws = [], []
    data = b"x" * 700
    for number in range(1, runs + 1):
        flushes.append(once(number))
        start = time.perf_counter()
        for index in range(count):
            path = str(folder / f"raw{index}")
            fd = os.open(path + ".tmp", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            os.write(fd, data)
            os.fsync(fd)
            os.close(fd)
            os.replace(path + ".tmp", path)
        raws.append(time.perf_counter() - start)
    memory.close()
    return statistics.median(flushes), statistics.median(raws), count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20, help="counted runs of each candidate (default 20)")
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as name:
        folder = Path(name)
        (folder / "one").mkdir()
        print(f"{'process':<22}{'ms':>8}{'x bare':>9}   aim")
        for what, seconds, ratio in processes(folder / "one", runs):
            print(f"{what:<22}{seconds * 1000:>8.1f}{ratio:>9.2f}   {AIMS.get(what, '')}")
        (folder / "two").mkdir()
        flush, raw, count = flush_in_process(folder / "two", runs)
        print(f"\n{'in process':<22}{'ms':>8}{'x raw':>9}   aim")
        print(f"{count} raw write+fsync+rename{raw * 1000:>5.2f}{1:>9.2f}")
        print(f"{'flush':<22}{flush * 1000:>8.2f}{flush / raw:>9.2f}   {AIMS['flush in process']}")


if __name__ == "__main__":
    main()
