"""A project's history by day, with sessions, flushes, refused flushes, dreams, and new and removed facts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from holdfast_app.view.events import Day, events

if TYPE_CHECKING:
    from holdfast_app.view.project import Project

#: Events of a fact's trail after which it is no longer stored.
_LEFT: Final = frozenset({"evicted", "deleted", "replaced"})


def history(project: Project, days: int) -> list[Day]:
    """The last ``days`` days up to today, oldest first. Raises: Corrupt; Unavailable."""
    found = events(project, project.status(), days)
    for fact in project.facts():
        if (at := found.get(fact.created_at.astimezone(project.zone).date())) is not None:
            at.added += 1
    for entry in project.memory.facts.trail.entries():
        if entry.event in _LEFT and (at := found.get(entry.at.astimezone(project.zone).date())) is not None:
            at.left += 1
    return list(found.values())


def since_first(days: Iterable[Day], *, least: int) -> list[Day]:
    """The days since the first event, at least the last ``least``."""
    listed = list(days)
    first = next((number for number, day in enumerate(listed) if not day.is_quiet), len(listed))
    return listed[max(0, min(first, len(listed) - least)) :]
