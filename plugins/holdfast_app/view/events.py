"""Each day's events (sessions, flushes, compactions, refused flushes, overrides and dreams)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from attrs import define

from holdfast.errors import HoldfastError
from holdfast.journal.journal import Journal
from holdfast_app.dream.dreamlog import Status as DreamStatus
from holdfast_app.view.journals import Incident
from holdfast_app.view.journals import incidents as of_journal

if TYPE_CHECKING:
    from holdfast_app.sessions.status import Status
    from holdfast_app.view.project import Project

#: The kinds of events counted on each day.
COUNTS: Final = ("sessions", "flushes", "compactions", "blocked", "overridden", "dreams", "failed", "added", "left")
#: Events of a fact's trail after which it is no longer stored.
_LEFT: Final = frozenset({"evicted", "deleted", "replaced"})
#: The reason of flushes made for a compaction.
_COMPACTION: Final = "compaction"


@define(kw_only=True)
class Day:
    """The number of events on one day. ``compactions`` counts the flushes made for a compaction, ``blocked`` refused
    flushes, after which nothing was dropped, and ``overridden`` operators' overrides. ``failed`` counts dreams;
    ``added`` and ``left`` count facts, see :func:`history`. ``note`` is the day's note, empty when there is none."""

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


class Interruption(NamedTuple):
    """A session's refused flushes or overrides on one day. ``why`` is the last one's, masked."""

    day: date
    session: str
    overridden: bool
    times: int
    reason: str
    why: str


def days(last: date, number: int) -> dict[date, Day]:
    """``number`` empty days up to ``last``, oldest first."""
    span = [last - timedelta(days=back) for back in range(number - 1, -1, -1)]
    return {day: Day(day=day) for day in span}


def totals(shown: Sequence[Day]) -> Day:
    """The sum of at least one day, with the last day's date."""
    sums = {name: sum(getattr(day, name) for day in shown) for name in COUNTS}
    return Day(day=shown[-1].day, **sums)


def events(project: Project, now: Status, number: int) -> dict[date, Day]:
    """The last ``number`` days with their events.

    Flushes come from the daily notes, which outlive the journals. A store on a server gives the last flush of each
    session instead, because each note would cost a request.
    """
    found = days(now.at.date(), number)
    first = now.at.date() - timedelta(days=number)
    sessions: dict[date, set[str]] = {day: set() for day in found}

    def day_of(at: datetime | None) -> Day | None:
        return found.get(at.astimezone(project.zone).date()) if at else None

    for one in now.sessions:
        if (day := day_of(one.last_turn_at)) is not None:
            sessions[day.day].add(one.id)
        if project.is_remote and (day := day_of(one.last_flush_at)) is not None:
            day.flushes += 1
    for name in [] if project.is_remote else [name for at, name in project.note_names() if at >= first]:
        for flush in project.flushes(name):
            if (day := day_of(flush.at)) is not None:
                day.flushes += 1
                day.compactions += flush.reason == _COMPACTION
                day.note = name
                sessions[day.day].add(flush.session)
    for incident in incidents(project, now, first):
        if (day := day_of(incident.at)) is not None:
            day.overridden += incident.overridden
            day.blocked += not incident.overridden
    for run in project.dreams():
        if (day := day_of(run.at)) is not None:
            day.dreams += run.status in (DreamStatus.DONE, DreamStatus.PROPOSED)
            day.failed += run.status is DreamStatus.FAILED
    for at, ids in sessions.items():
        found[at].sessions = len(ids)
    return found


def history(project: Project, number: int) -> list[Day]:
    """The last ``number`` days up to today with their events and changes of facts, oldest first.

    Raises: Corrupt; Unavailable.
    """
    found = events(project, project.status(), number)
    for fact in project.facts():
        if (day := found.get(fact.created_at.astimezone(project.zone).date())) is not None:
            day.added += 1
    for entry in project.memory.facts.trail.entries():
        if entry.event in _LEFT and (day := found.get(entry.at.astimezone(project.zone).date())) is not None:
            day.left += 1
    return list(found.values())


def since_first(days: Sequence[Day], *, least: int) -> Sequence[Day]:
    """The days since the first event, at least the last ``least``."""
    first = next((number for number, day in enumerate(days) if not day.is_quiet), len(days))
    return days[max(0, min(first, len(days) - least)) :]


def incidents(project: Project, now: Status, first: date) -> list[Incident]:
    """The refused flushes and overrides since ``first`` that the journals record, newest first, as stored."""
    found: list[Incident] = []
    for one in now.sessions:
        if one.last_turn_at is not None and one.last_turn_at.astimezone(project.zone).date() >= first:
            with suppress(HoldfastError):  # the list of sessions shows the error
                found.extend(of_journal(Journal(project.services.state, one.id)))
    found = [one for one in found if one.at.astimezone(project.zone).date() >= first]
    return sorted(found, key=lambda one: one.at, reverse=True)


def interruptions(project: Project, now: Status, first: date) -> list[Interruption]:
    """Refused flushes and overrides since ``first`` by session and day, newest first, masked. Raises: Unavailable."""
    groups: dict[tuple[date, str, bool], list[Incident]] = {}
    for one in incidents(project, now, first):
        groups.setdefault((one.at.astimezone(project.zone).date(), one.session, one.overridden), []).append(one)
    reasons = project.masked(*(group[0].why for group in groups.values()))
    return [
        Interruption(*key, len(group), group[0].reason, why)
        for (key, group), why in zip(groups.items(), reasons, strict=True)
    ]
