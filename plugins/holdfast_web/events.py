"""The events of each day: sessions, flushes, refused flushes and dreams."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

from holdfast.errors import HoldfastError
from holdfast.flush.dreamlog import Status as DreamStatus
from holdfast.journal import safety
from holdfast_web.timeline import Day, days

if TYPE_CHECKING:
    from holdfast.session.status import Status
    from holdfast_web.project import Project


def totals(shown: Iterable[Day]) -> Day:
    """The sum of the days, with the last day's date. ``shown`` has at least one day."""
    listed = list(shown)
    return Day(
        day=listed[-1].day,
        saved=sum(day.saved for day in listed),
        blocked=sum(day.blocked for day in listed),
        sessions=sum(day.sessions for day in listed),
        dreams=sum(day.dreams for day in listed),
        failed=sum(day.failed for day in listed),
    )


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
            day.saved += 1
    if not project.is_remote:
        for written, name in project.note_names():
            if written < first:
                break
            for flush in project.note(written, name).flushes:
                if (day := day_of(flush.at)) is not None:
                    day.saved += 1
                    day.note = name
                    sessions[day.day].add(flush.session)
    _blocked(project, now, found, first)
    for run in project.dreams():
        if (day := day_of(run.at)) is not None:
            day.dreams += run.status in (DreamStatus.DONE, DreamStatus.PROPOSED)
            day.failed += run.status is DreamStatus.FAILED
    for at, ids in sessions.items():
        found[at].sessions = len(ids)
    return found


def _blocked(project: Project, now: Status, found: dict[date, Day], first: date) -> None:
    """Add the refused flushes that the journals record, and those of sessions UNSAFE since before they did."""
    state = project.services.state
    noted: set[str] = set()
    for one in now.sessions:
        if one.last_turn_at is None or one.last_turn_at.astimezone(project.zone).date() < first:
            continue
        try:
            for refusal in project.journals.refusals(one.id):
                noted.add(one.id)
                if (day := found.get(refusal.at.astimezone(project.zone).date())) is not None:
                    day.blocked += 1
        except HoldfastError:
            continue  # the list of sessions shows the error
    for marker in safety.all_unsafe(state):
        try:
            at = datetime.fromisoformat(marker.at).astimezone(project.zone).date()
        except ValueError:
            continue
        if marker.session not in noted and at in found:
            found[at].blocked += 1
