"""A store under load and with age: `python benchmarks/load.py load`, `open` or `past`.

``load``: processes, each with a session of its own, flush a stated payload to one store at the same moment. It prints
the refused flushes and the rate beside bare inserts of that payload into a SQLite log (``synchronous=FULL``) by as many
processes. Both take turns of equal length, because other work on the machine changes. Choose a folder on a disk: where
a sync costs nothing, this compares Python with C.
``open`` and ``past``: a flush, and commands as processes, by the number of sessions with open work or with none, twenty
a day. Processor time, the best of three.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import os
import resource
import sqlite3
import statistics
import subprocess
import sysconfig
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from holdfast import Holdfast, HoldfastError

_EMPTY = dict.fromkeys(("blockers", "artifacts", "follow_ups", "state_mutations"), ())
_STATED = {"objective": "Measure", "facts": ["The disk is as fast as it is"], "decisions": ["Report ratios"]}
CLOSED = {**_EMPTY, **_STATED, "next_step": "Read the figures", "work_open": False, "curated": "none"}
_HANDOFF = {"active_task": "Benchmark", "branch": "main", "blocker": "none", "next_action": "Read the figures"}
PAYLOAD = {**CLOSED, "work_open": True, "handoff": _HANDOFF}


def flushes(folder: Path, number: int, start: float, rounds: int, answers: Any) -> None:
    """One process: ``rounds`` flushes of its own session; reports the seconds of each and the refusals."""
    time.sleep(max(0.0, start - time.time()))
    times, refused = [], []
    with Holdfast.open(folder) as memory:
        for turn in range(rounds):
            began = time.perf_counter()
            try:
                session = memory.session(f"agent-{number}")
                session.add("user", f"Request {turn} of agent {number}")
                session.flush({**PAYLOAD, "objective": f"Objective {turn} of agent {number}"})
                times.append(time.perf_counter() - began)
            except HoldfastError as error:
                refused.append(f"{getattr(error, 'target', '')}: {error.message[:150]}")
    answers.put((times, refused))


def inserts(folder: Path, number: int, start: float, seconds: float, answers: Any) -> None:
    """One process: bare inserts of the same content, for so many seconds."""
    time.sleep(max(0.0, start - time.time()))
    times = []
    with contextlib.closing(sqlite3.connect(folder / "bare.db", timeout=600, isolation_level=None)) as sql:
        sql.execute("PRAGMA synchronous = FULL")
        while time.time() < start + seconds:
            began = time.perf_counter()
            sql.execute("INSERT INTO bare VALUES (?, ?)", (number, json.dumps(PAYLOAD)))
            times.append(time.perf_counter() - began)
    answers.put((times, []))


def run(work: Callable[..., None], folder: Path, processes: int, much: float) -> tuple[list[float], list[str], float]:
    """Seconds of each success, the refusals, and the seconds of all together."""
    fork = multiprocessing.get_context("fork")
    answers = fork.Queue()
    start = time.time() + 0.5 + processes / 100
    started = [fork.Process(target=work, args=(folder, n, start, much, answers)) for n in range(processes)]
    for one in started:
        one.start()
    found = [answers.get() for _ in started]
    seconds = time.time() - start
    return [t for times, _ in found for t in times], [r for _, refused in found for r in refused], seconds


def load(processes: int, rounds: int, backend: str, turns: int) -> None:
    with tempfile.TemporaryDirectory(prefix="holdfast-load-") as name:
        folder = Path(name)
        (folder / "holdfast.toml").write_text(f'[storage]\nbackend = "{backend}"\n', encoding="utf-8")
        past(folder, 1, PAYLOAD)  # imports everything, so that the store is measured
        with contextlib.closing(sqlite3.connect(folder / "bare.db", isolation_level=None)) as sql:
            sql.execute("PRAGMA journal_mode = WAL")
            sql.execute("CREATE TABLE bare (number INTEGER, text TEXT)")
        for _ in range(turns):
            times, refused, seconds = run(flushes, folder, processes, rounds)
            bare, _, bare_seconds = run(inserts, folder, processes, seconds)
            rate, plain = len(times) / seconds, len(bare) / bare_seconds
            print(f"{processes} processes on {backend}: {len(times)} flushes, {len(refused)} refused, {seconds:.1f} s")
            print(f"  median {statistics.median(times or [0]):.2f} s, slowest {max(times, default=0):.2f} s")
            print(f"  {rate:.1f} flushes a second, {plain:.0f} bare inserts: {rate / plain:.3f}", flush=True)
            for text, count in Counter(refused).most_common(5):
                print(f"  {count} x {text}")


def past(folder: Path, sessions: int, payload: dict[str, Any]) -> float:
    """Flush and end ``sessions`` sessions, twenty a day; the median seconds of the last ten flushes."""
    times = [0.0]
    at = datetime.now(UTC) - timedelta(days=sessions / 20)
    with Holdfast.open(folder, clock=lambda: at) as memory:
        for number in range(sessions):
            at += timedelta(days=1 / 20)
            session = memory.session(f"past-{number}")
            session.add("user", f"Request {number}: look at module {number}")
            began = time.perf_counter()
            session.flush({**payload, "objective": f"Objective {number}"}, reason="end")
            times.append(time.perf_counter() - began)
            session.end()
    return statistics.median(times[-10:])


def processor(command: list[str], folder: Path, data: str) -> float:
    """The processor seconds of a command, the best of three."""
    found = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, cwd=folder, input=data, text=True, capture_output=True, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(found)


def age(count: int, payload: dict[str, Any]) -> None:
    program = os.path.join(sysconfig.get_path("scripts"), "holdfast")
    with tempfile.TemporaryDirectory(prefix="holdfast-age-") as name:
        folder = Path(name)
        (folder / "payload.json").write_text(json.dumps(PAYLOAD), encoding="utf-8")
        flush = past(folder, count, payload)
        files = sum(len(found) for _, _, found in os.walk(folder))
        print(f"{count} sessions: a flush {flush * 1000:.1f} ms, {files} files", flush=True)
        hook = {"hook_event_name": "SessionStart", "source": "startup", "session_id": "new", "cwd": name}
        for words in ("hook claude-code", "load", "status", "doctor", "flush --session s --payload payload.json"):
            seconds = processor([program, *words.split()], folder, json.dumps(hook))
            print(f"  {words:<45}{seconds * 1000:>6.0f} ms", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("load", "open", "past"))
    parser.add_argument("--processes", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3, help="flushes of each process")
    parser.add_argument("--turns", type=int, default=1, help="of flushes and bare inserts")
    parser.add_argument("--backend", default="file")
    parser.add_argument("--sessions", type=int, nargs="+", default=[0, 10, 200, 500])
    given = parser.parse_args()
    if given.what == "load":
        load(given.processes, given.rounds, given.backend, given.turns)
        return
    for count in given.sessions:
        age(count, PAYLOAD if given.what == "open" else CLOSED)


if __name__ == "__main__":
    main()
