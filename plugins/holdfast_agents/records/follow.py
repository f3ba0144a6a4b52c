"""Journals the transcript messages that the session's journal lacks, starting where the last reading ended.

Hooks journal prompts, tool calls and answers as they happen, under their own ids. The transcript later has the same
messages under the client's ids. A transcript message matches a journalled one by tool call id and content, or else by
role and text. Each journalled message matches at most one transcript message, so the same words said twice are two
messages. A message that only the transcript has gets a time between those of its neighbours, so that
:func:`holdfast.journal.order.as_said` finds its place.
"""

import os
import re
import time
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import islice
from typing import NamedTuple

from attrs import evolve

from holdfast.api import ConfigError, Corrupt, Message, Refused, Session
from holdfast.config.serde import moment
from holdfast.fs import checkout, paths, safeopen
from holdfast.text.plain import clean
from holdfast_agents import events, turns
from holdfast_agents.clientfiles import table
from holdfast_agents.events import Event
from holdfast_agents.records import memo as memos
from holdfast_agents.records.memo import Memo
from holdfast_app.base import Services
from holdfast_app.capture import label
from holdfast_app.message_formats.leaves import NO_OUTPUT
from holdfast_app.message_formats.reading import Reading, Transcript
from holdfast_app.message_formats.summaries import SUMMARY
from holdfast_app.transcripts import opencode, read

#: Seconds to wait for the results of finished calls. A client writes its file with a delay of about 100 ms.
PATIENCE_S = 0.5
_PAUSE_S = 0.02
#: Characters to journal with one flush to the disk.
_CHUNK_CHARS = 1_000_000
_MOMENT = timedelta(microseconds=1)
_HEAD_BYTES = 512
#: How many earlier sessions' recordings are evidence.
_EARLIER = 8
#: A line number that starts a line.
_NUMBERED = re.compile(r"^\s*\d+(?:→|\t)")


class Followed(NamedTuple):
    """``problem`` is the reason why no transcript could be read, or empty.

    ``unread`` is true when a non-empty transcript exists that could not be read."""

    problem: str
    unread: bool = False


def follow(services: Services, session: Session, event: Event, *, patience_s: float = PATIENCE_S) -> Followed:
    """Bring the session's journal up to date with the transcript that ``event`` names.

    Raises: PluginError, Unavailable. Messages journalled until then stay, and the next call continues from there.
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
            unread = unread or memos.size(path) > 0
            continue
        services.recordings[path] = None
        if event.kind == events.COMPACTING:  # what a result says further than its journal is evidence in later sessions
            for earlier in islice(memos.newest(services.state), _EARLIER):
                if memos.is_of(earlier.client, earlier.transcript, services.root):
                    services.recordings[earlier.transcript] = None
        same = (memo.transcript, memo.head) == (path, head)
        memo = evolve(memo, transcript=path, head=head, offset=memo.offset if same else 0)
        return _take(services, session, memo, transcript, event)
    _branched(services, session, event)
    return Followed(problem, unread=unread)


def _take(services: Services, session: Session, memo: Memo, transcript: Transcript, event: Event) -> Followed:
    _branched(services, session, event, transcript.branch)
    begin = turns.digest(session.journal.first_line())
    again = memo.offset == 0 or memo.journal != begin  # a purge has rewritten the journal: offsets into it are void
    matched_to = 0 if again else memo.matched_to
    if transcript.kept:
        new, matched_to = _unknown(services, session, transcript, matched_to)
        _add(session, new)
        begin = turns.digest(session.journal.first_line())
    memos.write(
        services.state,
        evolve(
            memo,
            client=event.client,
            agent=label(services.gate, event.agent),
            offset=transcript.next_offset,
            journal=begin,
            matched_to=matched_to,
        ),
    )
    if transcript.truncated and not transcript.next_offset:
        return Followed("the transcript is damaged in its middle", unread=True)
    return Followed("")


def _branched(services: Services, session: Session, event: Event, reported: str = "") -> None:
    """Note the branch in the working folder, or the one that the client has ``reported``."""
    here = checkout.branch(event.cwd) if event.cwd else ""
    session.branch = label(services.gate, here or reported) or session.branch


# reading


def _given(event: Event) -> Transcript:
    reading = Reading()
    for position, row in enumerate(event.messages):
        if not (isinstance(row, dict) and opencode.take(row, position, reading)):
            reading.unknown(row, position)
    return reading.finish(event.client, next_offset=0, truncated=False)


def _settled(path: str, memo: Memo, event: Event, patience_s: float) -> tuple[Transcript, str]:
    """The file's content after the memo's offset, once no call waits for its result and the file has stopped growing,
    or after ``patience_s``. Raises: ConfigError, Corrupt."""
    until = time.monotonic() + patience_s
    head = _head(path)
    offset = memo.offset if (memo.transcript, memo.head) == (path, head) else 0
    agent = event.agent if event.client == "claude-code" else ""
    whole = read(path, offset=offset, agent=agent)
    while time.monotonic() < until and (_awaits(whole) or _has_grown(path, whole)):
        time.sleep(_PAUSE_S)
        if _has_grown(path, whole):
            whole = read(path, offset=offset, agent=agent)
    return whole, head


def _head(path: str) -> str:
    """A digest of the file's first line, up to a limit. Appending does not change it once the line is complete."""
    try:
        with safeopen.reader(os.path.realpath(path), private=False) as file:
            first = file.readline(_HEAD_BYTES)
    except (OSError, ValueError):
        return ""  # reading the file gives a better error
    return turns.digest(first)


