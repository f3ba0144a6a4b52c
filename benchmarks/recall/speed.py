"""Time of the search, next to one bare FTS5 query: ``python -m benchmarks.recall.speed TURNS SET [TURNS SET ...]``.

SET is as in :mod:`benchmarks.recall.sets`. Its talks are repeated in one project until it has TURNS turns, all but the
newest sessions packed, as holdfast does with ended ones. Reported are the time to index them and the index's size; the
p50 of a search and of a bare FTS5 query over the same passages (all words joined by OR, ten hits; both answer each
question in turn, after the index is complete); and the first search of a new process, in bare interpreters. All are
processor times, because other work on the machine would count otherwise.
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
from itertools import count, islice
from pathlib import Path

from benchmarks.recall.sets import Talk, Turn, talks

from holdfast import Holdfast
from holdfast_app.journal import journal
from holdfast_app.journal.journal import Journal
from holdfast_app.records import journals, packs
from holdfast_app.search import index, words

_QUESTIONS = 60

FIRST = """
import sys
from holdfast import Holdfast
with Holdfast.open(sys.argv[1]) as memory:
    memory.search(sys.argv[2])
"""


def repeated(given: list[Talk], turns: int) -> Talk:
    """Sessions of together ``turns`` turns, and some of the questions. Every number is the same in each run."""
    sessions: dict[str, list[Turn]] = {}
    for number, (_, talk) in ((n, one) for n in count() for one in enumerate(given)):
        for name, said in talk.sessions.items():
            kept = list(islice(said, turns))
            sessions[f"{name}-{len(sessions)}"] = [one._replace(id=f"{one.id}-{number}") for one in kept]
            turns -= len(kept)
        if not turns:
            break
    questions = [asked for talk in given for asked in talk.questions]
    random.Random(17).shuffle(questions)
    return Talk({name: said for name, said in sessions.items() if said}, questions[:_QUESTIONS])


def pack(state: str) -> None:
    """Pack the sessions that would have ended long ago, see :func:`holdfast_app.records.packs.tidy`."""
    names = map(journal.session_id_of, journals.by_age(state)[: -packs.KEPT])
    ended = [Journal(state, name) for name in names if name]
    packs.add(state, [(one.stem, one.session_id, one.data()) for one in ended])
    for one in ended:
        for path in (one.path, one.lock_path, one.hint_path):
            Path(path).unlink(missing_ok=True)


def bare(folder: str, path: Path) -> sqlite3.Connection:
    """One FTS5 table of the passages of the index, and nothing else."""
    db = sqlite3.connect(Path(folder, "bare.sqlite"))
    db.execute("CREATE VIRTUAL TABLE bare USING fts5(body, tokenize='porter unicode61 remove_diacritics 2')")
    db.execute("ATTACH ? AS ours", (str(path),))
    db.execute("INSERT INTO bare (rowid, body) SELECT rowid, body FROM ours.text")
    db.commit()
    return db


def p50(values: list[float]) -> float:
    return statistics.median(values) * 1000


def measure(turns: int, name: str) -> str:
    talk = repeated(talks(name), turns)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "holdfast.toml").touch()
        with Holdfast.open(folder) as memory:
            talk.fill(memory)
            pack(memory.services.state)
            start = time.process_time()
            index.complete(memory)
            seconds = time.process_time() - start
            path = Path(memory.services.state, index.FILE)
            share = path.stat().st_size / sum(len(one.text.encode()) for said in talk.sessions.values() for one in said)
            db = bare(folder, path)
            ours, theirs = [], []
            for asked in talk.questions:
                start = time.process_time()
                memory.search(asked.text)
                middle = time.process_time()
                query = " OR ".join(f'"{word}"' for word in words.asked(asked.text))
                db.execute(
                    "SELECT rowid, body FROM bare WHERE bare MATCH ? ORDER BY bm25(bare) LIMIT 10", (query,)
                ).fetchall()
                ours.append(middle - start)
                theirs.append(time.process_time() - middle)
            db.close()
        new = [_seconds("-c", FIRST, folder, asked.text) for asked in talk.questions[:7]]
        none = [_seconds("-c", "pass") for _ in range(7)]
    return (
        f"{name}, {turns:,} turns: indexed in {seconds:.2f} s, {share:.1f} times the text; search p50 "
        f"{p50(ours):.1f} ms, bare FTS5 {p50(theirs):.1f} ms, ratio {p50(ours) / p50(theirs):.1f}; first search of a "
        f"new process {p50(new):.0f} ms, {p50(new) / p50(none):.1f} bare interpreters"
    )


def _seconds(*words_: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)  # os.times counts in hundredths of a second
    subprocess.run([sys.executable, *words_], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    for turns, name in zip(sys.argv[1::2], sys.argv[2::2], strict=True):
        print(measure(int(turns), name), flush=True)


if __name__ == "__main__":
    main()
