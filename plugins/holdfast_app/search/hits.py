"""The found entries, and those of a server with a search of its own, as hits: masked, with the matching part."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from holdfast import Holdfast
from holdfast.errors import NotFound
from holdfast.storage import Hit, HitKind
from holdfast.text.humanize import count
from holdfast_app.records import ownlines
from holdfast_app.search import index, records, words
from holdfast_app.search.index import Entry
from holdfast_app.search.rank import Ranked

#: Maximum characters of the part that matched, and of each line around it.
_MATCH: Final = 240
_AROUND: Final = 120
#: Characters of the excerpt before the first word of the question, and places of its words looked at.
_LEAD: Final = 60
_PLACES: Final = 40


class Place(NamedTuple):
    """A line's place, with fields as in :class:`SearchHit`."""

    name: str
    place: str
    where: str
    kind: str = ""


class SearchHit(NamedTuple):
    """A possible answer.

    ``kind`` is turn, note, decision, rule, rejected (an approach), open (a question), memory, fact or document.
    ``name`` is the session, the document or empty, and ``place`` the message id, the line or the fact's id in it.
    ``where`` shows both to people. ``at`` is None when no date is known. ``score`` is at most 1. ``text`` is the whole
    content, ``excerpt`` the matching part. ``before`` and ``after`` are a line each from around that part, possibly
    from the neighbouring message or line, or empty. ``also`` are other places of the same sentence, best first.
    ``corrected`` is the question searched instead when nothing matched the question as written. ``holds`` marks the
    facts, rules and decisions that come first. ``replaced_by`` is a later sentence with another value.
    ``project`` is the folder in a search of all projects.
    """

    kind: str
    name: str
    place: str
    where: str
    at: datetime | None
    role: str
    score: float
    excerpt: str
    text: str
    before: str = ""
    after: str = ""
    also: tuple[Place, ...] = ()
    corrected: str = ""
    holds: bool = False
    replaced_by: str = ""
    project: str = ""

    @property
    def at_place(self) -> Place:
        """Its own place."""
        return Place(self.name, self.place, self.where, self.kind)


class Hits(list[SearchHit]):
    """Hits, best first. Some hold now, the others show where it was said.

    ``entries`` is the number of searched entries. ``unread`` names damaged sources, searched only up to the
    damage. ``corrected`` is as in the hits. ``warning`` is a sentence when a vector plugin failed, so only words were
    searched, or when the question was too long. ``days`` are those that the question names, like ``16 to 22
    November``; the hits are from these days, or, if nothing is, ``outside`` of them.
    """

    def __init__(
        self,
        found: Iterable[SearchHit] = (),
        *,
        entries: int = 0,
        unread: tuple[str, ...] = (),
        corrected: str = "",
        warning: str = "",
        days: str = "",
        outside: bool = False,
    ) -> None:
        super().__init__(found)
        self.entries, self.unread, self.corrected, self.warning = entries, unread, corrected, warning
        self.days, self.outside = days, outside

    @property
    def damage(self) -> str:
        """A sentence that counts damaged sources, whose names a clone can choose; empty without any."""
        if not self.unread:
            return ""
        return f"Searched only up to the damage in {count(len(self.unread), 'file')}. `holdfast doctor` names it."

    @property
    def heading(self) -> str:
        """The sentence about the days; empty without any."""
        if not self.days or not self.outside:
            return f"{self.days}:" if self.days else ""
        return f"Nothing from {self.days}.{' Found outside of it:' if self else ''}"


def of_entries(memory: Holdfast, db: sqlite3.Connection, found: list[Ranked]) -> list[SearchHit]:
    """The entries as hits without excerpts, masked for output with a few validator calls."""
    rows = index.entries(db, [one.id for one in found])
    bodies = _masked(memory, db, rows)
    files = list({row.name for row in rows.values()})
    shown = dict(zip(files, memory.services.gate.outgoing_all(files, surface="daily"), strict=True))

    hits = []
    for one, score in found:
        row, name = rows[one], shown[rows[one].name]
        where = f"{name}:{row.place}" if name else row.place
        if row.kind == records.TURN:
            name = records.session_of(row.name, row.origin)
            where = f"session {name}, turn {row.place}"
        at = datetime.fromtimestamp(row.at, UTC).astimezone(memory.config.tz) if row.at else None
        hits.append(SearchHit(row.kind, name, row.place, where, at, row.role, round(score, 4), "", bodies[one]))
    return hits


def excerpts(
    memory: Holdfast, db: sqlite3.Connection, hits: Iterable[SearchHit], ids: Mapping[str, int], question: str
) -> list[SearchHit]:
    """The hits with their matching parts. ``ids`` are their entries by :attr:`SearchHit.where`."""
    hits = list(hits)
    near = {ids[hit.where] + offset for hit in hits if hit.where in ids for offset in (-1, 1)}
    rows = index.entries(db, near)
    bodies = _masked(memory, db, rows)

    def line(one: int) -> str:
        if one not in rows or rows[one].kind == records.FACT:
            return ""
        return f"{rows[one].role}: {bodies[one]}" if rows[one].kind == records.TURN else bodies[one]

    found = []
    for hit in hits:
        one = ids.get(hit.where, 0)
        match, before, after = excerpt(hit.text, question, line(one - 1), line(one + 1))
        found.append(hit._replace(excerpt=match, before=before, after=after))
    return found


