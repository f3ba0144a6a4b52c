"""Observations during a workflow: issues become gotchas, patterns become conventions (FR-4b).

A sighting is only counted, durably and across sessions, until a trigger fires:

- *repeated*: similar ones were seen three times;
- *critical*: a critical violation of a name or pattern, immediately;
- *integration*: the same observation was made in two workflows.

Then it is written once. Writes are throttled: at most :data:`WRITES` in a window of :data:`WINDOW_S` seconds, and
:data:`CRITICAL_WRITES` including critical ones. Waiting entries stay in the private folder until the next write, the
end of a workflow or an update. A crash loses nothing, and nothing is written twice.
"""

import re
from datetime import datetime
from enum import StrEnum
from typing import Final

from attrs import evolve, field, frozen

from holdfast.config.layout import Surface
from holdfast.config.serde import stamp
from holdfast.errors import BadValue, Refused
from holdfast.fs import durable, private
from holdfast.models import CuratedEntry
from holdfast.text.stored import duplicate_key
from holdfast_app.base import Services
from holdfast_app.records import json_file
from holdfast_app.workflow import sections, update
from holdfast_app.workflow.three import FILES, WORKFLOWS

#: Source: FR-4b names the triggers; holdfast defines the window and its bounds.
REPEATED: Final = 3
WORKFLOWS_AFFECTED: Final = 2
WINDOW_S: Final = 60.0
WRITES: Final = 5
CRITICAL_WRITES: Final = 20

_FILE = "sightings.json"
_NUMBERS: Final = re.compile(r"\b(?:0x[0-9a-f]+|[0-9a-f]*\d[0-9a-f]*)\b|\d+(?:\.\d+)*")
_PUNCTUATION: Final = re.compile(r"[^\w\s#]+|_+")


class Kind(StrEnum):
    """The kind of observation. An issue goes to ``## Gotchas``, a pattern to ``## Conventions`` of patterns.md."""

    ISSUE = "issue"
    PATTERN = "pattern"


_ANCHORS: Final = {Kind.ISSUE: "## Gotchas", Kind.PATTERN: "## Conventions"}


@frozen(kw_only=True)
class Sighting:
    """Similar observations, counted together. ``text`` is the first one's. ``trigger`` is empty until one fires.
    ``written`` is true when it is in patterns.md. Times are ISO-8601."""

    kind: str
    text: str
    count: int = 0
    workflows: tuple[str, ...] = ()
    last: str = ""
    trigger: str = ""
    written: bool = False


@frozen(kw_only=True)
class Captured:
    """A capture's result, with the number of sightings, the trigger that fired (now or before), and whether it is
    in patterns.md. ``waiting`` counts the throttled entries."""

    sighting: Sighting
    waiting: int


@frozen(kw_only=True)
class _Book:
    """Stored data: sightings by key, and write times within the window."""

    sightings: dict[str, Sighting] = field(factory=dict)
    writes: tuple[datetime, ...] = ()


