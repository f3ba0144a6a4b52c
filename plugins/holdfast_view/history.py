"""A project's history by day, with sessions, flushes, refused flushes, dreams, and new and removed facts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from typing import TYPE_CHECKING, Final

from attrs import define

from holdfast_view.events import events

if TYPE_CHECKING:
    from holdfast_view.project import Project

#: Events of a fact's trail after which it is no longer stored.
_LEFT: Final = frozenset({"evicted", "deleted", "replaced"})
COUNTS: Final = ("sessions", "flushes", "compactions", "blocked", "overridden", "dreams", "failed", "added", "left")


@define(kw_only=True)
class DayEvents:
    """The number of events on one day. ``compactions`` counts the flushes that a compaction asked for, ``blocked``
    refused flushes, after which nothing was dropped, and ``overridden`` operators' overrides. ``failed`` counts dreams;
    ``added`` and ``left`` count facts. ``note`` is the day's note, empty when there is none."""

    day: date
    sessions: int = 0
    flushes: int = 0
    compactions: int = 0
    blocked: int = 0
    overridden: int = 0
    dreams: int = 0
    failed: int = 0
    added: int = 0
    left: int = 0
    note: str = ""

    @property
    def is_quiet(self) -> bool:
        return not any(getattr(self, name) for name in COUNTS)


def history(project: Project, days: int) -> list[DayEvents]:
    """The last ``days`` days up to today, oldest first. Raises: Corrupt; Unavailable."""
    found = {
        day: DayEvents(
            day=day,
            sessions=one.sessions,
            flushes=one.saved,
            compactions=one.compactions,
            blocked=one.blocked,
            overridden=one.overridden,
            dreams=one.dreams,
            failed=one.failed,
            note=one.note,
        )
        for day, one in events(project, project.status(), days).items()
    }
    for fact in project.facts():
        if (at := found.get(fact.created_at.astimezone(project.zone).date())) is not None:
            at.added += 1
    for entry in project.memory.facts.trail.entries():
        if entry.event in _LEFT and (at := found.get(entry.at.astimezone(project.zone).date())) is not None:
            at.left += 1
    return list(found.values())


def total(days: Sequence[DayEvents]) -> DayEvents:
    """The sum of at least one day, with the last day's date."""
    made = DayEvents(day=days[-1].day)
    for name in COUNTS:
        setattr(made, name, sum(getattr(day, name) for day in days))
    return made


def since_first(days: Iterable[DayEvents], *, least: int) -> list[DayEvents]:
    """The days since the first event, at least the last ``least``."""
    listed = list(days)
    first = next((number for number, day in enumerate(listed) if not day.is_quiet), len(listed))
    return listed[max(0, min(first, len(listed) - least)) :]