def _masked(memory: Holdfast, db: sqlite3.Connection, rows: Mapping[int, Entry]) -> dict[int, str]:
    """The entries' words, masked."""
    bodies = index.bodies(db, rows)
    masked = memory.services.gate.outgoing_all(list(bodies.values()), surface="journal")
    return dict(zip(bodies, masked, strict=True))


# excerpts


def excerpt(text: str, question: str, previous: str = "", following: str = "") -> tuple[str, str, str]:
    """The part of ``text`` with most of the question's stems, and the lines before and after it. Where it begins or
    ends the text, they are of ``previous`` or ``following``, if there are any."""
    line = " ".join(text.split())
    begin, end = _best(line, question)
    match = ("… " if begin else "") + line[begin:end] + (" …" if end < len(line) else "")
    before = (line[:begin] or " ".join(previous[-2 * _AROUND :].split())).rstrip()
    if len(before) > _AROUND:
        before = f"… {before[-_AROUND:].partition(' ')[2] or before[-_AROUND:]}"
    after = (line[end:] or " ".join(following[: 2 * _AROUND].split())).lstrip()
    if len(after) > _AROUND:
        after = f"{after[:_AROUND].rpartition(' ')[0] or after[:_AROUND]} …"
    return match, before, after


def _best(line: str, question: str) -> tuple[int, int]:
    if len(line) <= _MATCH:
        return 0, len(line)
    places = [(match.start(), match[0].lower()) for match in words.pattern(question).finditer(line)]
    most, best = 0, 0
    for number, (start, _) in enumerate(places):
        held = len({stem for at, stem in places[number : number + _PLACES] if at < start + _MATCH - _LEAD})
        if held > most:
            most, best = held, start
    first = min(max(best - _LEAD, 0), len(line) - _MATCH)
    begin = line.rfind(" ", 0, first) + 1 if first else 0
    part = line[begin : begin + _MATCH]
    return begin, begin + len(part if begin + len(part) == len(line) else part.rsplit(" ", 1)[0])


# from a server

#: Score for the backend's best hit, and the share of it for each further hit. The backend's own scores differ in scale.
_BEST: Final = 0.5
_NEXT: Final = 0.95
#: Number of hits to ask for when some of them are left out afterwards.
_FILTERED: Final = 1_000


def served(
    memory: Holdfast, question: str, limit: int, kinds: Collection[str], since: datetime | None, until: datetime | None
) -> list[SearchHit]:
    """The hits, best first, masked, without excerpts. Empty when the backend serves none. Raises: Unavailable."""
    if not records.is_served(memory):
        return []
    filtered = bool(kinds or since or until)  # not by the backend, whose first hits could all be left out
    served = memory.services.store.backend.search(words.asked(question), max(limit, _FILTERED) if filtered else limit)
    found = [one for hit in served if (one := _described(memory, hit))]
    if records.DECISION in kinds:  # backends do not distinguish decisions from other lines
        stems = words.stems(question)
        for name in [one.name for one in found if one.kind == records.NOTE]:
            at = records.day_of(memory, name)
            found += [
                SearchHit(one.kind, name, one.place, f"{name}:{one.place}", at, "", 0.0, "", one.body)
                for one in records.document(memory, name)
                if one.kind == records.DECISION and stems & words.stems(one.body)
            ]
    rest_of_day = timedelta(seconds=records.REST_OF_DAY_S)
    kept = [
        one
        for one in found
        if (not kinds or one.kind in kinds)
        and (since is None or (one.at and one.at + rest_of_day * (one.kind != records.FACT) >= since))
        and (until is None or (one.at and one.at < until))
    ][:limit]
    masked = memory.services.gate.outgoing_all([one.text for one in kept], surface="daily")
    return [
        one._replace(text=text, score=round(_BEST * _NEXT**number, 4))
        for number, (one, text) in enumerate(zip(kept, masked, strict=True))
    ]


def _described(memory: Holdfast, hit: Hit) -> SearchHit | None:
    """None for a removed entry. A store on a server withholds nothing."""
    if hit.kind == HitKind.FACT:
        try:
            fact = memory.facts.get(hit.name)
        except NotFound:
            return None
        at = fact.created_at.astimezone(memory.config.tz)
        return SearchHit(records.FACT, "", fact.id, fact.id, at, str(fact.category), 0.0, "", fact.content)
    kind = records.kind_of(memory, hit.name)
    text = ownlines.without(hit.text).strip()
    if kind is None or not text:
        return None
    return SearchHit(kind, hit.name, "1", hit.name, records.day_of(memory, hit.name), "", 0.0, "", text)
