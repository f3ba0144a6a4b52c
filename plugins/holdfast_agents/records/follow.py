"""Journals what a client's transcript has and the session's journal lacks, from where the last reading ended.

Hooks journal prompts, tool calls and answers as they happen, under ids of their own. The transcript has the same
messages, later, under the client's. A message of the transcript is recognised as one of those by the client's id of
the tool call and what it says, otherwise by role and text. Each journalled message matches at most one message of the
transcript, so that the same words said twice are two messages.
"""

from __future__ import annotations

import os
import re
import stat
import time
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from attrs import evolve

from holdfast.errors import ConfigError, Corrupt, Refused
from holdfast.fs import paths
from holdfast.gate import clean
from holdfast.text.excerpts import NO_OUTPUT
from holdfast.text.rows.reading import SUMMARY, Reading, Transcript
from holdfast_agents import turns
from holdfast_agents.records import memo as memos
from holdfast_agents.records.digests import digest
from holdfast_transcripts import opencode, read

if TYPE_CHECKING:
    from holdfast.models import Message
    from holdfast.session.services import Services
    from holdfast.session.session import Session
    from holdfast_agents.events import Event
    from holdfast_agents.records.memo import Memo

#: A client's file lags behind by some 100 ms: so long, in seconds, is waited for results of calls that were made.
PATIENCE_S = 0.5
_PAUSE_S = 0.02
_CHUNK = 500
_HEAD_BYTES = 512
#: The number of a line, before its text.
_NUMBERED = re.compile(r"^\s*\d+(?:→|\t)")


class Followed(NamedTuple):
    """``problem`` says why no transcript could be read, empty when one was; ``said`` is how many messages it had.

    ``unread`` is true when there is a transcript with something in it that could not be read."""

    problem: str
    said: int = 0
    unread: bool = False


def follow(services: Services, session: Session, event: Event, *, patience_s: float = PATIENCE_S) -> Followed:
    """Bring the session's journal up to the transcript that ``event`` names.

    Raises: PluginError, Unavailable; what was journalled until then stays, and the next call goes on from there.
    """
    memo = memos.read(services.state, session.id)
    if event.messages:
        return _take(services, session, memo, _given(event), event)
    problem, unread = "the client named no transcript", False
    for path in event.transcripts:
        try:
            transcript, head = _settled(path, memo, event, patience_s)
        except (ConfigError, Corrupt) as error:
            problem = error.message
            unread = unread or _holds_something(path)
            continue
        same = (memo.transcript, memo.head) == (path, head)
        memo = evolve(memo, transcript=path, head=head, offset=memo.offset if same else 0)
        return _take(services, session, memo, transcript, event)
    return Followed(problem, unread=unread)


def _holds_something(path: str) -> bool:
    """Whether there is anything at ``path`` but an empty file."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return False
    return not stat.S_ISREG(found.st_mode) or found.st_size > 0


def _take(services: Services, session: Session, memo: Memo, transcript: Transcript, event: Event) -> Followed:
    begin = digest(session.journal.first_line())
    again = memo.offset == 0 or memo.journal != begin  # a purge has rewritten the journal: offsets into it are void
    matched_to = 0 if again else memo.matched_to
    if transcript.kept:
        new, matched_to = _unknown(services, session, transcript, matched_to)
        _add(session, new)
        begin = digest(session.journal.first_line())
    session.branch = services.gate.label(transcript.branch) or session.branch
    memos.write(
        services.state,
        evolve(
            memo,
            client=event.client,
            agent=services.gate.label(event.agent),
            offset=transcript.next_offset,
            journal=begin,
            matched_to=matched_to,
        ),
    )
    if transcript.truncated and not transcript.next_offset:
        return Followed("the transcript is damaged in its middle", len(transcript.messages), unread=True)
    return Followed("", len(transcript.messages))


# reading


def _given(event: Event) -> Transcript:
    reading = Reading()
    for position, row in enumerate(event.messages):
        if not (isinstance(row, dict) and opencode.take(row, position, reading)):
            reading.unknown(row, position)
    return reading.finish(event.client, next_offset=0, truncated=False)


def _settled(path: str, memo: Memo, event: Event, patience_s: float) -> tuple[Transcript, str]:
    """What the file holds beyond the memo's offset, once no call waits for its result and the file has stopped growing,
    or patience is at its end. Raises: ConfigError, Corrupt."""
    until = time.monotonic() + patience_s
    head = _head(path)
    offset = memo.offset if (memo.transcript, memo.head) == (path, head) else 0
    agent = event.agent if event.client == "claude-code" else ""
    whole = read(path, offset=offset, agent=agent)
    while time.monotonic() < until and (_awaits(whole) or _has_grown(path, whole)):
        time.sleep(_PAUSE_S)
        if _has_grown(path, whole):
            more = read(path, offset=whole.next_offset, agent=agent)
            appended = bool(whole.next_offset) and more.next_offset >= whole.next_offset
            whole = _joined(whole, more) if appended else more
    return whole, head


def _head(path: str) -> str:
    """A digest of the file's beginning. Appending never changes it, but for files shorter than that."""
    try:
        with open(path, "rb") as file:
            first = file.readline(_HEAD_BYTES)
    except (OSError, ValueError):
        return ""  # reading it tells the reason better
    return digest(first)


