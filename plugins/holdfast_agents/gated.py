"""Events that drop context, with the gate before a compaction, the summary after it, and the last flush at the end."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from holdfast import Session
from holdfast.config.layout import Surface
from holdfast.config.serde import stamp
from holdfast.errors import Corrupt, FlushRefused, HoldfastError, Refused
from holdfast.flush import notes
from holdfast.fs import durable, paths
from holdfast.journal import safety
from holdfast.journal.safety import Marker
from holdfast.storage import block_marker
from holdfast_agents import bypass, turns
from holdfast_agents.events import NO_REPLY, Event, Reply, refusal
from holdfast_agents.records.follow import Followed, follow
from holdfast_agents.records.summaries import last_summary
from holdfast_app.authorship import hostile
from holdfast_app.authorship.witness import Witness
from holdfast_app.message_formats import reading

if TYPE_CHECKING:
    from holdfast import Holdfast
    from holdfast_app.base import Services

#: Source of an instruction in the client's summary, if no message has it.
_SOURCE: Final = "the client's summary"
_MAX_SUMMARY_CHARS: Final = 20_000


def compacting(memory: Holdfast, event: Event) -> Reply:
    """Flush the session. Blocked unless all of it is durable and verified, or an operator overrode that.

    Raises: HoldfastError when the session cannot be opened, which blocks too.
    """
    session = Session(memory.services, event.session)
    failure: HoldfastError | None = None
    followed = Followed("")
    try:
        followed = follow(memory.services, session, event)
    except HoldfastError as error:
        failure = error  # the flush will probably fail as well, and it handles overrides
    # The current context is unknown, fully or in part.
    missed = bool(followed.problem) and os.path.exists(turns.gap(memory.services.state, session.id))
    blind = bool(followed.problem) and (not session.messages or followed.unread or missed)
    try:
        receipt = session.pass_gate(bypass.payload(event, session), "compaction")
    except FlushRefused as refused:
        return _blocked(refused, event, session.id)
    overridden = receipt is not None and receipt.overridden
    if overridden or (failure is None and not blind) or session.use_override():
        if not failure and not blind:
            durable.remove(turns.gap(memory.services.state, session.id))
        return NO_REPLY
    failure = failure or _unknown(followed, journalled=bool(session.messages), missed=missed)
    _mark(memory.services, session.id, failure)
    return _blocked(failure, event, session.id)


def compacted(memory: Holdfast, event: Event) -> None:
    """Drop the context that the client dropped. Its own summary goes into the note. Raises: HoldfastError."""
    services = memory.services
    session = Session(services, event.session)
    bypass.drop(services, session, event)
    summary = event.text or last_summary(event)
    if summary:
        _keep(services, session, summary, event.client)


def _keep(services: Services, session: Session, summary: str, client: str) -> None:
    """Write the client's own summary once into the preceding flush's note, marked with the client's name. A summary
    refused by a validator is left out. Raises: HoldfastError."""
    receipt = session.last_receipt
    if receipt is None or not receipt.flush_id:
        return
    witness = Witness(services)
    text = paths.rewrite(reading.own_summary(summary), services.root).strip()[:_MAX_SUMMARY_CHARS]
    text = hostile.marked(text, lambda line: "" if witness.is_own(line) else witness.source_of(line) or _SOURCE)
    name = services.layout.name(Surface.DAILY, receipt.at.date())
    try:
        text = services.gate.admit(text, surface=Surface.DAILY, name=name)
        block_id, block = notes.later(receipt.flush_id, client, text, session=session.id, at=receipt.at)
        block = services.gate.admit(block, surface=Surface.DAILY, name=name)
    except Refused:
        return
    note = services.store.read(name)
    if note is None or block_marker(block_id) not in note.text:  # the event may come twice
        services.store.append(Surface.DAILY, name, block, notes.header(receipt.at.date()), block_id)


def turn_ended(memory: Holdfast, event: Event) -> None:
    """Journal a turn from the transcript when its end event came without its text. Raises: HoldfastError."""
    follow(memory.services, Session(memory.services, event.session), event, patience_s=0.1)


def ending(memory: Holdfast, event: Event) -> None:
    """Flush the remaining messages and close the session.

    Raises: HoldfastError. The session is then UNSAFE, and the next start reports it.
    """
    session = Session(memory.services, event.session)
    try:
        follow(memory.services, session, event, patience_s=0.1)
    finally:
        session.end()


def _unknown(followed: Followed, *, journalled: bool, missed: bool) -> Corrupt:
    """The error that says why the context to be dropped is unknown."""
    problem = followed.problem.rstrip(".")
    why = problem[:1].lower() + problem[1:]
    if not journalled:
        step = "Send a message first, so that it is journalled, or start the client with its transcript."
        return Corrupt(f"No part of this conversation is journalled, and {why}.", next_step=step)
    lacking = "The journal may lack a part of this conversation"
    if missed:
        lacking = "A prompt, answer or tool result of this conversation could not be journalled"
    step = "Make the transcript readable, or move it away if the journal is enough. Then compact again."
    return Corrupt(f"{lacking}, because {why}.", next_step=step)


def _blocked(error: HoldfastError, event: Event, session: str) -> Reply:
    step = error.next_step
    if isinstance(error, FlushRefused) and error.missing:
        command = "$memory-update" if event.client == "codex" else "/memory-update"
        step = f"`{command}` states them; then compact again."
    return Reply(block=refusal(error.message, step, session))


def _mark(services: Services, session: str, error: HoldfastError) -> None:
    """Mark this session UNSAFE although no flush has started."""
    try:
        old = safety.read(services.state, session)
        marker = old or Marker(session=session, at=stamp(services.now()), reason="compaction")
        safety.failed(services.state, marker, error=error.message, next_step=error.next_step, target="transcript")
    except HoldfastError:
        return  # the compaction is refused anyway
