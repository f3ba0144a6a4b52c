"""Searchable content: every turn in every journal, every line of notes and documents, every fact.

The stamp of a :class:`Source` changes with its content, so unchanged sources are not read. Content is stored
redacted and is redacted again when it is read.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from typing import Final, NamedTuple

from holdfast import Holdfast
from holdfast.config.layout import Surface
from holdfast.errors import Corrupt, Unavailable
from holdfast.fs import paths
from holdfast.storage import Capability
from holdfast.text import untrusted
from holdfast.text.lazy import Lazy
from holdfast_app.journal import journal, past
from holdfast_app.journal.journal import Journal
from holdfast_app.markdown import marks
from holdfast_app.records import ownlines
from holdfast_app.search import KINDS

TURN, NOTE, DECISION, RULE, REJECTED, OPEN, MEMORY, FACT, DOCUMENT = KINDS
#: Searched characters of a tool's output, from its beginning, because the rest is files and logs.
TOOL_CHARS: Final = 8_000
_DAY: Final = Lazy(r"\d{4}-\d\d-\d\d")
#: Kinds of lines by their heading or field, and by their label in a note.
_PARTS: Final = {
    "rules": RULE, "preferences": RULE, "conventions": RULE, ownlines.RULES.lower(): RULE,
    "decisions": DECISION, "rejected": REJECTED, ownlines.GIVEN_UP.lower(): REJECTED, "given up": REJECTED,
    "open questions": OPEN, "blocker": OPEN, "needed from the operator": OPEN,
}  # fmt: skip
_LABELS: Final = {"- Decision: ": DECISION, "- Rule: ": RULE, "- Rejected: ": REJECTED}
_PART: Final = Lazy(r"#{1,6} (?P<title>.+)|- \*\*(?P<field>[^*]+):\*\*(?P<value> .+)?")
#: Seconds from a day's beginning to its last one. A line of a document is dated by its day's beginning.
REST_OF_DAY_S: Final = 86_399
#: Seconds for which a server's content counts as unchanged.
_REMOTE_S: Final = 60
_LINE: Final = Lazy("^.*$", re.MULTILINE)
#: The handoff's table for programs, which repeats its text.
_TABLE: Final = Lazy(r"\A\+\+\+\n.*?^\+\+\+$", re.MULTILINE | re.DOTALL)

_KINDS_OF: Final = {
    Surface.DAILY: NOTE, Surface.DIARY: NOTE, Surface.MEMORY: MEMORY, Surface.USER: MEMORY,
    Surface.TRAIL: None, Surface.REPORT: None, Surface.HEARTBEAT: None, Surface.BRIEFING: None,
}  # fmt: skip


class Source(NamedTuple):
    """A journal (``name`` is the file), a document, or the facts (no name). ``stamp`` changes with its content."""

    kind: str
    name: str
    stamp: str


class Text(NamedTuple):
    """One text. ``place`` is a turn's number, a line's number or a fact's id; ``at`` a time stamp, 0 when unknown;
    ``after`` where to read on in a journal, in bytes."""

    kind: str
    place: str
    at: float
    role: str
    body: str
    after: int = 0


def sources(memory: Holdfast) -> Iterator[Source]:
    """All of them, with their stamps. Raises: Unavailable."""
    services, config = memory.services, memory.config
    stamps = {f"{session.stem}.jsonl": f"{session.size} {session.crc}" for session in past.every(services.state)}
    stamps |= {os.path.basename(path): _stamp(path) for path in journal.session_files(services.state)}
    yield from (Source(TURN, name, stamp) for name, stamp in stamps.items() if stamp)
    if is_served(memory):
        return
    folder = os.path.normpath(os.path.join(services.root, config.storage.path))
    local = Capability.LOCAL_FILES in services.store.backend.capabilities
    whole = ""  # of a store that is not files: its databases, or the minute when it is on a server
    if services.is_remote:
        whole = str(int(services.clock().timestamp()) // _REMOTE_S)
    elif not local:
        with suppress(OSError):
            names = (name for name in sorted(os.listdir(folder)) if name.endswith((".db", ".db-wal")))
            whole = " ".join(_stamp(os.path.join(folder, name)) for name in names)
    # When a document's day began depends on the zone.
    zone = config.zone if config.tz else f"{time.timezone} {time.altzone}"
    for name in services.store.names():
        stamp = _stamp(os.path.join(folder, *name.split("/"))) if local else whole
        yield Source(DOCUMENT, name, f"{stamp} {zone} {services.store.provenance.stamp}")
    stamp = _stamp(os.path.join(folder, config.storage.facts)) if local else whole
    yield Source(FACT, "", f"{stamp} {services.store.provenance.stamp}")


def is_served(memory: Holdfast) -> bool:
    """Whether the backend searches its documents and facts itself, so that they are not fetched for the index."""
    return {Capability.REMOTE, Capability.SEARCH} <= memory.services.store.backend.capabilities


def _stamp(path: str) -> str:
    """Changes with the file's content; empty when it is missing."""
    with suppress(OSError):
        status = os.stat(path)
        return f"{status.st_ino} {status.st_size} {status.st_mtime_ns}"
    return ""


