"""Ends a workflow from observed checks. The UPDATE is prepared while an agent works, and written when it stops.

Only ``build`` ends like this, because commands can prove its condition alone: tests ran in this session, all checks
pass, no file was edited since, and the last answer leaves nothing open. For other workflows, or if any of these is
missing, the update stays prepared: ``holdfast workflow status`` shows it, and ``workflow end`` writes it. At the end of
a turn with observed commands, the user reads which conditions have to be stated. If a session
ends while checks fail, the failure is added to the deferred items.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from attrs import evolve, frozen

from holdfast import Session
from holdfast.config.serde import flushed_payload, moment
from holdfast.errors import HoldfastError
from holdfast.journal import order
from holdfast.models import Payload
from holdfast.text.openwork import is_none
from holdfast.text.plain import cut
from holdfast_app.offline.conversation import asked, ending
from holdfast_app.workflow import observed, update
from holdfast_app.workflow.observed import Observed
from holdfast_app.workflow.sections import Limits, line_of
from holdfast_app.workflow.three import CONDITIONS, Deliverable, MemoryUpdate
from holdfast_app.workflow.workflow import Record, Workflow, observed_conditions, records

if TYPE_CHECKING:
    from collections.abc import Iterable

    from holdfast.session.services import Services

_MAX_TASK: Final = 200
#: Reasons in an :class:`~holdfast_app.offline.conversation.ending.Ending` that keep a conversation open after its
#: request.
_OPEN: Final = frozenset({"announced", "question to the user", "task list"})


@frozen(kw_only=True)
class Prepared:
    """The prepared update of an open workflow: ``given`` would be written, ``seen`` holds the observed checks,
    ``shown`` the conditions they prove and ``missing`` the conditions still to be stated."""

    workflow: str
    given: MemoryUpdate
    shown: tuple[str, ...]
    missing: tuple[str, ...]
    seen: Observed


def prepared(services: Services, record: Record, *, session: str = "") -> Prepared:
    """The prepared update of an open workflow, in the words of ``session``, by default the session whose check ran
    last. Raises: Unavailable, Corrupt."""
    seen = observed.since(services, record.started_at)
    session = session or (seen.runs[-1].session if seen.runs else "")
    shown = observed_conditions(record.name, seen)
    return Prepared(
        workflow=record.name,
        given=_update(services, record, seen, Session(services, session) if session else None),
        shown=shown,
        missing=tuple(c for c in CONDITIONS[record.name] if c not in shown),
        seen=seen,
    )


def stopped(services: Services, session_id: str, *, final: bool) -> list[str]:
    """End workflows whose conditions were observed, after an agent's turn or, with ``final``, its session. After the
    session also record failing checks. Returns one sentence for each, for the user.

    Raises: HoldfastError from the files. The workflow then stays open.
    """
    told: list[str] = []
    if not services.config.workflow.automatic:
        return told
    for record in records(services):
        if record.state != "open":
            continue
        seen = observed.since(services, record.started_at)
        mine = [run for run in seen.runs if run.session == session_id]
        if not mine:
            continue  # another session's work
        session = Session(services, session_id)
        if _is_over(record, seen, session, final=final):
            given = _update(services, record, seen, session)
            Workflow(services, record.name).end(given, confirmed=observed_conditions(record.name, seen))
            told.append(f"The workflow {record.name} has ended: {observed.tests(seen.passing)[-1].ending}.")
        elif final and seen.failing:
            task = _task(record, session)
            lines = [line_of(f"{task} (not verified: {run.ending})") for run in seen.failing]
            update.update(services, MemoryUpdate(deferred_items=lines))
            told.append(f"The workflow {record.name} stays open: {seen.failing[-1].ending}.")
        elif final or mine[-1].at > _last_request(session):
            told += _lacking(record, seen)
    return told


def _last_request(session: Session) -> datetime:
    """When the user sent the last message."""
    times = (message.at for message in reversed(session.messages) if message.role == "user" and message.at)
    return next(times, datetime.max.replace(tzinfo=UTC))


def _lacking(record: Record, seen: Observed) -> list[str]:
    """One sentence with the conditions that only a person or the agent can state, unless a check fails."""
    shown = observed_conditions(record.name, seen)
    missing = {name: text for name, text in CONDITIONS[record.name].items() if name not in shown}
    if not missing or seen.failing or "tests-passed" in missing:
        return []
    flags = " ".join(f"--{name}" for name in missing)
    unseen = f"no command shows that {' and '.join(missing.values())}"
    command = f"`holdfast workflow end {record.name} {flags}`"
    return [f"The workflow {record.name} stays open, because {unseen}. {command} states it and ends the workflow."]


def _is_over(record: Record, seen: Observed, session: Session, *, final: bool) -> bool:
    wanted = CONDITIONS[record.name]
    passed = [run for run in observed.tests(seen.passing) if run.session == session.id]
    if seen.failing or not passed or {*observed_conditions(record.name, seen)} != {*wanted}:
        return False
    if seen.edited is not None and seen.edited > passed[-1].at:
        return False  # files changed after the tests ran
    end = ending.of(order.as_said(session.messages))
    return end.why not in _OPEN if final else end.open is False


def _update(services: Services, record: Record, seen: Observed, session: Session | None) -> MemoryUpdate:
    """The stated update of the work, with the checks as evidence."""
    task = _task(record, session)
    tests = observed.tests(seen.passing)
    stated = _stated(services, record, session)
    told = MemoryUpdate(
        decisions=_lines(stated.decisions or ()),
        open_questions=_lines(stated.blockers or ()),
        next_steps=_lines([stated.next_step or ""]),
        verified_deliverables=[Deliverable(text=task, command=tests[-1].line, exit_status=0)] if tests else [],
        evidence_links=_lines(run.ending for run in seen.passing if run not in tests[-1:]),
    )
    return evolve(told, no_change=told.unsaid)


def _task(record: Record, session: Session | None) -> str:
    """The user's last request, after a flush that dropped it the flushed objective, otherwise the workflow's name."""
    task = asked.objective(order.as_said(session.messages), _MAX_TASK) if session else ""
    flushed = _flushed(record, session)
    return task or (cut(flushed.objective or "", _MAX_TASK) if flushed else "") or f"The workflow {record.name}"


def _stated(services: Services, record: Record, session: Session | None) -> Payload:
    """The agent's statements in a flush since the workflow started, without derived text."""
    payload = _flushed(record, session)
    return payload.evolve(**dict.fromkeys(payload.derived), derived=()) if payload else Payload()


def _flushed(record: Record, session: Session | None) -> Payload | None:
    """The session's last flushed payload since the workflow started."""
    kept = session.last_flush if session else None
    try:
        if not kept or moment(str(kept["at"])) < record.started_at:
            return None
        return flushed_payload(kept)
    except (KeyError, TypeError, ValueError, HoldfastError):
        return None


def _lines(texts: Iterable[str]) -> list[str]:
    limit = Limits().max_chars
    return [cut(line_of(text), limit) for text in texts if text.strip() and not is_none(text)]
