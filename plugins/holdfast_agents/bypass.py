"""Compactions past the gate: finds those that did not ask holdfast, and saves at once what they dropped.

A Claude Code plugin's module can answer ``session.compact`` with messages of its own. PreCompact then does not run, for
a manual and for an automatic compaction alike. Source: observed with 2.1.332, where PostCompact comes first, with an
empty summary, then SessionStart, and the transcript gets its boundary after both.

A compaction is tied to a receipt by session and journal position. It asked when PreCompact's flush is the session's
last one and its messages have not been dropped since. Otherwise it is past the gate when it dropped messages that no
receipt covers, or when the client says that it made no summary. A flush still in progress is waited for, and covers
its messages. An operator's override covers everything.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from holdfast import Session
from holdfast.errors import HoldfastError, Unavailable
from holdfast.journal import pastgate
from holdfast.journal.pastgate import PastGate
from holdfast.models import CuratedDecision, Payload
from holdfast_agents.records.follow import follow
from holdfast_agents.records.hooklog import log

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.models import Message
    from holdfast.session.services import Services
    from holdfast_agents.events import Event


def drop(services: Services, session: Session, event: Event) -> None:
    """Drop the context that the client dropped, after a flush of all that no receipt covers.

    Records a compaction past the gate. Raises: HoldfastError. Then nothing was dropped and the session is UNSAFE.
    """
    asked = _asked(session)
    if not asked:
        with suppress(HoldfastError):  # the journal alone is better than nothing
            follow(services, session, event)
    new, _, position = session.span()
    past = not session.unrecorded_overrides and _is_past(event, asked, new)
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
    """Save what a compaction past the gate dropped, at the start after it. Returns a sentence for the user, or an empty
    string. An error is logged, and the session stays UNSAFE."""
    if event.client != "claude-code" or event.source != "compact":
        return ""
    try:
        session = Session(services, event.session)
        if not _asked(session):
            drop(services, session, event)
        *_, position = session.span()
        marks = [one for one in pastgate.all_of(services.state) if one.session == session.id]
    except HoldfastError as error:
        log(services.state, event.client, event.kind, f"{type(error).__name__}: {error.message}")
        return ""
    return f"holdfast: {marks[-1].sentence}" if marks and marks[-1].position == position else ""


def payload(event: Event, session: Session) -> Payload | None:
    """A sub-agent's task belongs to its parent, which has its own handoff, so it leaves no work open."""
    if not event.agent or not session.unflushed:
        return None
    return Payload(work_open=False, curated=CuratedDecision())


def _asked(session: Session) -> bool:
    receipt = session.last_receipt
    waits = len(session.messages) > len(session.unflushed)
    return receipt is not None and receipt.reason == "compaction" and waits


def _is_past(event: Event, asked: bool, new: Sequence[Message]) -> bool:
    if asked:  # late rows of the compaction's own turn are no new turn, and a summary made in advance covers older ones
        return event.unsummarised and any(message.role == "user" for message in new)
    return event.unsummarised or bool(new)