def _has_grown(path: str, transcript: Transcript) -> bool:
    return 0 < transcript.next_offset < memos.size(path)


def _awaits(transcript: Transcript) -> bool:
    """Whether a call at the very end has no result yet. An earlier call without a result was interrupted."""
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


# recognising


def _unknown(
    services: Services, session: Session, transcript: Transcript, matched_to: int
) -> tuple[list[Message], int]:
    """The messages that the journal lacks, and where the last matched record ends."""
    known: set[str] = set()
    waiting: dict[tuple[str, str], deque[tuple[int, str, str]]] = defaultdict(deque)
    for entry in session.journal.entries(matched_to):
        record = entry.record
        if record["kind"] == "message":
            known.add(record["id"])
            if record["id"].startswith(turns.MARK):
                key = record["role"], record.get("call") or record["text"]
                waiting[key].append((entry.end, record["text"], record["at"]))
    # The event after the compaction brings the summary, see `gated.compacted`.
    left = [m for m in transcript.kept if m.id not in known and m.tool != SUMMARY]
    met = matched_to
    times: dict[str, str] = {}
    rewritten = paths.rewriter(services.root)
    # Messages are compared unchanged, then as admitted by the gate. Only messages with secrets differ.
    for texts in (_plain, _admitted):
        wanted = {role for (role, _), ends in waiting.items() if ends}
        if not wanted:
            break
        asked = {m.id: rewritten(m.text) for m in left if m.role in wanted}
        by_id = dict(zip(asked, texts(services, list(asked.values())), strict=True))
        unmatched = []
        for message in left:
            call, text = transcript.calls.get(message.id), by_id.get(message.id, "")
            ends = waiting.get((message.role, turns.digest(call) if call else text))
            same = _says if message.role == "tool" else _calls
            recorded = next((e for e in ends or () if not call or same(e[1], text)), None)
            if ends and recorded:
                ends.remove(recorded)
                met = max(met, recorded[0])
                times[message.id] = recorded[2]
            else:
                unmatched.append(message)
        left = unmatched
    return _placed(transcript.kept, left, times), met


