"""Events that drop context, with the gate before a compaction, the summary after it, and the last flush at the end.

A Claude Code plugin's module can answer ``session.compact`` with messages of its own. PreCompact then does not run, for
a manual and for an automatic compaction alike. Source: observed with 2.1.332, where PostCompact comes first, with an
empty summary, then SessionStart, and the transcript gets its boundary after both.

A compaction is tied to a receipt by session and journal position. While the messages that PreCompact flushed wait to be
dropped, a report is about the compaction that asked, unless the client made no summary and a new turn has begun. After
they were dropped, another report is about the same compaction until a turn begins. Otherwise a compaction is past the
gate when it dropped messages that no receipt covers, or when the client made no summary. It waits for a flush in
progress, and covers its messages. An operator's override covers everything.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Final

from attrs import evolve

from holdfast.api import (
    ConfigError,
    Corrupt,
    CuratedDecision,
    FlushRefused,
    Holdfast,
    HoldfastError,
    Message,
    Payload,
    Receipt,
    Refused,
    Session,
    Unavailable,
    block_marker,
)
from holdfast.config.layout import Surface
from holdfast.config.serde import stamp
from holdfast.flush import notes
from holdfast.fs import durable, paths
from holdfast.journal import safety
from holdfast_agents import restore, turns
from holdfast_agents.events import NO_REPLY, Event, Reply, refusal
from holdfast_agents.records import memo
from holdfast_agents.records.follow import Followed, follow
from holdfast_agents.records.heartbeat import log
from holdfast_app.authorship.witness import Witness
from holdfast_app.base import Services
from holdfast_app.message_formats.reading import Reading, mapping
from holdfast_app.message_formats.summaries import SUMMARY, own_summary
from holdfast_app.records import blocks
from holdfast_app.sessions import pastgate
from holdfast_app.transcripts import opencode, read

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
        receipt = session.pass_gate(_payload(event, session), "compaction")
    except FlushRefused as refused:
        return _blocked(refused, event, session.id)
    if (receipt is not None and receipt.overridden) or (failure is None and not blind) or session.use_override():
        if not failure and not blind:
            durable.remove(turns.gap(memory.services.state, session.id))
        return _brief(memory, event, session, receipt)
    failure = failure or _unknown(followed, journalled=bool(session.messages), missed=missed)
    state, at = memory.services.state, stamp(memory.services.now())
    with suppress(HoldfastError):  # UNSAFE although no flush has started. The compaction is refused anyway.
        marker = safety.read(state, session.id) or safety.Marker(session=session.id, at=at, reason="compaction")
        safety.failed(state, marker, error=failure.message, next_step=failure.next_step, target="transcript")
    return _blocked(failure, event, session.id)


def _brief(memory: Holdfast, event: Event, session: Session, receipt: Receipt | None) -> Reply:
    """The brief in place of the client's summary, if the settings and the client want it. Otherwise, and when it cannot
    be made, nothing. A sub-agent's brief would be its parent's."""
    services = memory.services
    flush = receipt.flush_id if receipt else ""
    wanted = event.answers and not event.agent and services.config.agents.compact == "holdfast"
    try:
        answered = restore.summary(memory, event) if wanted and flush else NO_REPLY
        if (old := memo.read(services.state, session.id)).answered != (new := flush if answered.context else ""):
            memo.write(services.state, evolve(old, answered=new))
        return answered
    except HoldfastError as error:
        log(services.state, event.client, event.kind, f"{type(error).__name__}: {error.message}")
        return NO_REPLY


def compacted(memory: Holdfast, event: Event) -> None:
    """Drop the context that the client dropped. Its own summary goes once into the preceding flush's note, marked with
    the client's name, unless a validator refuses it. Raises: HoldfastError."""
    services = memory.services
    session = Session(services, event.session)
    is_ours, followed = restore.is_answered(services, session), memo.read(services.state, session.id)
    _drop(services, session, event._replace(unsummarised=event.unsummarised and not is_ours))
    if is_ours and (last := session.last_receipt):
        memo.write(services.state, evolve(memo.read(services.state, session.id), answered="", used=last.flush_id))
    receipt, summary = session.last_receipt, "" if is_ours else event.text or next(_summaries(event, followed), "")
    if not summary or receipt is None or not receipt.flush_id:
        return
    text = paths.rewrite(own_summary(summary), services.root).strip()[:_MAX_SUMMARY_CHARS]
    text = Witness(services).marked(text, _SOURCE)
    name = services.layout.name(Surface.DAILY, receipt.at.date())
    try:
        text = services.gate.admit(text, surface=Surface.DAILY, name=name)
        block_id, block = blocks.later(receipt.flush_id, event.client, text, session=session.id, at=receipt.at)
        block = services.gate.admit(block, surface=Surface.DAILY, name=name)
    except Refused:
        return
    note = services.store.read(name)
    if note is None or block_marker(block_id) not in note.text:  # the event may come twice
        services.store.append(Surface.DAILY, name, block, notes.header(receipt.at.date()), block_id)


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
    return Reply(block=refusal(event.client, error.message, step, session))


