"""The found entries, and those of a server with a search of its own, as hits: masked, with the matching part."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from itertools import islice, takewhile
from operator import eq
from typing import Final, NamedTuple

from holdfast import Holdfast
from holdfast.errors import NotFound
from holdfast.storage import Hit, HitKind
from holdfast.text.humanize import count
from holdfast_app.printable import cut
from holdfast_app.records import ownlines
from holdfast_app.search import index, records, words
from holdfast_app.search.rank import Ranked

#: Maximum characters of the part that matched, and of each line around it.
_MATCH: Final = 240
_AROUND: Final = 120
#: Characters of the excerpt before the first word of the question, and places of its words looked at.
_LEAD: Final = 60
_PLACES: Final = 40
#: Characters of a text that is masked whole, and on each side of a longer one's excerpt. Text is masked when it is
#: stored; this finds what newer rules know.
_WHOLE: Final = 1_000
_MARGIN: Final = 300
#: Characters of the margin that are masked and not returned.
_CUT: Final = 100


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
    ``where`` shows both to people. ``at`` is None when no date is known. ``score`` is at most 1. ``excerpt`` is the
    matching part, ``text`` that part with some text around it. ``before`` and ``after`` are a line each from around the
    excerpt, possibly from the neighbouring message or line, or empty. ``also`` are other places of the same sentence,
    best first. ``corrected`` is the question searched instead when nothing matched the question as written. ``holds``
    marks the facts, rules and decisions that come first. ``replaced_by`` is a later sentence with another value.
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
        hits: Iterable[SearchHit] = (),
        *,
        entries: int = 0,
        unread: tuple[str, ...] = (),
        corrected: str = "",
        warning: str = "",
        days: str = "",
        outside: bool = False,
    ) -> None:
        super().__init__(hits)
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


def of_entries(memory: Holdfast, db: sqlite3.Connection, ranked: list[Ranked]) -> list[SearchHit]:
    """The entries as hits without excerpts, each with its whole text, which is not masked yet."""
    rows = index.entries(db, [entry.id for entry in ranked])
    bodies = index.bodies(db, rows)
    sources = index.listed({entry_id >> index.SOURCE for entry_id in rows})
    origins = db.execute(f"SELECT id, name, origin FROM source WHERE id IN ({sources})").fetchall()  # noqa: S608
    files = {source_id: name for source_id, name, origin in origins if not origin}
    names = {source_id: records.session_of(origin) for source_id, _, origin in origins if origin}
    names |= zip(files, memory.services.gate.outgoing_all([*files.values()], surface="daily"), strict=True)

    hits = []
    for entry_id, score in ranked:
        row, name = rows[entry_id], names[entry_id >> index.SOURCE]
        line = f"{name}:{row.place}" if name else row.place
        where = f"session {name}, turn {row.place}" if row.kind == records.TURN else line
        at = datetime.fromtimestamp(row.at, UTC).astimezone(memory.config.tz) if row.at else None
        hits.append(SearchHit(row.kind, name, row.place, where, at, row.role, round(score, 4), "", bodies[entry_id]))
    return hits


# excerpts


def excerpts(
    memory: Holdfast, db: sqlite3.Connection, hits: Iterable[SearchHit], ids: Mapping[str, int], question: str
) -> list[SearchHit]:
    """The hits with their matching parts, masked. ``ids`` are their entries by :attr:`SearchHit.where`."""
    hits = list(hits)
    near = {ids[hit.where] + offset for hit in hits if hit.where in ids for offset in (-1, 1)}
    rows = {entry_id: row for entry_id, row in index.entries(db, near).items() if row.kind != records.FACT}
    lines = {
        entry_id: f"{rows[entry_id].role}: {body}" if rows[entry_id].kind == records.TURN else body
        for entry_id, body in index.bodies(db, rows).items()
    }
    pattern = words.pattern(question)
    parts, around = [], []
    for hit in hits:
        first, end = _part(hit.text, pattern)
        parts.append((first, end))
        entry_id = ids.get(hit.where, 0)
        previous, following = lines.get(entry_id - 1, ""), lines.get(entry_id + 1, "")
        around += [
            hit.text[first:end],
            previous[_edge(previous, len(previous) - _MARGIN, -1) :] if not first else "",
            following[: _edge(following, _MARGIN, 1)] if end == len(hit.text) else "",
        ]
    masked = iter(memory.services.gate.outgoing_all(around, surface="journal"))
    excerpted = []
    for hit, (first, end) in zip(hits, parts, strict=True):
        text, previous, following = islice(masked, 3)
        goes_on = end < len(hit.text)
        # The name that makes a word at an edge a secret may be outside.
        head, tail = hit.text[first : first + _CUT] if first else "", hit.text[end - _CUT : end] if goes_on else ""
        text = text[_alike(text, head) :]
        text = text[: len(text) - _alike(reversed(text), reversed(tail))]
        match, before, after = _excerpt(text, pattern, previous, following)
        match = f"{'… ' * (first > 0 and match[:1] != '…')}{match}{' …' * (goes_on and match[-1:] != '…')}"
        excerpted.append(hit._replace(excerpt=match, before=before, after=after, text=text))
    return excerpted


def _alike(one: Iterable[str], other: Iterable[str]) -> int:
    """The number of characters that both begin with."""
    return sum(takewhile(bool, map(eq, one, other)))


def _part(text: str, pattern: re.Pattern[str]) -> tuple[int, int]:
    """The part of ``text`` that is masked and shown: the most matches, and enough around them to recognize a secret."""
    if len(text) <= _WHOLE:
        return 0, len(text)
    start = _most_matches(text, pattern)
    return _edge(text, start - _MARGIN, -1), _edge(text, start + _MATCH + _MARGIN, 1)


def _edge(text: str, at: int, step: int) -> int:
    """The nearest blank in a line of several words from ``at`` on, backwards or forwards. A secret of several lines has
    one word in each, so it is on one side."""
    while 0 < at < len(text):
        first, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
        end = end if end >= 0 else len(text)
        line = text[first:at] if step < 0 else text[at:end]
        blank = line.rstrip().rfind(" ") if step < 0 else line.find(" ", len(line) - len(line.lstrip()))
        if blank > 0:
            return (first if step < 0 else at) + blank
        at = first - 1 if step < 0 else end + 1
    return min(max(at, 0), len(text))


def _excerpt(text: str, pattern: re.Pattern[str], previous: str, following: str) -> tuple[str, str, str]:
    """The part of ``text`` with most matches, and the lines before and after it. Where it begins or ends the text, they
    are of ``previous`` or ``following``, if there are any."""
    line = " ".join(text.split())
    begin, end = _best(line, pattern)
    match = ("… " if begin else "") + line[begin:end] + (" …" if end < len(line) else "")
    before = cut((line[:begin] or previous[-2 * _AROUND :])[::-1], _AROUND)[::-1]
    after = cut(line[end:] or following[: 2 * _AROUND], _AROUND)
    return match, before, after


def _best(line: str, pattern: re.Pattern[str]) -> tuple[int, int]:
    if len(line) <= _MATCH:
        return 0, len(line)
    first = min(max(_most_matches(line, pattern) - _LEAD, 0), len(line) - _MATCH)
    begin = line.rfind(" ", 0, first) + 1 if first else 0
    part = line[begin : begin + _MATCH]
    return begin, begin + len(part if begin + len(part) == len(line) else part.rsplit(" ", 1)[0])


def _most_matches(text: str, pattern: re.Pattern[str]) -> int:
    """Where the excerpt with most different matches begins."""
    places = [(match.start(), match[0].lower()) for match in pattern.finditer(text)]
    most, best = 0, 0
    for number, (start, _) in enumerate(places):
        held = len({stem for at, stem in places[number : number + _PLACES] if at < start + _MATCH - _LEAD})
        if held > most:
            most, best = held, start
    return best


# from a server

#: Score for the backend's best hit, and the share of it for each further hit. The backend's own scores differ in scale.
_BEST: Final = 0.5
_NEXT: Final = 0.95
#: Number of hits to ask for when some of them are left out afterwards.
_FILTERED: Final = 1_000


def served(
    memory: Holdfast, question: str, limit: int, kinds: Collection[str], since: datetime | None, until: datetime | None
) -> list[SearchHit]:
    """The hits, best first, without excerpts, not masked. Empty when the backend serves none. Raises: Unavailable."""
    if not records.is_served(memory):
        return []
    filtered = bool(kinds or since or until)  # not by the backend, whose first hits could all be left out
    asked = [word.removeprefix(words.WHICH) for word in words.asked(question)]
    served = memory.services.store.backend.search(asked, max(limit, _FILTERED) if filtered else limit)
    hits = [described for hit in served if (described := _described(memory, hit))]
    if records.DECISION in kinds:  # backends do not distinguish decisions from other lines
        pattern = words.pattern(question)
        for name in [hit.name for hit in hits if hit.kind == records.NOTE]:
            at = records.day_of(memory, name)
            hits += [
                SearchHit(text.kind, name, text.place, f"{name}:{text.place}", at, "", 0.0, "", text.body)
                for text in records.document(memory, name)
                if text.kind == records.DECISION and pattern.search(text.body)
            ]
    rest_of_day = timedelta(seconds=records.REST_OF_DAY_S)
    matching = [
        hit
        for hit in hits
        if (not kinds or hit.kind in kinds)
        and (since is None or (hit.at and hit.at + rest_of_day * (hit.kind != records.FACT) >= since))
        and (until is None or (hit.at and hit.at < until))
    ][:limit]
    return [hit._replace(score=round(_BEST * _NEXT**number, 4)) for number, hit in enumerate(matching)]


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
