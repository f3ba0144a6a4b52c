"""A session's context, as its journal records it: messages, those a flush covers, and dropped ones."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from attrs import evolve

from holdfast.config.serde import moment, receipt_from, unstructure
from holdfast.errors import Conflict, Corrupt, HoldfastError, Unavailable
from holdfast.journal import order, safety, summaries
from holdfast.journal.journal import Entry
from holdfast.journal.safety import State, Stated
from holdfast.models import Message, Receipt
from holdfast.services.services import Services


class Context:
    """``messages`` are those still in context, oldest first. Several processes may use one session. Each sees the
    others' messages when it catches up. Threads may share one object."""

    def __init__(self, services: Services, session_id: str) -> None:
        self._services = services
        #: The stored id, with any secret masked.
        self.id = services.gate.identifier(session_id)
        self.journal = services.journal(self.id)
        #: A flush failed and not even its marker could be written: UNSAFE, but only this object knows.
        self.unmarked = False
        self.unwritten: list[Stated] = []  # that flush's payloads
        self._lock = threading.RLock()  # guards the fields below; never held while a hook runs
        self._begin()
        self._load()

    def _begin(self) -> None:
        self.provider = ""
        self.branch = ""
        self.ended = False
        self.last_receipt: Receipt | None = None
        #: The last flush's record (:meth:`holdfast.flush.plan.Plan.flushed`), to write it again.
        self.last_flush: dict[str, Any] | None = None
        self.override_reason = ""
        self._first_line = b""  # of the journal as read
        self._log: list[tuple[int, Message]] = []  # messages in context or not yet flushed, with their offsets
        self._ids: set[str] = set()
        self._flushed_to = 0
        self._kept_from = 0
        self._read_to = 0
        self._last_message = -1
        self._summarised_to = 0  # summaries that begin before this offset cover dropped messages
        self._unrecorded: list[str] = []  # overrides not yet in a daily note

    # contents

    @property
    def messages(self) -> list[Message]:
        """The messages in context, oldest first."""
        return [m for offset, m in self._log if offset >= self._kept_from]

    @property
    def unflushed(self) -> list[Message]:
        """The messages that no flush covers yet, oldest first."""
        return [m for offset, m in self._log if offset >= self._flushed_to]

    @property
    def summary(self) -> str:
        """The running summary: summaries of dropped messages, oldest first. Raises: Unavailable."""
        with self._lock:
            return summaries.text(self.journal.of_kinds("summary", until=self._read_to), self._summarised_to)

    @property
    def token_usage(self) -> int:
        """Tokens of the messages in context, by the configured counter."""
        return sum(m.tokens for m in self.messages)

    @property
    def state(self) -> State:
        """SAFE, DIRTY or UNSAFE. Reads the marker, so it is true across processes."""
        if self.unmarked or safety.read(self._services.state, self.id) is not None:
            return State.UNSAFE
        return State.DIRTY if self.unflushed else State.SAFE

    @property
    def unsafe(self) -> bool:
        return self.state is State.UNSAFE

    @property
    def unrecorded_overrides(self) -> tuple[str, ...]:
        return (*self._unrecorded, *([self.override_reason] if self.override_reason else []))

    # state from the journal

    def catch_up(self) -> None:
        """Read additions to the journal, or all of it after a rewrite. Raises: Corrupt; Unavailable."""
        with self._lock:
            try:
                self._read_on()
            except Corrupt:
                if self.journal.first_line() == self._first_line:
                    raise
                self._read_on()  # a purge rewrote the journal while it was read

    def _read_on(self) -> None:
        first = self.journal.first_line()
        if self._first_line not in (b"", first):
            self._begin()  # purged messages must not come back from memory
            self._load()
            return
        self._first_line = first
        for entry in self._entries():
            self._apply(entry)

    def _entries(self) -> Iterator[Entry]:
        """The unread ones; none of a journal that was begun after its first line was looked for. Without that line a
        rewrite would go unnoticed."""
        for entry in self.journal.entries(self._read_to):
            if not self._first_line:
                return
            yield entry

    def span(self) -> tuple[list[Message], int, int]:
        """The messages that a flush must cover now, as said, the offset of their end, and the newest message's."""
        with self._lock:
            return order.as_said(self.unflushed), self._read_to, self._last_message

    def record_flush(self, receipt: Receipt, flushed: dict[str, Any], upto: int, summary: list[dict[str, Any]]) -> None:
        """Mark everything before offset ``upto`` as flushed. Later messages are not in the note.

        ``flushed`` is the next :attr:`last_flush`; ``summary`` records of the running summary. Called last.
        """
        with self._lock:
            before = self._unrecorded, self.override_reason, self._flushed_to, self.last_receipt, self.last_flush
            self._unrecorded, self.override_reason = [], ""
            self._flushed_to, self.last_receipt, self.last_flush = upto, receipt, flushed
            try:
                self._checkpoint(*summary)
            except HoldfastError:  # or the next flush would answer with a receipt that is in no journal
                self._unrecorded, self.override_reason, self._flushed_to, self.last_receipt, self.last_flush = before
                raise

    def _load(self) -> None:
        self._first_line = self.journal.first_line()
        checkpoint = self.journal.last_checkpoint()
        settled = 0  # up to here the checkpoint has everything except the messages
        if checkpoint is not None:
            settled = checkpoint.start
            self._kept_from, self._flushed_to = checkpoint.record["kept_from"], checkpoint.record["flushed_to"]
            self._read_to = min(self._kept_from, self._flushed_to)
        for entry in self._entries():
            if entry.start >= settled or entry.record["kind"] == "message":
                self._apply(entry)

    def _append(self, *records: dict[str, Any], first_line: bytes = b"") -> Entry:
        with self._lock:
            try:
                entries = self.journal.append(*records, first_line=first_line)
            except Conflict:
                self.catch_up()
                raise
            if not self._read_to:
                self._first_line = self.journal.begins
                self._read_to = len(self._first_line)
            if self.journal.only_ours and entries[0].start == self._read_to:
                for entry in entries:
                    self._apply(entry)
            else:
                self.catch_up()
            return entries[-1]

    def _apply(self, entry: Entry) -> None:
        record = entry.record
        kind = record["kind"]
        if kind == "message" and record["id"] not in self._ids:
            self._ids.add(record["id"])
            self._log.append((entry.start, self._message(record)))
            self._last_message = entry.start
            self.ended = False
        elif kind == "provider":
            self.provider = record["name"]
        elif kind == "override":
            self.override_reason = record["reason"]
        elif kind == "checkpoint":
            self._kept_from, self._flushed_to = record["kept_from"], record["flushed_to"]
            self.provider = record["provider"]
            self.branch = record["branch"]
            self._last_message = max(self._last_message, record["last_message"])
            self._summarised_to = record["summarised_to"]
            self.last_flush = record.get("flush")
            self._unrecorded = list(record["unrecorded"])
            self.override_reason = record["override"]
            self.last_receipt = receipt_from(record["receipt"]) if record["receipt"] else None
            first = min(self._kept_from, self._flushed_to)
            self._log = [item for item in self._log if item[0] >= first]
            # Another process may have added a message just before this line.
            self.ended = record["ended"] and self._last_message == record["last_message"]
        elif kind == "shipped" and self.last_receipt is not None:
            shipped = receipt_from(record["receipt"])
            self.last_receipt = shipped if shipped.is_same(self.last_receipt) else self.last_receipt
        self._read_to = entry.end

    def _message(self, record: dict[str, Any]) -> Message:
        text, tokens = record["text"], record.get("tokens")
        if type(tokens) is not int or tokens < 0:  # none, or one that earlier versions did not check
            tokens = self._services.count_tokens(text)
        return Message(
            role=record["role"],
            text=text,
            at=moment(record["at"]),
            id=record["id"],
            tokens=tokens,
            tool=record.get("tool", ""),
            failed=record.get("failed", False),
        )

    def use_override(self) -> str:
        """Take the operator's override, once and durably, because the caller drops context. Empty if none."""
        reason, self.override_reason = self.override_reason, ""
        if reason:
            self._unrecorded.append(reason)
            self._checkpoint()
            self.unwritten = [evolve(entry, waived=True) for entry in self.unwritten]
            with suppress(Unavailable):  # the marker only blocks for longer
                safety.waive(self._services.state, self.id)
        return reason

    def _drop(self, count: int, receipt: Receipt | None) -> list[Message]:
        """Drop the first ``count`` messages in context and record it durably. A message that the flush does not cover
        stays, because another process may have added it, unless an operator overrode that."""
        with self._lock:
            offsets = [offset for offset, _ in self._log if offset >= self._kept_from]
            if receipt is None or not receipt.overridden:
                count = min(count, sum(offset < self._flushed_to for offset in offsets))
            if count or self.ended:
                self._kept_from = offsets[count] if count < len(offsets) else self._read_to
                self._summarised_to = self._read_to
                self._checkpoint()
            return self.messages

    def _checkpoint(self, *before: dict[str, Any]) -> None:
        messages = self.messages
        self._append(
            *before,
            {
                "kind": "checkpoint",
                "kept_from": self._kept_from,
                "flushed_to": self._flushed_to,
                "last_message": self._last_message,
                "summarised_to": self._summarised_to,
                "provider": self.provider,
                "branch": self.branch,
                "ended": self.ended,
                "unrecorded": self._unrecorded,
                "override": self.override_reason,
                "receipt": unstructure(self.last_receipt) if self.last_receipt else None,
                "flush": self.last_flush,
                "context": [
                    len(messages),
                    sum(m.tokens for m in messages),
                    max(m.at for m in messages).isoformat() if messages else "",
                ],
            },
            first_line=self._first_line,  # otherwise it would bring back purged messages and point nowhere
        )