def origin(memory: Holdfast, source: Source) -> str:
    """Identifies a journal: with the same origin it has only grown. Empty for other sources, and for a journal that is
    gone or does not begin as one. Raises: Unavailable."""
    with suppress(Corrupt):
        opened = _journal(memory, source) if source.kind == TURN else None
        return opened.first_line().decode("utf-8", "replace") if opened else ""
    return ""


def session_of(origin: str) -> str:
    """The session id of a source of turns."""
    return str(untrusted.from_json(origin.encode())["id"])


def _journal(memory: Holdfast, source: Source) -> Journal | None:
    """None for a journal that is gone or empty. Raises: Corrupt for a damaged first line; Unavailable."""
    path = os.path.join(memory.services.state, "sessions", source.name)
    try:
        session = journal.session_id_of(path)
    except Unavailable:
        if os.path.lexists(path):
            raise
        return None  # retention or a purge removed it after it was listed
    if not session and os.path.exists(path) and os.path.getsize(path):
        raise Corrupt(f"{paths.ending(path, 4)} has a damaged first line.", next_step="Run `holdfast doctor --repair`.")
    return Journal(memory.services.state, session) if session else None


def _turns(memory: Holdfast, source: Source, start: int) -> Iterator[Text]:
    """A session's messages from a journal's offset on, in order. Raises: Corrupt after the last whole message."""
    opened = _journal(memory, source)
    for entry in opened.entries(start) if opened else ():
        record = entry.record
        if record["kind"] == "message":
            role = "tool" if record.get("tool") else record["role"]  # a call, too
            body = record["text"][:TOOL_CHARS] if record["role"] == "tool" else record["text"]
            at = datetime.fromisoformat(record["at"]).timestamp()
            yield Text(TURN, record["id"], at, role, body if body.strip() else "", entry.end)
        else:
            yield Text(TURN, "", 0, "", "", entry.end)


def document(memory: Holdfast, name: str) -> Iterator[Text]:
    """A document's meaningful lines, without withheld ones. Raises: Corrupt, Unavailable."""
    stored, kind = memory.services.recalled(name), kind_of(memory, name)
    if stored is None or kind is None:
        return
    day = day_of(memory, name)
    at = day.timestamp() if day else 0.0
    table = _TABLE.search(stored.text) if memory.services.layout.surface_of(name) == Surface.HANDOFF else None
    begin = table.end() if table else 0
    part = kind
    for number, line in enumerate(_LINE.finditer(stored.text), 1):  # a list of short lines takes many times their bytes
        body = marks.shown(line[0]).strip() if line.start() >= begin else ""
        heads = _PART.fullmatch(body)
        if heads:
            part = _PARTS.get((heads["title"] or heads["field"]).lower(), kind)
        if body and not ownlines.is_own(body) and not (heads and part != kind and not heads["value"]):
            labelled = next((_LABELS[label] for label in _LABELS if body.startswith(label)), part)
            yield Text(labelled, str(number), at, "", body)


def kind_of(memory: Holdfast, name: str) -> str | None:
    """The kind for a document's lines, None for documents that repeat content stored elsewhere."""
    surface = memory.services.layout.surface_of(name)
    return _KINDS_OF.get(surface, DOCUMENT) if surface else DOCUMENT


def day_of(memory: Holdfast, name: str) -> datetime | None:
    """When the day began that a document is named after; None when it is named after none."""
    match = _DAY.search(name)
    with suppress(ValueError):
        return datetime.fromisoformat(match[0]).replace(tzinfo=memory.config.tz) if match else None
    return None


def read(memory: Holdfast, source: Source, start: int) -> Iterator[Text]:
    """A source's content that is not withheld, a journal's from ``start``; or empty. Raises: Corrupt, Unavailable."""
    if source.kind == TURN:
        yield from _turns(memory, source, start)
    elif source.kind == DOCUMENT:
        yield from document(memory, source.name)
    else:
        for fact in memory.store.known_facts(memory.facts.list()):
            yield Text(FACT, fact.id, fact.created_at.timestamp(), fact.category, fact.content)
