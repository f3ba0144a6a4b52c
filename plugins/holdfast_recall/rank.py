"""Which of the found texts answers: a linear model over BM25 and what stands around a text.

The weights of turns were fitted on conversations 1 to 5 of LoCoMo (benchmarks/recall). Two people who talk are where the
features of neighbours and speakers come from, so other kinds of text have weights of their own.
"""

from __future__ import annotations

import math
import re
import sqlite3
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from holdfast_recall import texts, words
from holdfast_recall.dates import Span
from holdfast_recall.index import NAME, QUESTION, SELF, TOKENS

#: Texts whose BM25 score is known, and how many of them are looked at together with their neighbours.
_SCORED, _CANDIDATES, _AROUND = 400, 100, 2
#: Among so many texts or more, words in more than this share of them are left out as long as the others find enough.
_FEW: Final = 2_000
_COMMON: Final = 0.1
_ENOUGH: Final = 200
#: BM25 weights of the two columns: the words, and the date in words.
_BODY, _DATED = 1.0, 0.6


class Features(NamedTuple):
    """What is known of one text for one question. All between 0 and about 1, ``speaker`` between -1 and 1."""

    own: float = 0.0  # BM25, relative to the best text
    before: float = 0.0  # of the turn before: all of it when that one asks something, else 0.4 of it
    around: float = 0.0  # mean of two before, one and two after
    source: float = 0.0  # best of the session or document
    first: float = 0.0  # begins its session
    speaker: float = 0.0  # the question names who speaks, or somebody else
    length: float = 0.0  # logarithm of the length
    name: float = 0.0  # the question asks for a name, and there is one
    question: float = 0.0  # is a question itself
    stems: float = 0.0  # share of the question's stems
    self: float = 0.0  # first person
    dated: float = 0.0  # in the span of days that the question names


_TURN: Final = Features(
    own=2.9, before=3.0, around=1.7, source=3.4, first=1.1, speaker=0.4, length=3.0, name=1.35, question=-0.6, stems=2.5,
    self=0.6, dated=1.0,
)  # fmt: skip
_LINE: Final = Features(own=5.0, around=0.5, source=1.0, length=0.5, name=0.5, stems=4.0, dated=1.5)
_FACT: Final = Features(own=5.0, length=0.5, name=0.5, stems=4.0, dated=0.5)
WEIGHTS: Final[Mapping[str, Features]] = {
    texts.TURN: _TURN, texts.NOTE: _LINE, texts.DECISION: _LINE, texts.MEMORY: _LINE, texts.DOCUMENT: _LINE,
    texts.FACT: _FACT,
}  # fmt: skip


class Ranked(NamedTuple):
    """A found text: its row in the index, and its score, at most 1."""

    id: int
    score: float


class _Row(NamedTuple):
    id: int
    source: int
    number: int
    kind: str
    at: float
    role: str
    marks: int
    stems: str
    length: int


def rank(
    db: sqlite3.Connection, question: str, *, where: str = "", given: tuple[object, ...] = (), span: Span | None = None
) -> list[Ranked]:
    """The texts that may answer, best first. ``where`` is a condition on the table ``text`` with the values ``given``."""
    asked = words.asked(question)
    scores = _scores(db, asked, where, given) if asked else []
    if not scores:
        return []
    rows = _with_neighbours(db, [one for one, _ in scores[:_CANDIDATES]], where, given)
    found = _features(db, question, rows, dict(scores), span)
    ranked = [Ranked(row.id, _score(WEIGHTS[row.kind], features)) for row, features in found]
    return sorted(ranked, key=lambda one: (-one.score, one.id))


def _score(weights: Features, features: Features) -> float:
    return sum(w * f for w, f in zip(weights, features, strict=True)) / sum(w for w in weights if w > 0)


def _scores(db: sqlite3.Connection, asked: list[str], where: str, given: tuple[object, ...]) -> list[tuple[int, float]]:
    """The best texts by BM25 and their scores, best first."""
    table = f"found JOIN text ON text.id = found.rowid AND ({where})" if where else "found"
    query = " OR ".join(f'"{word}"' for word in _telling(db, asked))
    found: list[tuple[int, float]] = db.execute(
        f"SELECT found.rowid, -bm25(found, {_BODY}, {_DATED}) FROM {table} "  # noqa: S608 - conditions of ours
        "WHERE found MATCH ? ORDER BY 2 DESC LIMIT ?",
        (*given, query, _SCORED),
    ).fetchall()
    return found


