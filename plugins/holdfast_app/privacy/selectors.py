"""Purges as edits of stored text: by subject, by session, by date, or everything."""

import os
import re
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, date, datetime, tzinfo
from typing import Any, Final

from attrs import evolve, fields

from holdfast.config.layout import Layout, Surface
from holdfast.config.serde import moment
from holdfast.errors import BadValue, Corrupt, HoldfastError
from holdfast.flush import handoff, notes
from holdfast.models import Fact
from holdfast.storage import block_ids
from holdfast_app.base import Services
from holdfast_app.facts.store import origins
from holdfast_app.journal.journal import Journal
from holdfast_app.privacy.transforms import Edit, Needle, any_in_bytes, edit_bytes, fold, is_temporary, map_texts
from holdfast_app.records import blocks

MIN_SUBJECT_CHARS: Final = 2
_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_STAMP_SESSION: Final = re.compile(r"(<!-- at=\S+ session=).*( reason=\S+ -->)")
#: Keys whose values holdfast generates.
_OURS: Final = frozenset({"kind", "at", "role", "crc", "version"})


class BySubject(Edit):
    """Everything that holds ``text``: lines of documents, strings in records, facts, rows, sessions named after it."""

    rejects = True

    def __init__(self, text: str) -> None:
        if len(fold(text)) < MIN_SUBJECT_CHARS:
            step = "Name the subject as it is written; `--all` removes everything."
            raise BadValue("subject", f"has fewer than {MIN_SUBJECT_CHARS} characters", next_step=step)
        self._needle = Needle(text)
        self._private = ""

    def begin(self, services: Services) -> None:
        self._private = services.state + os.sep

    def traces(self) -> tuple[Needle, ...]:
        return (self._needle,)

    def session(self, session_id: str, last: datetime | None) -> bool:
        return self._needle.in_text(session_id)

    def record(self, record: dict[str, Any]) -> dict[str, Any]:
        if self._holds(str(record.get("id", ""))):
            # Two records with the same id would count as one message.
            record = {**record, "id": "purged-" + os.urandom(6).hex()}
        return map_texts(record, self._text, keep=_OURS)

    def document(self, surface: Surface | None, name: str, text: str) -> str | None:
        if self._holds(name):
            return None
        if not self._holds(text):
            return text
        if surface is Surface.HANDOFF:
            new = edit_handoff(text, self._work)
            if new is None:
                return self._lines(text)
            # Text written below the entries is not part of them, and the next flush replaces it anyway.
            return handoff.render(handoff.parse(new)) if self._holds(new) else new
        if surface is Surface.DAILY:
            text = _STAMP_SESSION.sub(lambda m: m[1] + notes.PURGED + m[2] if self._holds(m[0]) else m[0], text)
        return self._lines(text)

    def fact(self, fact: Fact) -> Fact | None:
        return None if any(map(self._holds, (fact.content, fact.source, fact.id))) else fact

    def row(self, row: dict[str, Any]) -> dict[str, Any] | None:
        if not _any_text(row, self._holds):
            return row
        # A dream's end stays, masked. Without it the run counts as killed, and its other lines lose their history.
        return self.table(row) if str(row.get("id")).startswith("dream_") else None

    def table(self, table: dict[str, Any]) -> dict[str, Any] | None:
        if self._holds(str(table.get("session", ""))):
            return None
        return map_texts(table, self._text, keep=_OURS, drop=self._needle.in_key)

    def other(self, path: str, data: bytes) -> bytes | None:
        if self._holds(os.path.basename(path)):
            return None
        if not any_in_bytes(self.traces(), data):
            return data
        new = edit_bytes(data, self._lines)
        if not any_in_bytes(self.traces(), new):
            return new
        # Not line-based. A private leftover is removed, but a user's file in the store stays.
        return None if not path or path.startswith(self._private) or is_temporary(path) else new

    def _holds(self, text: str) -> bool:
        if self._needle.in_text(text):
            return True
        return "\\" in text and any_in_bytes(self.traces(), text.encode("utf-8", "surrogateescape"))

    def _text(self, text: str) -> str:
        return (self._lines(text).strip("\n") or notes.PURGED) if self._holds(text) else text

    def _lines(self, text: str) -> str:
        """``text`` without the lines that hold the subject or parts of it."""
        if not self._holds(text):
            return text
        lines = [line for line in text.split("\n") if not self._holds(line)]
        while self._holds("\n".join(lines)):
            start, end = self._spread(lines)
            del lines[start:end]
        return "\n".join(lines)

    def _spread(self, lines: list[str]) -> tuple[int, int]:
        """The shortest run of lines that holds the subject, with at most as many non-empty lines as words."""
        filled = [number for number, line in enumerate(lines) if line.strip()]
        for count in range(2, self._needle.words + 2):
            for first, last in zip(filled, filled[count - 1 :], strict=False):
                if self._holds("\n".join(lines[first : last + 1])):
                    return first, last + 1
        return 0, len(lines)

    def _work(self, work: handoff.Work) -> handoff.Work | None:
        if self._holds(work.session):
            return None
        changes: dict[str, Any] = {}
        for name in (a.name for a in fields(handoff.Work)):
            value = getattr(work, name)
            if isinstance(value, str) and self._holds(value):
                changes[name] = self._text(value)
            elif isinstance(value, tuple):
                changes[name] = tuple(item for item in value if not self._holds(item))
        return evolve(work, **changes)


