"""Rank the matches: an entry's best passage, its part of the question, its surroundings and its role.

The weights are in weights.json, fitted by benchmarks/recall/fit.py.
"""

from __future__ import annotations

import json
import math
import os
import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import cache
from heapq import nlargest
from itertools import islice
from typing import Final, NamedTuple

from holdfast_app.search import KINDS, dates, records, words
from holdfast_app.search.index import PASSAGE, SOURCE

#: Number of entries ranked for their words, and the neighbours of each on both sides.
_CANDIDATES, _AROUND = 60, 2
#: Number of entries ranked for their vectors.
_NEAREST: Final = 50
#: Features of a turn's surroundings. They do not count in a session with one speaker, where no turn answers another.
_OF_TALKS: Final = ("before", "after", "around", "source", "near")


class Ranked(NamedTuple):
    """A found entry: its id in the index, its place in its source, and its score, at most 1."""

    id: int
    place: str
    score: float


class Similar(NamedTuple):
    """Vector similarity to the question, from 0 (the median) to 1, nearest first, and its weight among the features."""

    of: Mapping[int, float]
    weight: float


NOTHING_SIMILAR: Final = Similar({}, 0.0)


class Row(NamedTuple):
    """A candidate or a neighbour of one."""

    id: int
    place: str
    kind: str
    at: float
    role: str
    length: int
    asks: bool


class _Matches(NamedTuple):
    """Of each matching entry the BM25 score, as a share of the best one's, and the words of the question in its best
    passage as bits. ``weights`` are the words' shares of the question, the rare ones counting more."""

    score: Mapping[int, float]
    words: Mapping[int, int]
    weights: list[float]

    def share(self, bits: int) -> float:
        return sum(weight for n, weight in enumerate(self.weights) if bits >> n & 1)


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

    ``where`` is a condition on the table ``entry`` with the values ``given``. Days in the question are seen from
    ``now``; without it they do not count. ``similar`` is from vectors. Without ``by_words``, only ``similar`` finds
    candidates.
    """
    matches = _matches(db, words.asked(question), where, given)
    if not matches.score and (by_words or not similar.of):
        return []
    best = nlargest(_CANDIDATES, matches.score, key=matches.score.__getitem__)
    wanted = {one + offset for one in (*best, *islice(similar.of, _NEAREST)) for offset in range(-_AROUND, _AROUND + 1)}
    rows = {
        row[0]: Row(*row)
        for row in db.execute(
            "SELECT id, place, kind, at, role, length, asks FROM entry "  # noqa: S608 - conditions of ours
            f"WHERE id IN ({','.join(map(str, wanted))}) {f'AND ({where})' if where else ''}",
            given,
        )
    }
    dated = _dated(question, rows, now) if now else set()
    found = []
    for row, values in features(rows, matches, dated):
        weights, near = _weights()[row.kind], similar.of.get(row.id, 0.0)
        # A turn can answer without any word of the question. A line or fact cannot, and the hit next to it shows it.
        if row.kind == records.TURN or row.id in matches.score or near:
            score = sum(weights.get(name, 0.0) * value for name, value in values.items()) + similar.weight * near
            most = sum(weight for weight in weights.values() if weight > 0) + similar.weight
            found.append((-score / most, -row.at, row.place, row.id))
    return [Ranked(one, place, -worse) for worse, _, place, one in sorted(found)]


@cache
def _weights() -> dict[str, dict[str, float]]:
    """Of each kind the features' weights."""
    with open(os.path.join(os.path.dirname(__file__), "weights.json"), encoding="utf-8") as file:  # costs no import
        table = json.load(file)
    return {kind: table.get(kind, table["line"]) for kind in KINDS}


def _matches(db: sqlite3.Connection, asked: list[str], where: str, given: tuple[object, ...]) -> _Matches:
    condition = f"AND rowid >> {PASSAGE} IN (SELECT id FROM entry WHERE {where})" if where else ""  # noqa: S608
    read = f"SELECT rowid, -bm25(text, 1.0, 1.0, 0.6) FROM text WHERE text MATCH ? {condition}"  # noqa: S608
    (total,) = db.execute("SELECT count(*) FROM entry").fetchone()
    scores: dict[int, float] = defaultdict(float)
    bits: dict[int, int] = defaultdict(int)
    weights = []
    for number, word in enumerate(asked):
        rows = db.execute(read, (words.quoted(word), *given)).fetchall()
        weights.append(math.log((total + 1) / (len(rows) + 0.5)))
        for passage, score in rows:
            scores[passage] += score
            bits[passage] |= 1 << number
    best: dict[int, float] = {}
    words_of: dict[int, int] = {}
    for passage, score in scores.items():
        one = passage >> PASSAGE
        if score > best.get(one, 0.0):
            best[one], words_of[one] = score, bits[passage]
    top, whole = max(best.values(), default=1.0), sum(weights) or 1.0
    return _Matches({one: score / top for one, score in best.items()}, words_of, [one / whole for one in weights])


def _dated(question: str, rows: Mapping[int, Row], now: datetime) -> set[int]:
    """The entries from the days that the question names."""
    newest = max((row.at for row in rows.values()), default=0.0)
    spans = dates.spans(question, now, min(now, dates.local(newest, now.tzinfo)))
    within = [(span.start.timestamp(), span.end.timestamp()) for span in spans]
    return {row.id for row in rows.values() if any(start <= row.at < end for start, end in within)}


def features(rows: Mapping[int, Row], matches: _Matches, dated: set[int]) -> Iterator[tuple[Row, dict[str, float]]]:
    """Each candidate with its features, between 0 and about 1."""
    own, bits = matches.score.get, matches.words.get
    best: dict[int, float] = {}
    for one, score in matches.score.items():
        best[one >> SOURCE] = max(score, best.get(one >> SOURCE, 0.0))
    roles = defaultdict(set)
    lengths = defaultdict(list)
    for row in rows.values():
        roles[row.id >> SOURCE].add(row.role)
        lengths[row.role == "user"].append(row.length)
    mean = {user: sum(found) / len(found) for user, found in lengths.items()}
    lectures = min(1.0, max(0.0, math.log(mean.get(False, 1) / mean.get(True, mean.get(False, 1)) + 1e-9)))
    oldest, newest = min(row.at for row in rows.values()), max(row.at for row in rows.values())
    for one, row in rows.items():
        previous = rows.get(one - 1)
        values = {
            "own": own(one, 0.0),
            "words": matches.share(bits(one, 0)),
            "length": math.log1p(row.length) / 7,
            "asks": float(row.asks),
            "dated": float(one in dated),
            "user": lectures * (row.role == "user"),
            "recent": (row.at - oldest) / (newest - oldest + 1),
            "passages": math.log1p(row.length / 700),
        }
        if row.kind != records.TURN or len(roles[one >> SOURCE]) > 1:
            values |= {
                "answers": own(one - 1, 0.0) * (previous is not None and bool(previous.asks)),
                "before": own(one - 1, 0.0),
                "after": own(one + 1, 0.0),
                "around": (own(one - 2, 0.0) + own(one + 2, 0.0)) / 2,
                "source": best.get(one >> SOURCE, 0.0),
                "near": matches.share(bits(one - 1, 0) | bits(one, 0) | bits(one + 1, 0)),
            }
        yield row, values
