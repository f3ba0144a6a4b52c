"""Rank the matches with a linear model over the BM25 scores of each candidate and its neighbours.

The weights of turns were fitted on conversations 1 to 5 of LoCoMo (benchmarks/recall). The features of neighbours
and speakers suit two people who talk, so other kinds of text have weights of their own.
"""

from __future__ import annotations

import math
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import islice
from typing import Final, NamedTuple

from holdfast_app.search import dates, texts, words
from holdfast_app.search.index import NUMBER, QUESTION, SELF, SOURCE, TIME, size

#: Number of candidates with a BM25 score, how many of them are ranked, and their neighbours on each side.
_SCORED, _CANDIDATES, _AROUND = 400, 100, 2
#: Number of candidates ranked because of their vectors.
_NEAREST: Final = 50
#: Share of the vectors' weight that counts for the text around a candidate, where BM25 counts 1.
_SPREAD: Final = 0.2
#: The same in a large index. On LoCoMo 1 to 5 in one project, 40 instead of 30 ranked candidates gained .004.
_SCORED_OF_MANY, _CANDIDATES_OF_MANY = 200, 30
#: From this many entries on, common words are left out and fewer candidates are ranked.
_MANY: Final = 5_000
#: A word is informative when fewer than a tenth of the entries have it. The two rarest words are always searched.
_INFORMATIVE: Final = math.log(10)
_KEPT: Final = 2
#: BM25 weights for the two columns, the words and the date in words.
_BODY, _DATED = 1.0, 0.6


class Features(NamedTuple):
    """The features' weights. Each feature is between 0 and about 1, except ``speaker``, which is -1, 0 or 1."""

    own: float = 0.0  # BM25, relative to the best text
    before: float = 0.0  # BM25 of the turn before: all of it when that one asks something, else 0.4 of it
    around: float = 0.0  # mean BM25 of two before, one and two after
    source: float = 0.0  # best BM25 of the session or document
    words: float = 0.0  # share of the question's words in the text, the rare ones counting more
    near: float = 0.0  # the same, in the text and those next to it
    wide: float = 0.0  # the same, in the text and three on each side
    first: float = 0.0  # begins its session
    speaker: float = 0.0  # the question names the speaker, or another one
    length: float = 0.0  # logarithm of the length
    question: float = 0.0  # is a question itself
    self: float = 0.0  # first person
    time: float = 0.0  # the question asks when, and the text mentions a time
    number: float = 0.0  # the question asks how many or how long, and the text has a number
    dated: float = 0.0  # from the days that the question names, or mentions them


