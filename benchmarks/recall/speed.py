"""Time and memory of the search, next to one bare FTS5 query: ``python -m benchmarks.recall.speed [TURNS ...]``.

Made-up turns, whose words are as common as those of a language (Zipf), in sessions of 100. Reported for each number of
turns: the time to index them in a process of its own and its peak memory; the p50 of a search and of a bare FTS5 query
(porter, OR, the same questions, taken in turns with ours, ten hits); the first search of a new process, in multiples of
a bare interpreter. All are processor times, because other work on the machine would count otherwise.
"""

from __future__ import annotations

import random
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from holdfast import Holdfast
from holdfast.config.values import PluginConfig
from holdfast_app.config import Config
from holdfast_app.journal.journal import Journal
from holdfast_app.search import words

_WORDS = 30_000
_PER_SESSION = 100
_QUESTIONS = 60
_START = datetime(2026, 1, 1, tzinfo=UTC)

FIRST = """
import resource, sys, time
from holdfast import Holdfast
with Holdfast.open(sys.argv[1]) as memory:
    start = time.process_time()
    memory.search(sys.argv[2])
    print(time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


class Speech:
    """Sentences of made-up words. Every number is the same in each run."""

    def __init__(self) -> None:
        self._random = random.Random(17)
        letters = "bcdfglmnprstv", "aeiou"
        self._words = [
            "".join(self._random.choice(letters[n % 2]) for n in range(self._random.randint(3, 10)))
            for _ in range(_WORDS)
        ]
        self._weights = [1 / (n + 3) for n in range(_WORDS)]

    def say(self, least: int, most: int) -> str:
        return " ".join(self._random.choices(self._words, self._weights, k=self._random.randint(least, most)))


def fill(state: str, speech: Speech, turns: int) -> None:
    """Journals as sessions write them, without the validators, whose time is not measured here."""
    for session in range(turns // _PER_SESSION):
        journal = Journal(state, f"session-{session}")
        at = _START + timedelta(hours=session)
        journal.append(
            *(
                {
                    "kind": "message",
                    "id": f"m{number}",
                    "role": "assistant" if number % 2 else "user",
                    "text": speech.say(8, 40),
                    "at": (at + timedelta(seconds=number)).isoformat(),
                    "tokens": 30,
                }
                for number in range(_PER_SESSION)
            )
        )


def bare(folder: str) -> sqlite3.Connection:
    """One FTS5 table of the texts of the index, and nothing else."""
    db = sqlite3.connect(Path(folder, "bare.sqlite"))
    db.execute("CREATE VIRTUAL TABLE bare USING fts5(body, tokenize='porter unicode61 remove_diacritics 2')")
    (path,) = Path(folder).rglob("search.sqlite")
    db.execute("ATTACH ? AS ours", (str(path),))
    db.execute("INSERT INTO bare (rowid, body) SELECT rowid, body FROM ours.text")
    db.commit()
    return db


def p50(values: list[float]) -> float:
    return statistics.median(values) * 1000


def measure(turns: int) -> str:
    speech = Speech()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "holdfast.toml").touch()
        with Holdfast.open(
            folder, config=Config(zone="UTC", plugins={"offline": PluginConfig(enabled=False)})
        ) as memory:
            memory.session("first").add("user", "hello")
            fill(memory.services.state, speech, turns)
            asked = [speech.say(4, 10) for _ in range(_QUESTIONS)]
            ran = subprocess.run(
                [sys.executable, "-c", FIRST, folder, asked[0]], check=True, capture_output=True, text=True
            )
            seconds, peak = map(float, ran.stdout.split())
            db = bare(folder)
            ours, theirs = [], []
            for question in asked:
                start = time.process_time()
                memory.search(question)
                middle = time.process_time()
                query = " OR ".join(f'"{word}"' for word in words.asked(question))
                db.execute(
                    "SELECT rowid, body FROM bare WHERE bare MATCH ? ORDER BY bm25(bare) LIMIT 10", (query,)
                ).fetchall()
                ours.append(middle - start)
                theirs.append(time.process_time() - middle)
            db.close()
            new = [_seconds("-c", FIRST, folder, question) for question in asked[:7]]
            none = [_seconds("-c", "pass") for _ in range(7)]
    return (
        f"{turns:,} turns: indexed in {seconds:.2f} s, peak {peak:.0f} MiB; search p50 {p50(ours):.1f} ms, bare FTS5 "
        f"{p50(theirs):.1f} ms, ratio {p50(ours) / p50(theirs):.2f}; first search of a new process {p50(new):.0f} ms, "
        f"{p50(new) / p50(none):.1f} bare interpreters"
    )


def _seconds(*words_: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)  # os.times counts in hundredths of a second
    subprocess.run([sys.executable, *words_], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    for turns in map(int, sys.argv[1:] or ("10000", "100000")):
        print(measure(turns), flush=True)


if __name__ == "__main__":
    main()
