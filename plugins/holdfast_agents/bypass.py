"""Compactions past the gate: finds those that did not ask holdfast, and saves their dropped messages at once.

A Claude Code plugin's module can answer ``session.compact`` with messages of its own. PreCompact then does not run, for
a manual and for an automatic compaction alike. Source: observed with 2.1.332, where PostCompact comes first, with an
empty summary, then SessionStart, and the transcript gets its boundary after both.

A compaction is tied to a receipt by session and journal position. While the messages that PreCompact flushed wait to be
dropped, a compaction is the one that asked, unless the client made no summary and a new turn has begun. After they were
dropped, another report is of the same compaction until a turn begins. Otherwise a compaction is past the gate when it
dropped messages that no receipt covers, or when the client made no summary. It waits for a flush in progress, and
covers its messages. An operator's override covers everything.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from holdfast import Session
from holdfast.errors import HoldfastError, Unavailable
from holdfast.models import CuratedDecision, Payload
from holdfast_agents.records.follow import follow
from holdfast_agents.records.heartbeat import log
from holdfast_app.sessions import pastgate
from holdfast_app.sessions.pastgate import PastGate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.models import Message
    from holdfast_agents.events import Event
    from holdfast_app.base import Services


def drop(services: Services, session: Session, event: Event) -> None:
    """Drop the context that the client dropped, after a flush of all that no receipt covers.

    Records a compaction past the gate. Raises: HoldfastError. Then nothing was dropped and the session is UNSAFE.
    """
    if not _waits(session):
        with suppress(HoldfastError):  # the journal alone is better than nothing
            follow(services, session, event)
    new, _, position = session.span()
    past = not session.unrecorded_overrides and _is_past(session, event, new)
    found = PastGate(session.id, services.now(), position, len(new))
    wrote: list[str] = []
    try:
        session.compact(0, payload(event, session), on_summary=wrote.append)
    except HoldfastError:
        if past:
            with suppress(Unavailable):
                pastgate.note(services.state, found)
        raise
    if past and (wrote or not new):  # otherwise another process's flush covers the messages
        pastgate.note(services.state, found)


def at_start(services: Services, event: Event) -> str:
    """Save the messages dropped by a compaction past the gate, at the start after it. Returns a sentence for
    the user, or an empty string. An error is logged, and the session stays UNSAFE."""
    if event.client != "claude-code" or event.source != "compact":
        return ""
    try:
        session = Session(services, event.session)
        if not _waits(session):
            try:
                drop(services, session, event)
            except HoldfastError as error:
                log(services.state, event.client, event.kind, f"{type(error).__name__}: {error.message}")
        *_, position = session.span()
        marks = [one for one in pastgate.all_of(services.state) if one.session == session.id]
    except HoldfastError:
        return ""  # the brief's error says more
    return f"holdfast: {marks[-1].sentence}" if marks and marks[-1].position == position else ""


def payload(event: Event, session: Session) -> Payload | None:
    """A sub-agent's task belongs to its parent, which has its own handoff, so it leaves no work open."""
    if not event.agent or not session.unflushed:
        return None
    return Payload(work_open=False, curated=CuratedDecision())


def _asked(session: Session) -> bool:
    return session.last_receipt is not None and session.last_receipt.reason == "compaction"


def _waits(session: Session) -> bool:
    """Whether messages that a compaction's flush covers are still in context."""
    return _asked(session) and len(session.messages) > len(session.unflushed)


def _is_past(session: Session, event: Event, new: Sequence[Message]) -> bool:
    if not _asked(session):
        return event.unsummarised or bool(new)
    has_begun = any(message.role == "user" for message in new)
    if _waits(session):  # a summary made in advance keeps later messages
        return event.unsummarised and has_begun
    return event.unsummarised or has_begun