def _telling(db: sqlite3.Connection, asked: list[str]) -> list[str]:
    """``asked`` without words that many texts have: they cost most of the time and say least."""
    total = db.execute("SELECT coalesce(max(id), 0) FROM text").fetchone()[0]
    if total < _FEW or len(asked) == 1:
        return asked
    counts = _occurrences(db, asked)
    kept: list[str] = []
    reached = 0
    for count, word in sorted(zip(counts, asked, strict=True)):
        if reached >= _ENOUGH and count > _COMMON * total:
            break
        kept.append(word)
        reached += count
    return kept


def _occurrences(db: sqlite3.Connection, asked: list[str]) -> list[int]:
    """In how many texts each word occurs. Only the index's own tokeniser knows by which token."""
    db.executescript(
        f"""CREATE VIRTUAL TABLE IF NOT EXISTS temp.asked USING fts5(word, {TOKENS});
        CREATE VIRTUAL TABLE IF NOT EXISTS temp.asked_term USING fts5vocab(temp, asked, instance);"""
    )
    db.execute("DELETE FROM temp.asked")
    db.executemany("INSERT INTO temp.asked (rowid, word) VALUES (?, ?)", enumerate(asked))
    counts = dict(
        db.execute(
            "SELECT a.doc, min(coalesce(t.doc, 0)) FROM temp.asked_term a LEFT JOIN term t ON t.term = a.term GROUP BY a.doc"
        )
    )
    return [counts.get(number, 0) for number in range(len(asked))]


def _with_neighbours(db: sqlite3.Connection, ids: list[int], where: str, given: tuple[object, ...]) -> list[_Row]:
    """The texts and those around them in the same source, by source and order."""
    marks = ",".join("?" * len(ids))
    condition = f"AND ({where.replace('text.', 't.')})" if where else ""
    rows = db.execute(
        "SELECT DISTINCT t.id, t.source, t.number, t.kind, t.at, t.role, t.marks, t.stems, length(t.body) "  # noqa: S608
        f"FROM text o JOIN text t ON t.source = o.source AND t.number BETWEEN o.number - {_AROUND} AND o.number + {_AROUND} "
        f"WHERE o.id IN ({marks}) {condition} ORDER BY t.source, t.number",
        (*ids, *given),
    )
    return [_Row(*row) for row in rows]


def _features(
    db: sqlite3.Connection, question: str, rows: list[_Row], scores: dict[int, float], span: Span | None
) -> Iterator[tuple[_Row, Features]]:
    top = max(scores.values())
    relative = {one: score / top for one, score in scores.items()}
    places = {(row.source, row.number): row for row in rows}
    best = _best_of_sources(db, relative)
    asked = words.stems(question)
    wants_name = words.wants_name(question)
    named = {row.role for row in rows if row.role and re.search(rf"\b{re.escape(row.role)}\b", question, re.IGNORECASE)}

    def score(row: _Row, offset: int) -> float:
        other = places.get((row.source, row.number + offset))
        return relative.get(other.id, 0.0) if other else 0.0

    for row in rows:
        before = places.get((row.source, row.number - 1))
        asks = before is not None and before.marks & QUESTION
        yield (
            row,
            Features(
                own=relative.get(row.id, 0.0),
                before=score(row, -1) * (1.0 if asks else 0.4),
                around=(score(row, -2) + score(row, 1) + score(row, 2)) / 3,
                source=best.get(row.source, 0.0),
                first=float(row.number == 0),
                speaker=0.0 if not named else 1.0 if row.role in named else -1.0,
                length=math.log1p(row.length) / 5,
                name=float(wants_name and bool(row.marks & NAME)),
                question=float(bool(row.marks & QUESTION)),
                stems=sum(f" {stem} " in row.stems for stem in asked) / max(1, len(asked)),
                self=float(bool(row.marks & SELF)),
                dated=float(span is not None and span.start.timestamp() <= row.at < span.end.timestamp()),
            ),
        )


def _best_of_sources(db: sqlite3.Connection, relative: dict[int, float]) -> dict[int, float]:
    best: dict[int, float] = {}
    marks = ",".join("?" * len(relative))
    for one, source in db.execute(f"SELECT id, source FROM text WHERE id IN ({marks})", list(relative)):  # noqa: S608
        best[source] = max(best.get(source, 0.0), relative[one])
    return best
