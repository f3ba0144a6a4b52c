"""A question to hits: ``memory.search()``."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from holdfast import Holdfast
from holdfast.clock import must_be_moment
from holdfast.errors import BadValue, HoldfastError, must_be, must_be_whole
from holdfast.journal.journal import file_stem
from holdfast.text.humanize import count
from holdfast_app import background
from holdfast_app.project_settings import resolved
from holdfast_app.search import KINDS, answer, dates, index, rank, records, vectors, words
from holdfast_app.search.answer import Asked
from holdfast_app.search.hits import Hits, SearchHit, excerpts, of_entries, served
from holdfast_app.search.rank import Ranked
from holdfast_app.sessions import lookup
from holdfast_app.trust import provenance
from holdfast_app.trust.seen import projects

#: Entries looked through for repeated sentences, for each hit.
_REPEATED: Final = 4
#: Maximum question length, in characters. A pasted page's rest adds nothing.
_QUESTION: Final = 2_000
_CUT: Final = f"Only the first {_QUESTION:,} characters of the question were searched."


def search(
    memory: Holdfast,
    question: str,
    *,
    limit: int = 10,
    kinds: Iterable[str] = (),
    session: str = "",
    since: datetime | str | None = None,
    until: datetime | str | None = None,
) -> Hits:
    """Possible answers to ``question``, best first, and the search's extent.

    ``question`` is words or a sentence, in any language. ``kinds``: :data:`holdfast_app.search.KINDS` (none: all).
    ``since`` (inclusive) and ``until`` (exclusive) are aware times, spans like ``3d``, or dates; either leaves out
    undated content. Without them, the days that the question names narrow the search.
    Raises: BadValue for unusable arguments; NotFound for an unknown session; Unavailable.
    """
    must_be(Iterable, kinds, "kinds")
    chosen = tuple(kinds)
    must_be_whole(limit, "limit", 1)
    must_be(str, session, "session")
    session = lookup.resolve(memory, session) if session else ""
    if unknown := [kind for kind in chosen if kind not in KINDS]:
        raise BadValue("kinds", f"{unknown[0]!r} is not one of {', '.join(KINDS)}")
    question = " ".join(question.split()) if isinstance(question, str) else ""
    asked = question[:_QUESTION]
    if not words.asked(asked):
        raise BadValue("question", "contains no word to search", next_step="Give one or more, like `certificate`.")
    now = memory.services.now()
    first, end = _moment("since", since, now), _moment("until", until, now)

    def answered(open_index: index.Index) -> Hits:
        ask = _Search(memory, open_index.db, chosen, session, limit)
        span, rest = (None, asked) if first or end else dates.narrowed(asked, now, partial(ask.latest, now))
        hits = ask.answer(rest, *(span or (first, end)), any_word=span is not None)
        outside = span is not None and not hits
        if outside:
            hits = ask.answer(asked, None, None)
        left = count(open_index.left, "older source")
        if open_index.left:
            background.start(memory.services.root, *background.INDEX)
        store = memory.store
        withheld = "" if hits else provenance.sentence(store.withheld(), facts=len(store.withheld_facts()))
        warnings = (
            ask.warning,
            f"{withheld} {provenance.NEXT_STEP}" if withheld else "",
            _CUT if len(question) > _QUESTION else "",
            f"The index is being built: {left} not searched yet." if open_index.left else "",
        )
        return Hits(
            hits,
            entries=open_index.texts,
            unread=open_index.unread,
            corrected=hits[0].corrected if hits else "",
            warning=" ".join(filter(None, warnings)),
            days=span.shown(now) if span else "",
            outside=outside,
        )

    return index.search(memory, answered, index.MOST)


class _Search:
    """One question to the open index ``db``."""

    def __init__(
        self, memory: Holdfast, db: sqlite3.Connection, kinds: tuple[str, ...], session: str, limit: int
    ) -> None:
        self._memory, self._db, self._kinds, self._session, self._limit = memory, db, kinds, session, limit
        self.warning = ""

    def answer(
        self, question: str, first: datetime | None, end: datetime | None, *, any_word: bool = False
    ) -> list[SearchHit]:
        """These days' hits. Without a word in common, those of the kind asked for, or all with ``any_word``."""
        wanted = answer.asked(question)
        where = self._where(first, end)
        by_kind, corrected = self._of_kind(wanted, where), ""
        ranked = []
        if wanted.content or not wanted.kinds:
            near, self.warning = vectors.similar(self._memory, self._db, question)
            ranking = partial(rank.rank, self._db, where=where, similar=near)
            ranked = ranking(question) if wanted.content or not any_word else []
            if not ranked and not by_kind and not any_word:
                texts = (text for (text,) in self._db.execute("SELECT body FROM text"))
                corrected = self._memory.services.gate.outgoing(words.corrected(texts, question), surface="journal")
                ranked = ranking(corrected) if corrected else ranking(question, by_words=False)
        if not ranked and wanted.cues:
            ranked = rank.rank(self._db, wanted.cues, where=where)
        if not ranked and any_word and not wanted.content:
            ranked = self._newest(where)
        question, twice = corrected or question, {entry.id for entry in by_kind}
        best = [*by_kind, *(entry for entry in ranked[: self._limit * _REPEATED] if entry.id not in twice)]
        hits = of_entries(self._memory, self._db, best)
        ids = {hit.where: entry.id for hit, entry in zip(hits, best, strict=True)}
        if not self._session:
            others = served(self._memory, question, self._limit, self._kinds, first, end)
            hits = sorted([*hits, *others], key=lambda hit: -hit.score) if others else hits
        arranged = answer.arranged(hits, len(by_kind), wanted, self._limit)
        shown = answer.replaced(excerpts(self._memory, self._db, arranged, ids, question))
        return [hit._replace(corrected=corrected) for hit in shown]

    def latest(self, now: datetime) -> datetime:
        """The time of the newest entry, at most ``now``."""
        (newest,) = self._db.execute("SELECT max(at) FROM entry").fetchone()
        return min(now, datetime.fromtimestamp(newest or 0.0, UTC).astimezone(now.tzinfo))

    def _where(self, first: datetime | None, end: datetime | None) -> str:
        """An SQL condition on the table ``entry``, empty for all of it. It has numbers and known words only."""
        conditions = [f"entry.kind IN ({_listed(self._kinds)})"] if self._kinds else []
        if self._session:
            name = f"{file_stem(self._session)}.jsonl"
            rows = self._db.execute("SELECT id FROM source WHERE kind = ? AND name = ?", (records.TURN, name))
            conditions.append(f"entry.id >> {index.SOURCE} = {(rows.fetchone() or [-1])[0]}")
        if first is not None:
            # A line of a document is dated by the day's beginning and can be from any time of it.
            is_line = f"(entry.kind NOT IN ('{records.TURN}', '{records.FACT}'))"
            latest = f"entry.at + {records.REST_OF_DAY_S} * {is_line}"
            conditions.append(f"entry.at > 0 AND {latest} >= {first.timestamp()}")
        if end is not None:
            conditions.append(f"entry.at > 0 AND entry.at < {end.timestamp()}")
        return " AND ".join(conditions)

    def _of_kind(self, wanted: Asked, where: str) -> list[Ranked]:
        """Entries of the kinds in the question, those with its other words first."""
        if not (wanted.kinds or wanted.categories) or self._kinds:
            return []
        is_fact = f"entry.kind = '{records.FACT}' AND entry.role IN ({_listed(wanted.categories)})"
        of_kind = f"(entry.kind IN ({_listed(wanted.kinds)}) OR {is_fact})"
        both = " AND ".join(filter(None, (of_kind, where)))
        ranked = rank.rank(self._db, wanted.content, where=both) if wanted.content else []
        if wanted.content and not wanted.all:
            return ranked
        known = {entry.id for entry in ranked}
        return ranked + [entry for entry in self._newest(both) if entry.id not in known]

    def _newest(self, where: str) -> list[Ranked]:
        """The newest words and decisions of the user."""
        rows = self._db.execute(
            f"SELECT id FROM entry WHERE {where} AND (kind NOT IN (?, ?, ?) OR role = 'user') "  # noqa: S608
            "ORDER BY kind = ?, at DESC, id LIMIT ?",
            (records.TURN, records.NOTE, records.DOCUMENT, records.TURN, self._limit * _REPEATED),
        )
        return [Ranked(entry_id, 0.0) for (entry_id,) in rows]


