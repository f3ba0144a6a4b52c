"""Rank the matches by an entry's best passage, its share of the question, its surroundings and its length.

The weights are in weights.json. Those of turns are fitted by benchmarks/recall/fit.py.
"""

from __future__ import annotations

import json
import math
import os
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import islice
from operator import mul
from typing import Final, NamedTuple

from holdfast_app.search import KINDS, records, words
from holdfast_app.search.index import PASSAGE, SOURCE, Entry, entries, listed, size

#: Number of entries ranked for their words, and their neighbours on both sides.
_CANDIDATES, _AROUND = 60, 2
#: Matching passages whose scores are compared.
_MATCHES: Final = 2_000
#: Number of entries ranked for their vectors.
_NEAREST: Final = 50


class Features(NamedTuple):
    """Each is between 0 and about 1. Where answers are much longer than the user's turns, a long answer repeats the
    question: there ``near``, ``answers``, ``around``, ``length`` and ``asks`` fade; ``reply``, ``rule`` and ``user``
    count."""

    own: float  # BM25 of the best passage, relative to the best of all
    words: float  # share of the question's words in that passage, the rare ones counting more
    near: float  # the same, in the entry's passages and those next to it
    answers: float  # BM25 of the turn before, when that asks something
    around: float  # mean BM25 of the second before and the second after
    reply: float  # BM25 of the answer to this user's turn
    source: float  # BM25 of the session's or document's entry whose worst matching passage is the best
    topic: float  # share of the question's words in the session's or document's matches
    length: float  # logarithm of the length
    asks: float  # is a question itself
    rule: float  # a user's order or preference, where the question asks for advice: they share few words
    passages: float  # logarithm of the number of passages, each of which could match by chance
    speaker: float  # the question names this speaker: 1; another one: -1
    dated: float  # names a time or a number, where the question asks when
    user: float  # BM25 of a user's turn


class Ranked(NamedTuple):
    """A found entry: its id in the index, and its score, at most 1."""

    id: int
    score: float


class Similar(NamedTuple):
    """Vector similarity to the question, from 0 (the median) to 1, nearest first, and its weight among the features."""

    of: Mapping[int, float]
    weight: float


NOTHING_SIMILAR: Final = Similar({}, 0.0)


class Matches:
    """Of the best matching entries the BM25 score of their best passage, as a share of the best one's, in the order of
    their worst ones. SQLite scores and counts the matches of a hundred thousand turns; few become Python objects."""

    def __init__(self, db: sqlite3.Connection, question: str, where: str = "") -> None:
        self._db, self.asked = db, words.asked(question)
        self.advice, self.when = words.advice(question), words.WHEN.search(question) is not None
        entry = f"SELECT 1 FROM entry WHERE id = text.rowid >> {PASSAGE} AND {where}"  # noqa: S608
        self._where = f"AND EXISTS ({entry})" if where else ""
        rows = db.execute(
            "SELECT rowid, -bm25(text) AS score FROM text WHERE text MATCH ? "  # noqa: S608
            f"{self._where} ORDER BY score DESC LIMIT {_MATCHES}",
            (" OR ".join(map(words.quoted, self.asked)),),
        ).fetchall()
        self._best = {passage >> PASSAGE: passage for passage, _ in reversed(rows)}
        self.score = {passage >> PASSAGE: score / rows[0][1] for passage, score in reversed(rows)}

    def shares(self, ids: Iterable[int]) -> tuple[Mapping[int, int], Callable[[int], float]]:
        """Of the entries ``ids`` and their sources, which of the question's words are in the entry's best passage, or
        in the source, as bits; and a function from such bits to their share, the rare words counting more."""
        passages = {self._best[entry_id] for entry_id in ids if entry_id in self._best}
        sources = listed({passage >> SOURCE + PASSAGE for passage in passages})
        read = (
            f"SELECT count(*), group_concat(CASE WHEN rowid >> {SOURCE + PASSAGE} IN ({sources}) THEN rowid END) "  # noqa: S608
            f"FROM text WHERE text MATCH ? {self._where}"
        )
        total, weights = size(self._db), []
        held: dict[int, int] = defaultdict(int)
        for number, word in enumerate(self.asked):
            count, rowids = self._db.execute(read, (words.quoted(word),)).fetchone()
            weights.append(math.log((total + 1) / (count + 0.5)))
            for passage in map(int, rowids.split(",") if rowids else ()):
                held[passage >> SOURCE + PASSAGE] |= 1 << number
                if passage in passages:
                    held[passage >> PASSAGE] |= 1 << number
        whole = sum(weights) or 1.0
        return held, cache(lambda bits: sum(weight for n, weight in enumerate(weights) if bits >> n & 1) / whole)