class BySession(Edit):
    """Everything from one session: its journal and marker, its blocks in notes and trails, its handoff, its facts."""

    rejects = True

    def __init__(self, session_id: str) -> None:
        if not session_id.strip():
            raise BadValue("session", "is blank", next_step="`holdfast sessions` lists them.")
        self._id = session_id
        self._stamp = f" session={notes.comment(session_id)} "  # marks its blocks; most notes have none
        self._flushes: set[str] = set()
        self._sources: set[str] = {session_id}
        self._days: set[str] = set()  # days of its notes

    def begin(self, services: Services) -> None:
        with suppress(Corrupt):  # its notes are enough
            for entry in Journal(services.state, self._id).entries():
                if entry.record["kind"] == "message":
                    self._sources.add(entry.record["id"])
                receipt = entry.record.get("receipt") or {}
                self._flushes.add(receipt.get("flush_id", ""))
                self._noted(services, *(w["name"] for w in receipt.get("written", ())))
        for name in services.store.names():
            text = ""
            if services.layout.surface_of(name) is Surface.DAILY:
                with suppress(HoldfastError):  # reported when its turn comes
                    document = services.store.read(name)
                    text = document.text if document else ""
            if self._stamp in text:
                self._noted(services, name)
                self._flushes |= {block.id for block in blocks.blocks(text) if self._said(block)}
        self._flushes.discard("")

    def _noted(self, services: Services, *names: str) -> None:
        days = (services.layout.day_of(Surface.DAILY, name) for name in names)
        self._days |= {day.isoformat() for day in days if day}

    def traces(self) -> tuple[Needle, ...]:
        return tuple(Needle(i) for i in sorted(self._flushes))

    def session(self, session_id: str, last: datetime | None) -> bool:
        return session_id == self._id

    def document(self, surface: Surface | None, name: str, text: str) -> str | None:
        if surface is Surface.HANDOFF:
            return edit_handoff(text, lambda work: None if work.session == self._id else work) or text
        if surface is Surface.REPORT:  # derived from that day's notes; can be regenerated
            return None if any(day in name for day in self._days) else text
        if surface in (Surface.DAILY, Surface.TRAIL):
            if self._stamp not in text and not any(map(self._is_of_flush, block_ids(text))):
                return text
            return blocks.without(text, lambda block: self._is_of_flush(block.id) or self._said(block))
        return text

    def fact(self, fact: Fact) -> Fact | None:
        source = origins.unsigned(fact.source)
        return None if source in self._sources or source in self._flushes else fact

    def row(self, row: dict[str, Any]) -> dict[str, Any] | None:
        source = row.get("source")
        source = origins.unsigned(source) if isinstance(source, str) else source
        if self._id in (row.get("session"), row.get("session_id"), source):
            return None
        return None if _any_text(row, self._flushes.__contains__) else row

    def table(self, table: dict[str, Any]) -> dict[str, Any] | None:
        return None if table.get("session") == self._id else table

    def _is_of_flush(self, block_id: str) -> bool:
        """Whether a block belongs to a purged flush. A suffix counts copies."""
        return block_id in self._flushes or block_id.partition("-")[0] in self._flushes

    def _said(self, block: blocks.Block) -> bool:
        return block.session == notes.comment(self._id)