_TURN: Final = Features(
    own=2.0, before=2.0, around=2.3, source=2.9, words=1.5, near=2.0, wide=1.4, first=0.9, speaker=0.5, length=2.25,
    question=-0.8, self=0.5, time=1.6, number=1.6, dated=2.1,
)  # fmt: skip
#: For a session with one speaker, where a turn does not answer the previous one. Compared on a fifth of MemDaily.
_ALONE: Final = _TURN._replace(before=0.0, around=0.0, source=0.0, wide=0.0, first=0.0)
_LINE: Final = Features(own=4.0, around=0.5, source=1.0, words=4.0, near=0.5, length=0.5, time=0.5, dated=1.5)
_FACT: Final = Features(own=4.0, words=4.0, length=0.5, time=0.5, dated=0.5)
WEIGHTS: Final[Mapping[str, Features]] = {
    texts.TURN: _TURN, texts.NOTE: _LINE, texts.DECISION: _LINE, texts.MEMORY: _LINE, texts.DOCUMENT: _LINE,
    texts.FACT: _FACT,
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


#: A row of the table ``text``: id, place, kind, at, speaker, marks, size, stems.
_Row = tuple[int, str, str, float, str, int, int, str]


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
    """Possible answers, best first.

    ``where`` is a condition on the table ``text`` with the values ``given``. Days in the question are seen from
    ``now``; without it they do not count. ``similar`` is from vectors. Without ``by_words``, only ``similar`` finds
    candidates.
    """
    asked = words.asked(question)
    total = size(db)
    weights = _idf(db, asked, total)
    many = total >= _MANY
    searched = _informative(asked, weights) if many else asked
    scores = _scores(db, searched, where, given, _SCORED_OF_MANY if many else _SCORED)
    if not scores and (by_words or not similar.of):
        return []
    most = _CANDIDATES_OF_MANY if many else _CANDIDATES
    chosen = [one for one, _ in scores[:most]] + list(islice(similar.of, _NEAREST))
    rows = _with_neighbours(db, chosen, where, given)
    if not {one for one, _ in scores[:most]} <= {row[0] for row in rows}:
        raise sqlite3.DatabaseError("entries are missing")  # a damaged file, which is then rebuilt
    # Newest first for equal scores. Ids depend on the order of reading, which differs in a rebuilt index.
    dated = _dated(db, question, rows, now) if now else {}
    ranked = sorted(_ranked(question, rows, dict(scores), weights, dated, similar))
    return [Ranked(one, place, -worse) for worse, _, place, one in ranked]


#: Key in :data:`_WEIGHED` for a turn in a session with one speaker.
_ONE_SPEAKER: Final = "alone"
#: For each kind its weights and the sum of the positive ones, which is the highest score.
_WEIGHED: Final = {
    kind: (weights, sum(one for one in weights if one > 0))
    for kind, weights in {**WEIGHTS, _ONE_SPEAKER: _ALONE}.items()
}
#: Mask for the id bits that are zero in a source's first entry.
_FIRST: Final = (1 << SOURCE) - 1


def _idf(db: sqlite3.Connection, asked: list[str], total: int) -> dict[str, float]:
    """Each word's inverse document frequency among ``total`` entries, taken from its rarest token."""
    terms = words.terms(db, asked)
    return {
        word: math.log((total + 1) / (min((count for _, count in terms.get(word, ())), default=0) + 0.5))
        for word in asked
    }


def _scores(
    db: sqlite3.Connection, searched: list[str], where: str, given: tuple[object, ...], most: int
) -> list[tuple[int, float]]:
    """The ``most`` best matches by BM25 and their scores, best first."""
    table = f"found JOIN text ON text.id = found.rowid AND ({where})" if where else "found"
    query = " OR ".join(map(words.quoted, searched))
    found: list[tuple[int, float]] = db.execute(
        f"SELECT found.rowid, -bm25(found, {_BODY}, {_DATED}) FROM {table} "  # noqa: S608 - conditions of ours
        "WHERE found MATCH ? ORDER BY 2 DESC LIMIT ?",
        (*given, query, most),
    ).fetchall()
    return found


def _informative(asked: list[str], weights: dict[str, float]) -> list[str]:
    """``asked`` without common words, which cost the most time and rank the least. The two rarest always stay."""
    by_weight = sorted(asked, key=lambda word: -weights[word])
    return [word for number, word in enumerate(by_weight) if number < _KEPT or weights[word] > _INFORMATIVE]


def _with_neighbours(db: sqlite3.Connection, ids: list[int], where: str, given: tuple[object, ...]) -> list[_Row]:
    """The candidates and their neighbours in the same source, by source and order."""
    wanted = {one + offset for one in ids for offset in range(-_AROUND, _AROUND + 1)}
    marks = ",".join("?" * len(wanted))
    condition = f"AND ({where})" if where else ""
    rows: list[_Row] = db.execute(
        "SELECT id, place, kind, at, speaker, marks, size, stems FROM text "  # noqa: S608 - conditions of ours
        f"WHERE id IN ({marks}) {condition} ORDER BY id",
        (*wanted, *given),
    ).fetchall()
    return rows


def _dated(db: sqlite3.Connection, question: str, rows: list[_Row], now: datetime) -> dict[int, float]:
    """The entries from the days that the question names, or that mention such days, with their share in them."""
    newest = max(row[3] for row in rows)
    named = dates.spans(question, now, min(now, dates.local(newest, now.tzinfo)))
    if not named:
        return {}
    within = [(span.start.timestamp(), span.end.timestamp()) for span in named]
    found = {row[0]: 1.0 for row in rows if any(start <= row[3] < end for start, end in within)}
    at_of = {row[0]: row[3] for row in rows if row[3] and row[5] & TIME and row[0] not in found}
    marks = ",".join("?" * len(at_of))
    for one, body in db.execute(f"SELECT id, body FROM text WHERE id IN ({marks})", tuple(at_of)):  # noqa: S608
        if share := dates.share(dates.spans(body, dates.local(at_of[one], now.tzinfo)), named):
            found[one] = share
    return found


def _ranked(
    question: str,
    rows: list[_Row],
    scores: dict[int, float],
    weights: dict[str, float],
    dated: dict[int, float],
    similar: Similar,
) -> Iterator[tuple[float, float, str, int]]:
    """Each candidate's negative score, negative time, place and id.

    This runs for some 200 candidates in each search, so it makes few calls.
    """
    top = max(scores.values(), default=1.0)
    own = {one: score / top for one, score in scores.items()}
    level = _level(own, similar)
    best: dict[int, float] = {}
    for one, score in level.items():
        if score > best.get(one >> SOURCE, 0.0):
            best[one >> SOURCE] = score
    shares = _Shares(weights)
    bits = {row[0]: shares.bits(row[7]) for row in rows}
    have, level_of, near_of = bits.get, level.get, similar.of.get
    talks = {(row[0] >> SOURCE, row[4]) for row in rows}
    alone = {source for source, speakers in Counter(source for source, _ in talks).items() if speakers == 1}
    questions = {row[0] for row in rows if row[5] & QUESTION}
    named = {speaker for speaker in {speaker for _, speaker in talks} if words.names(question, speaker)}
    when, count = TIME * words.asks_when(question), NUMBER * words.asks_number(question)

    for one, place, kind, at, speaker, marks, length, _ in rows:
        mine = own.get(one, 0.0)
        # A turn can answer without any word of the question. A line or fact cannot, and the hit next to it shows it.
        near = near_of(one, 0.0)
        if not mine and not near and kind != texts.TURN:
            continue
        source = one >> SOURCE
        weight, total = _WEIGHED[_ONE_SPEAKER if source in alone and kind == texts.TURN else kind]
        next_to = bits[one] | have(one - 1, 0) | have(one + 1, 0)
        wide = next_to | have(one - 3, 0) | have(one - 2, 0) | have(one + 2, 0) | have(one + 3, 0)
        score = (
            weight.own * mine
            + weight.before * level_of(one - 1, 0.0) * (1.0 if one - 1 in questions else 0.4)
            + weight.around * (level_of(one - 2, 0.0) + level_of(one + 1, 0.0) + level_of(one + 2, 0.0)) / 3
            + weight.source * best.get(source, 0.0)
            + weight.words * shares[bits[one]]
            + weight.near * shares[next_to]
            + weight.wide * shares[wide]
            + weight.length * math.log1p(length) / 5
        )
        if not one & _FIRST:
            score += weight.first
        if named:
            score += weight.speaker if speaker in named else -weight.speaker
        if marks & QUESTION:
            score += weight.question
        if marks & SELF:
            score += weight.self
        if marks & when:
            score += weight.time
        if marks & count:
            score += weight.number
        if dated:
            score += weight.dated * dated.get(one, 0.0)
        yield -(score + similar.weight * near) / (total + similar.weight), -at, place, one


def _level(own: dict[int, float], similar: Similar) -> Mapping[int, float]:
    """How well the text around a candidate matches, by BM25, and with vectors a mean of it and the similarity."""
    if not similar.of:
        return own
    share = similar.weight * _SPREAD
    return {
        one: (own.get(one, 0.0) + share * similar.of.get(one, 0.0)) / (1 + share)
        for one in own.keys() | similar.of.keys()
    }


class _Shares(dict[int, float]):
    """The weighted share of the question's words, from 0 to 1, by the words' bits. Rare words count more."""

    def __init__(self, weights: dict[str, float]) -> None:
        super().__init__()
        by_stem = {words.stem(word): (word, weight) for word, weight in weights.items() if weight > 0}
        self._stems = [
            (f" {stem}", 1 << number)
            for number, (word, _) in enumerate(by_stem.values())
            for stem in words.stems_of(word)
        ]
        self._weights = [weight for _, weight in by_stem.values()]
        self._total = sum(self._weights) or 1.0

    def bits(self, stems: str) -> int:
        """The question's words that are among ``stems``, a bit for each."""
        found = 0
        for stem, bit in self._stems:
            if stem in stems:
                found |= bit
        return found

    def __missing__(self, bits: int) -> float:
        weight = sum(one for number, one in enumerate(self._weights) if bits >> number & 1)
        self[bits] = share = weight / self._total
        return share