def capture(services: Services, kind: str, text: str, *, workflow: str = "", critical: bool = False) -> Captured:
    """Count a sighting and, when a trigger fires and the throttle allows it, write it to patterns.md.

    The count is made durable first, so a failed write loses nothing. ``workflow`` is the workflow it was noticed in;
    empty when there was none or it is unknown.
    Raises: ValueError for an unknown kind or workflow; Refused when it is blank, too long or refused by the gate;
    NotFound, Corrupt or Unavailable when it cannot be counted or written.
    """
    if kind not in (known := tuple(Kind)):
        raise BadValue("kind", f"cannot be {kind!a}", next_step=f"Use one of: {', '.join(known)}.")
    kind = Kind(kind)
    if workflow and workflow not in WORKFLOWS:
        raise ValueError(f"{workflow!r} is not a workflow. The workflows are {', '.join(WORKFLOWS)}")
    admitted = update.admit(services, {Surface.PATTERNS: {_ANCHORS[kind]: [CuratedEntry(text=text)]}})
    line = admitted[Surface.PATTERNS][_ANCHORS[kind]][0].text
    if not line or len(line) > sections.MAX_CHARS:
        problem = f"A sighting must have 1 to {sections.MAX_CHARS} characters, not {len(line)}."
        raise Refused(problem, next_step="Say it in one sentence.")
    plain = _PUNCTUATION.sub(" ", _NUMBERS.sub("#", duplicate_key(line)))  # equal sightings share these words
    key = f"{kind}:{' '.join(plain.split())}"
    with _lock(services):
        book = _load(services)
        seen = book.sightings.get(key) or Sighting(kind=kind, text=line)
        workflows = tuple(w for w in WORKFLOWS if w in (*seen.workflows, workflow))
        seen = evolve(seen, count=seen.count + 1, workflows=workflows, last=stamp(services.now()))
        repeated = "repeated" if seen.count >= REPEATED else ""
        repeated = repeated or ("integration" if len(workflows) >= WORKFLOWS_AFFECTED else "")
        seen = evolve(seen, trigger=seen.trigger or ("critical" if critical else repeated))
        book = evolve(book, sightings={**book.sightings, key: seen})
        json_file.save(services.private(_FILE), book)
        if _due(book) and len(_recent(services, book)) < (CRITICAL_WRITES if critical else WRITES):
            book, _ = _write(services, book)
        return Captured(sighting=book.sightings[key], waiting=len(_due(book)))


def write_due(services: Services, done: update.Updated) -> update.Updated:
    """Write waiting entries regardless of the throttle, at an explicit update point.

    Returns ``done`` with what was written. A warning counts the entries that wait on, because their section is full.
    """
    with _lock(services):
        if not _due(book := _load(services)):
            return done
        book, wrote = _write(services, book)
    if left := len(_due(book)):
        full = f"{services.layout.name(Surface.PATTERNS)} has no room for {left:,} captured: merge or remove old items"
        done = evolve(done, warnings=(*done.warnings, full))
    files = (
        evolve(b, added=(*a.added, *b.added), known=(*a.known, *b.known), written=b.written or a.written)
        for a, b in zip(done.files, wrote, strict=True)
    )
    return evolve(done, files=tuple(files))


def waiting(services: Services) -> tuple[Sighting, ...]:
    """The triggered entries not yet written."""
    return tuple(_due(_load(services)))


def _due(book: _Book) -> list[Sighting]:
    return [s for s in book.sightings.values() if s.trigger and not s.written]


def _recent(services: Services, book: _Book) -> tuple[datetime, ...]:
    """The writes in the window. A future time (the clock went back) is ignored, or it would block indefinitely."""
    now = services.now()
    return tuple(at for at in book.writes if 0 <= (now - at).total_seconds() < WINDOW_S)


def _write(services: Services, book: _Book) -> tuple[_Book, tuple[update.FileChange, ...]]:
    """Write everything due in one step. Entries for a full section keep waiting."""
    text = update.load(services)[FILES.index(Surface.PATTERNS)].text
    located = sections.locate(text, _ANCHORS.values(), Surface.PATTERNS)
    due, entries = list[Sighting](), dict[str, list[CuratedEntry]]()
    for kind, anchor in _ANCHORS.items():
        room = sections.MAX_ITEMS - len(located[anchor].items)
        fitting = [seen for seen in _due(book) if seen.kind == kind][: max(0, room)]
        entries[anchor] = [CuratedEntry(text=seen.text) for seen in fitting]
        due += fitting
    wrote = update.write(services, {Surface.PATTERNS: entries})
    done = {k: evolve(s, written=True) if s in due else s for k, s in book.sightings.items()}
    book = evolve(book, sightings=done, writes=(*_recent(services, book), services.now())[-CRITICAL_WRITES:])
    json_file.save(services.private(_FILE), book)
    return book, wrote


def _lock(services: Services) -> durable.Lock:
    private.make(services.state)
    return private.lock(services.private(_FILE), timeout_s=60.0)


def _load(services: Services) -> _Book:
    return json_file.load(services.private(_FILE), _Book) or _Book()
