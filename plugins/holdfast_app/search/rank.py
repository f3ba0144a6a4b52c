"""Rank the matches by BM25, by the question words' share, and by their surroundings.

An answer often has few of the question's words and is next to the turn that has them. The weights were chosen on
conversations 1 to 5 of LoCoMo (benchmarks/recall).
"""

from __future__ import annotations

import math
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import islice
from typing import Final, NamedTuple

from holdfast_app.search import dates, records, words
from holdfast_app.search.index import SOURCE, size

#: Number of candidates with a BM25 score, how many of them are ranked, and their neighbours on each side.
_SCORED, _CANDIDATES, _AROUND = 400, 100, 2
#: Number of candidates ranked because of their vectors.
_NEAREST: Final = 50


class Weights(NamedTuple):
    """The features' weights. Each feature is between 0 and about 1."""

    own: float = 4.0  # BM25, relative to the best text
    before: float = 0.0  # BM25 of the turn before: all of it when that one asks something, else half of it
    around: float = 0.0  # mean BM25 of two before, one and two after
    source: float = 0.0  # best BM25 of the session or document
    words: float = 4.0  # share of the question's words in the text, the rare ones counting more
    near: float = 0.0  # the same, in the text and those next to it
    asks: float = 0.0  # is a question itself
    length: float = 0.5  # logarithm of the length
    dated: float = 0.5  # from the days that the question names


_TURN: Final = Weights(
    own=2.0, before=1.5, around=2.5, source=3.0, words=1.5, near=3.5, asks=-1.0, length=2.0, dated=2.0
)
#: For sessions with one speaker, where no turn answers the one before.
_ALONE: Final = _TURN._replace(before=0.0, around=0.0, source=0.0)
_LINE: Final = Weights(around=0.5, source=1.0, near=0.5, dated=1.5)
_FACT: Final = Weights()
WEIGHTS: Final[Mapping[str, Weights]] = {
    records.TURN: _TURN, records.NOTE: _LINE, records.DECISION: _LINE, records.MEMORY: _LINE, records.DOCUMENT: _LINE,
    records.FACT: _FACT,
}  # fmt: skip


class Ranked(NamedTuple):
    """A found text: its row in the index, its place in its source, and its score, at most 1."""

    id: int
    place: str
    score: float


class Similar(NamedTuple):
    """Vector similarity to the question, from 0 (the median) to 1, nearest first, and its weight among the features."""

    of: Mapping[int, float]
    weight: float


NOTHING_SIMILAR: Final = Similar({}, 0.0)


class _Row(NamedTuple):
    """A candidate or a neighbour of one."""

    id: int
    place: str
    kind: str
    at: float
    role: str
    length: int
    asks: bool


def rank(
    db: sqlite3.Connection,
    question: str,
    *,
    where: str = "",
    given: tuple[object, ...] = (),
    now: datetime | None = None,
    similar: Similar = NOTHING_SIMILAR,
    by_words: bool = True,
) -> list[Ranked]:
    """Possible answers, best first; of equals the newest, then by place.

    ``where`` is a condition on the table ``text`` with the values ``given``. Days in the question are seen from
    ``now``; without it they do not count. ``similar`` is from vectors. Without ``by_words``, only ``similar`` finds
    candidates.
    """
    asked = words.asked(question)
    condition = f"AND ({where})" if where else ""
    scores: dict[int, float] = dict(
        db.execute(
            "SELECT rowid, -bm25(text, 1.0, 1.0, 0.6) FROM text "  # noqa: S608 - conditions of ours
            f"WHERE text MATCH ? {condition} ORDER BY 2 DESC LIMIT {_SCORED}",
            (" OR ".join(map(words.quoted, asked)), *given),
        )
    )
    if not scores and (by_words or not similar.of):
        return []
    chosen = [*islice(scores, _CANDIDATES), *islice(similar.of, _NEAREST)]
    wanted = {one + offset for one in chosen for offset in range(-_AROUND, _AROUND + 1)}
    rows = [
        _Row(*row)
        for row in db.execute(
            "SELECT rowid, place, kind, at, role, length(body), rtrim(body) GLOB '*[?？]' FROM text "  # noqa: S608 - conditions of ours
            f"WHERE rowid IN ({','.join('?' * len(wanted))}) {condition}",
            (*wanted, *given),
        )
    ]
    shares = _shares(db, asked, {row.id for row in rows})
    dated = _dated(question, rows, now) if now else set()
    ranked = sorted(_ranked(rows, scores, shares, dated, similar))
    return [Ranked(one, place, -worse) for worse, _, place, one in ranked]


class _Share(NamedTuple):
    """A word's share of the question, the rare words counting more, and the candidates that have the word."""

    share: float
    having: frozenset[int]


def _shares(db: sqlite3.Connection, asked: list[str], candidates: set[int]) -> list[_Share]:
    total = size(db)
    found = []
    for word in asked:
        rows = [one for (one,) in db.execute("SELECT rowid FROM text WHERE text MATCH ?", (words.quoted(word),))]
        found.append((math.log((total + 1) / (len(rows) + 0.5)), candidates.intersection(rows)))
    whole = sum(weight for weight, _ in found) or 1.0
    return [_Share(weight / whole, frozenset(having)) for weight, having in found]


def _dated(question: str, rows: list[_Row], now: datetime) -> set[int]:
    """The entries from the days that the question names."""
    newest = max((row.at for row in rows), default=0.0)
    spans = dates.spans(question, now, min(now, dates.local(newest, now.tzinfo)))
    within = [(span.start.timestamp(), span.end.timestamp()) for span in spans]
    return {row.id for row in rows if any(start <= row.at < end for start, end in within)}


def _ranked(
    rows: list[_Row], scores: dict[int, float], shares: list[_Share], dated: set[int], similar: Similar
) -> Iterator[tuple[float, float, str, int]]:
    """Each candidate's negative score, negative time, place and id."""
    top = max(scores.values(), default=1.0)
    own = {one: score / top for one, score in scores.items()}
    best: dict[int, float] = {}
    for one, score in own.items():
        best[one >> SOURCE] = max(score, best.get(one >> SOURCE, 0.0))
    talks = Counter(source for source, _ in {(row.id >> SOURCE, row.role) for row in rows})
    questions = {row.id for row in rows if row.asks}
    for one, place, kind, at, _, length, asks in rows:
        near = similar.of.get(one, 0.0)
        # A turn can answer without any word of the question. A line or fact cannot, and the hit next to it shows it.
        if one not in own and not near and kind != records.TURN:
            continue
        weight = _ALONE if kind == records.TURN and talks[one >> SOURCE] == 1 else WEIGHTS[kind]
        score = (
            weight.own * own.get(one, 0.0)
            + weight.before * own.get(one - 1, 0.0) * (1.0 if one - 1 in questions else 0.5)
            + weight.around * sum(own.get(one + offset, 0.0) for offset in (-2, 1, 2)) / 3
            + weight.source * best.get(one >> SOURCE, 0.0)
            + weight.words * sum(share for share, having in shares if one in having)
            + weight.near * sum(share for share, having in shares if not having.isdisjoint((one - 1, one, one + 1)))
            + weight.asks * asks
            + weight.length * math.log1p(length) / 5
            + weight.dated * (one in dated)
            + similar.weight * near
        )
        yield -score / (sum(filter(lambda one: one > 0, weight)) + similar.weight), -at, place, one