class Before(Edit):
    """Everything from before ``day``: dated documents, sessions, facts, rows. Undated content is kept."""

    def __init__(self, day: date, layout: Layout, zone: tzinfo | None) -> None:
        self._day = day
        self._layout = layout
        self._zone = zone

    def session(self, session_id: str, last: datetime | None) -> bool:
        return last is not None and self._old(last)

    def record(self, record: dict[str, Any]) -> dict[str, Any]:
        receipt = record.get("receipt")
        if record["kind"] in ("message", "summary") and self._old_text(record.get("at")):
            return {**record, "text": notes.PURGED}
        if record["kind"] == "work" and self._old_text(record.get("at")):
            return {**record, "because": "", "work": None}
        if receipt and self._old_text(receipt.get("at")):
            summary = notes.PURGED if receipt.get("summary") else ""
            return {**record, "flush": None, "receipt": {**receipt, "summary": summary}}
        return record

    def document(self, surface: Surface | None, name: str, text: str) -> str | None:
        if surface is Surface.HANDOFF:
            return edit_handoff(text, self._work) or text
        day = day_of(self._layout, surface, name)
        return None if day is not None and day < self._day else text

    def fact(self, fact: Fact) -> Fact | None:
        return None if self._old(fact.created_at) else fact

    def row(self, row: dict[str, Any]) -> dict[str, Any] | None:
        return None if self._old_text(row.get("at") or row.get("since")) else row

    def table(self, table: dict[str, Any]) -> dict[str, Any] | None:
        return None if self._old_text(table.get("at")) else table

    def other(self, path: str, data: bytes) -> bytes | None:
        if not path:
            return data
        return None if self._old(datetime.fromtimestamp(os.stat(path).st_mtime, UTC)) else data

    def _old(self, at: datetime) -> bool:
        return at.astimezone(self._zone).date() < self._day

    def _old_text(self, at: object) -> bool:
        with suppress(ValueError):
            return isinstance(at, str) and self._old(moment(at))
        return False

    def _work(self, work: handoff.Work) -> handoff.Work | None:
        day = self._layout.day_of(Surface.DAILY, work.note)
        return None if day is not None and day < self._day else work


class Everything(Edit):
    """Everything. Third-party documents in the store's folders are kept."""

    def session(self, session_id: str, last: datetime | None) -> bool:
        return True

    document = other = fact = row = table = staticmethod(lambda *_: None)  # type: ignore[assignment]


def day_of(layout: Layout, surface: Surface | None, name: str) -> date | None:
    if surface not in (Surface.HEARTBEAT, Surface.BRIEFING):
        return layout.day_of(surface, name) if surface else None
    match = _DAY.search(name)
    with suppress(ValueError):
        return date.fromisoformat(match[0]) if match else None
    return None


def edit_handoff(text: str, change: Callable[[handoff.Work], handoff.Work | None]) -> str | None:
    """The handoff with ``change`` applied to its entries, or None when it cannot be parsed."""
    try:
        entries = handoff.parse(text)
    except Corrupt:
        return None
    changed = [change(work) for work in entries]
    return text if changed == list(entries) else handoff.render(work for work in changed if work is not None)


def _any_text(value: Any, holds: Callable[[str], bool]) -> bool:
    """Whether any string or key in plain JSON ``holds``."""
    if isinstance(value, str):
        return holds(value)
    inner = (*value, *value.values()) if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(_any_text(item, holds) for item in inner)