def _listed(known_words: Iterable[str]) -> str:
    return ", ".join(f"'{word}'" for word in known_words)


def _moment(name: str, value: datetime | str | None, now: datetime) -> datetime | None:
    if value is None:
        return None
    if not isinstance(value, str):
        must_be_moment(value, name)
        return value
    try:
        return dates.moment(value, now)
    except (ValueError, OverflowError):
        raise BadValue(name, "is not a span or a date", next_step="Write it like `3d` or `2026-11-02`.") from None


# all projects


def everywhere(memory: Holdfast, question: str, *, limit: int, **options: Any) -> Hits:
    """The hits of all projects, each with its folder, those that hold now first. A project with settings that this user
    does not trust, or that cannot be read, is named in the warning."""
    own = os.path.realpath(memory.services.root)
    answers: dict[str, Hits] = {own: memory.search(question, limit=limit, **options)}
    left = []
    for root in projects():
        try:
            if root != own and resolved.resolve(root).withheld:
                left.append(f"{root} (its settings are not trusted)")
            elif root != own:
                with type(memory).open(root) as other:
                    answers[root] = other.search(question, limit=limit, **options)
        except HoldfastError as error:
            left.append(f"{root} ({error.message})")
    inside = {root: hits for root, hits in answers.items() if hits and not hits.outside} or answers
    inside = {root: hits for root, hits in inside.items() if not hits.corrected} or inside
    union = [hit._replace(project=root) for root, hits in inside.items() for hit in hits]
    first = answers[own]
    return Hits(
        sorted(union, key=lambda hit: (not hit.holds, -hit.score))[:limit],
        entries=sum(hits.entries for hits in answers.values()),
        unread=tuple(f"{root}: {name}" for root, hits in answers.items() for name in hits.unread),
        corrected=first.corrected if union and not any(hits and not hits.corrected for hits in inside.values()) else "",
        warning=" ".join(filter(None, (first.warning, f"Not searched: {', '.join(left)}." if left else ""))),
        days=first.days,
        outside=all(hits.outside for hits in inside.values()),
    )