def _has_grown(path: str, transcript: Transcript) -> bool:
    try:
        return transcript.next_offset > 0 and os.stat(path).st_size > transcript.next_offset
    except OSError:
        return False


def _awaits(transcript: Transcript) -> bool:
    """Whether a call at the very end has no result yet. One further up was interrupted: nothing will come of it."""
    results: set[str] = set()
    for message in reversed(transcript.messages):
        call = transcript.calls.get(message.id)
        if message.role == "tool":
            results.add(call or "")
        elif not message.tool:
            return False
        elif call is not None and call not in results:
            return True
    return False


def _joined(first: Transcript, more: Transcript) -> Transcript:
    return evolve(
        more,
        messages=(*first.messages, *more.messages),
        kept=(*first.kept, *more.kept),
        calls={**first.calls, **more.calls},
        skipped=first.skipped + more.skipped,
    )


# recognising


def _unknown(
    services: Services, session: Session, transcript: Transcript, matched_to: int
) -> tuple[list[Message], int]:
    """The messages that the journal lacks, and the end of the last record that was met."""
    known: set[str] = set()
    waiting: dict[tuple[str, str], deque[tuple[int, str]]] = defaultdict(deque)
    for entry in session.journal.entries(matched_to):
        record = entry.record
        if record["kind"] == "message":
            known.add(record["id"])
            if record["id"].startswith(turns.MARK):
                waiting[_key_of_record(record)].append((entry.end, record["text"]))
    # The event after the compaction hands the summary over, see `gated.compacted`.
    left = [m for m in transcript.kept if m.id not in known and m.tool != SUMMARY]
    met = matched_to
    # What was said is compared as it is, then as the gate lets it through: only texts with secrets differ.
    for texts in (_plain, _admitted):
        wanted = {role for (role, _), ends in waiting.items() if ends}
        if not wanted:
            break
        asked = [m for m in left if m.role in wanted]
        by_id = dict(zip((m.id for m in asked), texts(services, asked), strict=True))
        kept = []
        for message in left:
            call, text = transcript.calls.get(message.id), by_id.get(message.id, "")
            ends = waiting.get((message.role, turns.call_digest(call) if call else text))
            same = _says if message.role == "tool" else _calls
            found = next((e for e in ends or () if not call or same(e[1], text)), None)
            if ends and found:
                ends.remove(found)
                met = max(met, found[0])
            else:
                kept.append(message)
        left = kept
    return left, met


def _says(recorded: str, told: str) -> bool:
    """Whether a record of a call holds what the transcript says of it. A hook gets a result as the tool made it, the
    transcript as the model saw it, with numbered lines, say."""
    if told == NO_OUTPUT or told in recorded:
        return True
    return all(_NUMBERED.sub("", line).strip() in recorded for line in told.splitlines())


def _calls(recorded: str, told: str) -> bool:
    """The same for a call, whose tool and arguments may have other names in the transcript."""
    return told in recorded or all((line.partition(": ")[2] or line) in recorded for line in told.splitlines())


def _key_of_record(record: dict[str, Any]) -> tuple[str, str]:
    return record["role"], record.get("call") or record["text"]


def _plain(services: Services, messages: Sequence[Message]) -> Iterable[str]:
    rewritten = paths.rewriter(services.root)
    return [clean(rewritten(m.text)) for m in messages]


def _admitted(services: Services, messages: Sequence[Message]) -> Iterable[str]:
    rewritten = paths.rewriter(services.root)
    try:
        return services.gate.admit_all([rewritten(m.text) for m in messages], surface="journal")
    except Refused:
        return _plain(services, messages)


# adding


def _add(session: Session, messages: Sequence[Message]) -> None:
    """Journal them, many at once. Of one that the gate refuses only that it was said: it would be refused again at
    every try, and hold the session for ever. Raises: PluginError, Unavailable."""
    for start in range(0, len(messages), _CHUNK):
        chunk = messages[start : start + _CHUNK]
        try:
            session.extend(chunk)
        except Refused:
            for message in chunk:
                try:
                    session.extend([message])
                except Refused as refused:
                    session.extend([evolve(message, text=turns.withheld(refused), tool="")])