def rank(
    db: sqlite3.Connection, question: str, *, where: str = "", similar: Similar = NOTHING_SIMILAR, by_words: bool = True
) -> list[Ranked]:
    """Possible answers, best first; of equals the newest, then by place.

    ``where`` is a condition on the table ``entry``. ``similar`` is from vectors. Without ``by_words``, only ``similar``
    finds candidates.
    """
    matches = Matches(db, question, where)
    if not matches.score and (by_words or not similar.of):
        return []
    scored = []
    for row, values in candidates(db, matches, where, similar):
        (weights, most), near = _weights()[row.kind], similar.of.get(row.id, 0.0)
        # A speaker's turn can answer a question of several words without any of them. A line, a fact or a tool's output
        # cannot, and the hit next to it shows it.
        is_answer = row.kind == records.TURN and row.role != "tool" and len(matches.asked) > 1
        if is_answer or row.id in matches.score or near:
            score = sum(map(mul, weights, values)) + similar.weight * near
            scored.append((-score / (most + similar.weight), -row.at, row.place, row.id))
    return [Ranked(entry_id, -worse) for worse, _, _, entry_id in sorted(scored)]


@cache
def _weights() -> dict[str, tuple[Features, float]]:
    """Of each kind the features' weights, and the sum of the positive ones."""
    with open(os.path.join(os.path.dirname(__file__), "weights.json"), encoding="utf-8") as file:  # costs no import
        table = json.load(file)
    none = dict.fromkeys(Features._fields, 0.0)
    of_kind = {kind: Features(**{**none, **table.get(kind, table["line"])}) for kind in KINDS}
    return {kind: (weights, sum(weight for weight in weights if weight > 0)) for kind, weights in of_kind.items()}


def candidates(
    db: sqlite3.Connection, matches: Matches, where: str = "", similar: Similar = NOTHING_SIMILAR
) -> Iterator[tuple[Entry, Features]]:
    """The best matches and their neighbours, and the best rules for advice, with their features."""
    best = sorted(matches.score, key=matches.score.__getitem__, reverse=True)
    near = (*best[:_CANDIDATES], *islice(similar.of, _NEAREST))
    wanted = {entry_id + offset for entry_id in near for offset in range(-_AROUND, _AROUND + 1)}
    if matches.advice:
        rules = {entry_id for (entry_id,) in db.execute("SELECT id FROM entry WHERE rule")}
        wanted.update([entry_id for entry_id in best if entry_id in rules][:_CANDIDATES])
    return _features(entries(db, wanted, where), matches, *matches.shares(wanted))


def _features(
    rows: Mapping[int, Entry], matches: Matches, held: Mapping[int, int], share: Callable[[int], float]
) -> Iterator[tuple[Entry, Features]]:
    own, bits = matches.score.get, held.get
    best = {entry_id >> SOURCE: score for entry_id, score in matches.score.items()}
    roles = Counter(source for source, _ in {(entry_id >> SOURCE, row.role) for entry_id, row in rows.items()})
    user = [row.length for row in rows.values() if row.kind == records.TURN and row.role == "user"]
    other = [row.length for row in rows.values() if row.kind == records.TURN and row.role != "user"]
    lectures = 0.0  # how much longer than the user's turns the other turns are, from 0 to 1
    if user and other:
        lectures = min(1.0, max(0.0, math.log(sum(other) * len(user) / (sum(user) * len(other)))))
    named = {row.speaker for row in rows.values() if row.speaker in matches.asked}
    for entry_id, row in rows.items():
        source, here, length = entry_id >> SOURCE, own(entry_id, 0.0), row.length
        near = (0.0,) * 6
        fading = 1.0 - lectures if row.kind == records.TURN else 1.0
        if row.kind != records.TURN or roles[source] > 1:
            previous, following = own(entry_id - 1, 0.0), own(entry_id + 1, 0.0)
            near = (
                fading * share(bits(entry_id - 1, 0) | bits(entry_id, 0) | bits(entry_id + 1, 0)),
                fading * previous if previous and entry_id - 1 in rows and rows[entry_id - 1].asks else 0.0,
                fading * (own(entry_id - 2, 0.0) + own(entry_id + 2, 0.0)) / 2,
                lectures * following if row.role == "user" else 0.0,
                best.get(source, 0.0),
                share(bits(source, 0)),
            )
        features = (
            here,
            share(bits(entry_id, 0)),
            *near,
            fading * math.log1p(length) / 7,
            fading * row.asks,
            lectures * row.rule * matches.advice,
            math.log1p(length / 700),
            (1.0 if row.speaker in named else -1.0) if named and row.speaker else 0.0,
            float(row.dated and matches.when),
            lectures * here if row.role == "user" else 0.0,
        )
        yield row, Features(*features)
