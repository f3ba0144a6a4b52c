"""Recall@5, recall@10 and MRR of the search: ``python -m benchmarks.recall.measure SET ... [--plugin NAME KEY=VALUE]``.

SET is as in :mod:`benchmarks.recall.sets`. Next to holdfast are bare FTS5 (porter, all words joined by OR) over turns,
the same over passages where a turn counts as its best one, and this with the user's turns counted double.
"""

from __future__ import annotations

import argparse
import re
import sqlite3
import tempfile
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from benchmarks.recall.sets import Question, Talk, talks

from holdfast import Holdfast
from holdfast.config.values import PluginConfig
from holdfast_app.config import Config
from holdfast_app.search import vectors, words

#: Of one question: recall at 5, at 10, and one divided by the first hit's place.
Figures = tuple[float, float, float]


def figures(found: Iterable[str], evidence: frozenset[str]) -> Figures:
    places = list(dict.fromkeys(found))[:10]
    first = next((1 / n for n, one in enumerate(places, 1) if one in evidence), 0.0)
    return (
        len(evidence.intersection(places[:5])) / len(evidence),
        len(evidence.intersection(places)) / len(evidence),
        first,
    )


def bare(talk: Talk, *, cut: bool = False, user: float = 1.0) -> sqlite3.Connection:
    db = sqlite3.connect(":memory:")
    db.execute(
        "CREATE VIRTUAL TABLE bare USING fts5("
        "body, place UNINDEXED, session UNINDEXED, counts UNINDEXED, tokenize='porter')"
    )
    for name, turns in talk.sessions.items():
        for turn in turns:
            for part in words.passages(turn.text, 1 << 20) if cut else [turn.text]:
                counts = user if turn.role == "user" else 1.0
                db.execute("INSERT INTO bare VALUES (?, ?, ?, ?)", (part, turn.id, name, counts))
    return db


def ask(db: sqlite3.Connection, asked: Question) -> list[str]:
    query = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", asked.text))
    rows = db.execute(
        "SELECT place, session FROM bare WHERE bare MATCH ? ORDER BY bm25(bare) * counts LIMIT 200", (query,)
    )
    return [place for place, session in rows if asked.session in ("", session)]


def measure(talk: Talk, config: Config | None) -> dict[str, dict[str, list[Figures]]]:
    """Of each way to search, of each kind of question, the figures."""
    found: dict[str, dict[str, list[Figures]]] = defaultdict(lambda: defaultdict(list))
    others = {
        "bare FTS5": bare(talk),
        "FTS5, passages": bare(talk, cut=True),
        "FTS5, passages, user twice": bare(talk, cut=True, user=2.0),
    }
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "holdfast.toml").touch()
        with Holdfast.open(folder, config=config) as memory:
            talk.fill(memory)
            for asked in talk.questions:
                hits = memory.search(asked.text, kinds=["turn"], session=asked.session, limit=10)
                found["holdfast"][asked.kind].append(figures([hit.place for hit in hits], asked.evidence))
                for name, db in others.items():
                    found[name][asked.kind].append(figures(ask(db, asked), asked.evidence))
    return found


def line(name: str, rows: list[Figures]) -> str:
    at5, at10, mrr = (sum(column) / len(rows) for column in zip(*rows, strict=True))
    return f"{name:<30} r@5 {at5:.3f}  r@10 {at10:.3f}  MRR {mrr:.3f}  of {len(rows)} questions"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="+")
    parser.add_argument("--plugin", nargs="+", metavar=("NAME", "KEY=VALUE"), help="a plugin for vectors")
    args = parser.parse_args()
    config = None
    if args.plugin:
        name, *pairs = args.plugin
        table = dict(pair.split("=", 1) for pair in pairs)
        config = Config(plugins={name: PluginConfig(enabled=True, settings=table)})
        vectors.BUDGET_S = float("inf")  # all vectors are made before the first question is answered
    for given in args.sets:
        print(given)
        total: dict[str, dict[str, list[Figures]]] = defaultdict(lambda: defaultdict(list))
        for talk in talks(given):
            for name, kinds in measure(talk, config).items():
                for kind, rows in kinds.items():
                    total[name][kind] += rows
        for kind, rows in sorted(total["holdfast"].items()):
            print(line(f"  {kind}", rows))
        for name, kinds in total.items():
            print(line(name, [row for rows in kinds.values() for row in rows]), flush=True)


if __name__ == "__main__":
    main()