def _placed(messages: Sequence[Message], new: Sequence[Message], times: Mapping[str, str]) -> list[Message]:
    """``new`` with times between those of their neighbours in the transcript's ``messages`` that hooks journalled at
    ``times``, whatever the transcript's own clock says."""
    met = {key: moment(at) for key, at in times.items()}
    after: dict[str, datetime] = {}
    latest: datetime | None = None
    for message in reversed(messages):
        latest = met.get(message.id, latest)
        if latest is not None:
            after[message.id] = latest
    wanted = {m.id for m in new}
    placed: list[Message] = []
    earliest: datetime | None = None
    for message in messages:
        earliest = met.get(message.id, earliest)
        if message.id not in wanted:
            continue
        at = min(message.at, after[message.id] - _MOMENT) if message.id in after else message.at
        at = max(at, earliest) if earliest is not None else at
        placed.append(message if at == message.at else evolve(message, at=at))
    return placed


def _says(recorded: str, shown: str) -> bool:
    """Whether a recorded result contains the transcript's version. A hook gets the tool's raw result, the transcript
    the one shown to the model, for example with numbered lines."""
    if shown == NO_OUTPUT or shown in recorded:
        return True
    return all(_NUMBERED.sub("", line).strip() in recorded for line in shown.splitlines())


def _calls(recorded: str, shown: str) -> bool:
    """The same for a call. Its tool and arguments may have other names in the transcript."""
    return shown in recorded or all((line.partition(": ")[2] or line) in recorded for line in shown.splitlines())


def _plain(services: Services, texts: Sequence[str]) -> Sequence[str]:
    return [clean(text) for text in texts]


def _admitted(services: Services, texts: Sequence[str]) -> Sequence[str]:
    try:
        return services.gate.admit_all(texts, surface="journal")
    except Refused:
        return _plain(services, texts)


# adding


def _add(session: Session, messages: Sequence[Message]) -> None:
    """Journal the messages in chunks. Raises: PluginError, Unavailable."""
    start = size = 0
    for end, message in enumerate(messages, 1):
        size += len(message.text)
        if size >= _CHUNK_CHARS or end == len(messages):
            _add_chunk(session, messages[start:end])
            start, size = end, 0


def _add_chunk(session: Session, chunk: Sequence[Message]) -> None:
    """Journal the messages. A message refused by the gate is replaced by a placeholder, because it would be refused at
    every try and block the session forever. Raises: PluginError, Unavailable."""
    try:
        session.extend(chunk)
    except Refused as refused:
        if len(chunk) == 1:
            session.extend([evolve(chunk[0], text=turns.withheld(refused), tool="")])
            return
        half = len(chunk) // 2
        _add_chunk(session, chunk[:half])
        _add_chunk(session, chunk[half:])


# the sub-agent that a compaction is of


def running(event: Event) -> list[Event]:
    """``event`` once for each sub-agent whose call has no result in any transcript yet.

    Empty for an event that names its agent, and for a client without such files.
    """
    path = next(iter(event.transcripts), "")
    folder = os.path.join(path.rpartition(".")[0], "subagents")
    if event.agent or event.client != "claude-code" or not path:
        return []
    try:  # an agent that ran before `/clear` has no transcript here
        files = [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith(".jsonl")]
    except (OSError, ValueError):  # usually the folder is missing
        return []
    calls = {file: events.text(table(f"{file.removesuffix('.jsonl')}.meta.json"), "toolUseId") for file in files}
    answered = {call for file in (path, *files) for call in _answered(file, {c for c in calls.values() if c})}
    children = []
    for file in (file for file, call in calls.items() if call and call not in answered):
        agent = os.path.basename(file).removesuffix(".jsonl").removeprefix("agent-")
        session = events.session_of(event.client, event.native, agent)
        children.append(event._replace(agent=agent, session=session, transcripts=(file, path)))
    return children


def owner(event: Event) -> Event:
    """``event``, as a sub-agent's when one is running and wrote after its parent, which waits for it."""
    return max([*running(event), event], key=lambda one: memos.changed(next(iter(one.transcripts), "")))


def _answered(path: str, calls: set[str]) -> set[str]:
    """Those of ``calls`` that have a result in a transcript."""
    answered: set[str] = set()
    with suppress(OSError), safeopen.reader(os.path.realpath(path), private=False) as file:
        for line in file:
            if b'"tool_result"' in line:
                answered |= {call for call in calls if f'"{call}"'.encode() in line}
    return answered