# compactions past the gate


def _drop(services: Services, session: Session, event: Event) -> None:
    """Drop the context that the client dropped, after a flush of all that no receipt covers.

    Records a compaction past the gate. Raises: HoldfastError. Then nothing was dropped and the session is UNSAFE.
    """
    if not _waits(session):
        with suppress(HoldfastError):  # the journal alone is better than nothing
            follow(services, session, event)
    new, _, position = session.span()
    is_early = bool(memo.read(services.state, session.id).answered)
    past = not is_early and not session.unrecorded_overrides and _is_past(session, event, new)
    mark = pastgate.PastGate(session.id, services.now(), position, len(new))
    wrote: list[str] = []
    try:
        session.compact(0, _payload(event, session), on_summary=wrote.append)
    except HoldfastError:
        if past:
            with suppress(Unavailable):
                pastgate.note(services.state, mark)
        raise
    if past and (wrote or not new):  # otherwise another process's flush covers the messages
        pastgate.note(services.state, mark)


def at_start(services: Services, event: Event) -> str:
    """Save the messages dropped by a compaction past the gate, at the start after it. Returns a sentence for
    the user, or an empty string. An error is logged, and the session stays UNSAFE."""
    if event.client != "claude-code" or event.source != "compact":
        return ""
    try:
        session = Session(services, event.session)
        if not _waits(session):
            try:
                _drop(services, session, event)
            except HoldfastError as error:
                log(services.state, event.client, event.kind, f"{type(error).__name__}: {error.message}")
        *_, position = session.span()
        marks = [mark for mark in pastgate.all_of(services.state) if mark.session == session.id]
    except HoldfastError:
        return ""  # the brief's error says more
    return f"holdfast: {marks[-1].sentence}" if marks and marks[-1].position == position else ""


def _payload(event: Event, session: Session) -> Payload | None:
    """A sub-agent's task belongs to its parent, which has its own handoff, so it leaves no work open."""
    return Payload(work_open=False, curated=CuratedDecision()) if event.agent and session.unflushed else None


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


def _summaries(event: Event, followed: memo.Memo) -> Iterator[str]:
    """The client's own summaries in ``event`` or, since it was ``followed``, in its transcript; the newest first."""
    sent = Reading()
    for position, row in enumerate(map(mapping, event.messages)):
        opencode.take(row, position, sent)
    conversations = [sent.kept]
    for path in event.transcripts:
        offset = followed.offset if path == followed.transcript else 0
        with suppress(ConfigError, Corrupt):
            conversations.append(list(read(path, offset=offset, agent=event.agent).kept))
    for messages in conversations:
        yield from (message.text for message in reversed(messages) if message.tool == SUMMARY)
