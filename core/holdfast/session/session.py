"""The context tier. One conversation's messages, journalled turn by turn and dropped only through the flush gate."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import attrs

from holdfast.config.serde import moment, receipt_from, stamp, unstructure
from holdfast.errors import Conflict, FlushRefused, HoldfastError, NothingToFlush, Unavailable
from holdfast.fs import paths
from holdfast.journal import background, capture, order, safety
from holdfast.journal.journal import Entry, Journal
from holdfast.journal.safety import State, Stated
from holdfast.journal.summaries import Summaries
from holdfast.models import Message, Receipt
from holdfast.text import lazy, recall

if TYPE_CHECKING:
    from holdfast.models import Payload
    from holdfast.session.services import Services

logger = lazy.log(__name__)

OnSummary = Callable[[str], object]
Given: TypeAlias = "Payload | Mapping[str, Any] | None"


class Session:
    """One conversation. ``messages`` are those still in context, oldest first.

    ``compact``, ``trim``, ``end``, ``switch_provider`` and ``hand_over`` flush first and raise
    :class:`~holdfast.errors.FlushRefused` when that fails. Then nothing was dropped and the session is UNSAFE.
    Several processes may use one session. Each sees the others' messages when it flushes or drops. Threads may share
    one object.
    """

    def __init__(self, services: Services, session_id: str) -> None:
        self._services = services
        #: The stored id, with any secret masked.
        self.id = services.gate.identifier(session_id)
        self.journal = Journal(services.state, self.id)
        #: A flush failed and not even its marker could be written: UNSAFE, but only this object knows.
        self.unmarked = False
        self.unwritten: list[Stated] = []  # that flush's payloads
        self._lock = threading.RLock()  # guards the fields below; never held while a hook runs
        self._begin()
        self._load()

    def _begin(self) -> None:
        """Reset to the state before anything was read."""
        self.provider = ""
        self.branch = ""
        self.ended = False
        self.last_receipt: Receipt | None = None
        #: The last flush's record (:meth:`holdfast.flush.content.Content.flushed`), to write it again.
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
        self._summaries: Summaries | None = None  # read on demand
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
            if self._summaries is None:
                self._summaries = Summaries()
                for entry in self.journal.of_kinds("summary", "checkpoint", until=self._read_to):
                    self._summaries.take(entry)
            return self._summaries.text(self._summarised_to)

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
        """Operator overrides not yet in a daily note."""
        return (*self._unrecorded, *([self.override_reason] if self.override_reason else []))

    def add(
        self,
        role: str,
        text: str,
        *,
        message_id: str | None = None,
        at: datetime | None = None,
        tool: str = "",
        failed: bool = False,
        tokens: int | None = None,
    ) -> Message:
        """Journal a message, durably, and put it into context. Returns it as stored, redacted.

        A message whose ``message_id`` already exists is not added again. ``at`` is an aware time, now by default.
        Raises: ValueError for an unknown role; Refused or PluginError from the gate; Unavailable when the journal
        cannot be written. Then the message is not in the session.
        """
        record = capture.message_record(
            self._services.gate,
            self._services.root,
            role,
            text,
            at=at or self._services.now(),
            message_id=message_id,
            tool=tool,
            failed=failed,
            tokens=tokens,
        )
        with self._lock:
            if record["id"] not in self._ids:
                self._append(record)
                background.said(self._services, role, tool)
            stored = next((m for _, m in reversed(self._log) if m.id == record["id"]), None)
            return stored or self._message(record)

    def extend(self, messages: Iterable[Message]) -> int:
        """Journal messages recorded elsewhere with one durable write; returns the number added.

        Messages whose id already exists are left out. Otherwise like :meth:`add`: when it raises, none was added.
        """
        services = self._services
        with self._lock:
            new = {m.id: m for m in messages if m.id not in self._ids}
            records = capture.message_records(services.gate, services.root, list(new.values()))
            records = list({r["id"]: r for r in records if r["id"] not in self._ids}.values())  # stored ids
            if records:
                self._append(*records)
                background.said(services, records[-1]["role"], records[-1].get("tool", ""))
            return len(records)

    # the flush gate

    def flush(self, payload: Given = None, *, reason: str = "manual", on_summary: OnSummary | None = None) -> Receipt:
        """Make the session durable, verify it by reading back, and return the receipt.

        Without ``payload``, a refused payload is reused, or the fields are derived from the messages. ``on_summary`` is
        called once, with the daily block's text and a model's additions, after everything is on disk. A flush that
        changes nothing returns the earlier receipt if everything it proves is still stored. Raises: BadValue before
        anything begins; NothingToFlush for an empty session; FlushRefused, with the session UNSAFE.
        """
        from holdfast.flush.pipeline import flush

        return flush(self._services, self, payload, reason=reason, on_summary=on_summary)

    def pass_gate(
        self, payload: Given = None, reason: str = "compaction", on_summary: OnSummary | None = None
    ) -> Receipt | None:
        """Return once the caller may drop the context, because everything in it is durable and verified.

        None when there is nothing to flush at all. After a failed flush only an operator's override passes, and is used
        up. The receipt then has no flush id and holds the reason in ``overridden``. Drops nothing itself; ``compact``,
        ``trim`` and ``end`` do. Raises: FlushRefused; BadValue.
        """
        if payload is None and not self._log and not self.journal.exists() and not self.unsafe:
            return None
        try:
            return self.flush(payload, reason=reason, on_summary=on_summary)
        except NothingToFlush:
            return None
        except FlushRefused as refused:
            overridden = self.use_override()
            if not overridden:
                raise
            why = f"Dropped by an override although it was not saved: {refused.target} failed."
            now = self._services.now()
            return Receipt(
                flush_id="", session_id=self.id, reason=reason, at=now, warnings=(why,), overridden=overridden
            )

    def compact(
        self,
        keep_last: int | None = None,
        payload: Given = None,
        *,
        reason: str = "compaction",
        on_summary: OnSummary | None = None,
    ) -> list[Message]:
        """Drop all but the last ``keep_last`` messages, once everything dropped is durable and verified.

        Returns the messages kept. A kept tool result keeps the call before it. When all messages stay, it flushes only
        if the session is UNSAFE or ``payload`` is given. Raises: FlushRefused; ValueError for a negative number.
        """
        keep = self._services.config.session.keep_last if keep_last is None else keep_last
        if not isinstance(keep, int) or keep < 0:
            raise ValueError("keep_last must be a whole number and must not be negative")

        def start(messages: list[Message]) -> int:
            at = max(0, len(messages) - keep)
            while 0 < at < len(messages) and messages[at].role == "tool":
                at -= 1
            return at

        if payload is None and self._drops_nothing(start):
            return self.messages
        receipt = self.pass_gate(payload, reason, on_summary)
        return self._drop(start(self.messages), receipt)

    def trim(self, max_tokens: int, payload: Given = None, *, on_summary: OnSummary | None = None) -> list[Message]:
        """Drop the oldest messages until the kept ones cost at most ``max_tokens`` tokens. Otherwise like ``compact``,
        but a tool result is dropped together with its call."""
        if not isinstance(max_tokens, int) or max_tokens < 0:
            raise ValueError("max_tokens must be a whole number and must not be negative")

        def start(messages: list[Message]) -> int:
            total, at = sum(m.tokens for m in messages), 0
            for message in messages:
                if total <= max_tokens:
                    break
                total -= message.tokens
                at += 1
            while at and at < len(messages) and messages[at].role == "tool":
                at += 1
            return at

        if payload is None and self._drops_nothing(start):
            return self.messages
        receipt = self.pass_gate(payload, "trim", on_summary)
        return self._drop(start(self.messages), receipt)

    def _drops_nothing(self, start: Callable[[list[Message]], int]) -> bool:
        """Whether the gate can be skipped, because the session is not UNSAFE and all messages stay."""
        try:
            self.catch_up()
        except HoldfastError:
            return False  # the gate reports the reason
        return not self.unsafe and start(self.messages) == 0

    def end(self, payload: Given = None, *, on_summary: OnSummary | None = None) -> Receipt | None:
        """Flush, drop everything and close the session; None when there is nothing to flush.

        A later ``add`` opens it again. Raises: FlushRefused. The session then stays open.
        """
        if self.ended and payload is None and self.state is State.SAFE:
            return self.last_receipt
        receipt = self.pass_gate(payload, "end", on_summary)
        if receipt is not None:
            self.ended = bool(receipt.overridden) or not self.unflushed
            self._drop(len(self.messages), receipt)
        return receipt

    def switch_provider(
        self, provider: str, payload: Given = None, *, on_summary: OnSummary | None = None
    ) -> Receipt | None:
        """Flush before another model or provider continues with the context. Raises: FlushRefused."""
        provider = self._services.gate.identifier(provider)
        receipt = self.pass_gate(payload, "switch", on_summary)
        self._append({"kind": "provider", "name": provider})
        return receipt

    def hand_over(self, to: str, payload: Given = None, *, on_summary: OnSummary | None = None) -> Receipt:
        """Flush for another agent, ``to``, and name it in the handoff. Raises: FlushRefused."""
        from holdfast.flush.pipeline import flush

        to = self._services.gate.identifier(to)
        return flush(self._services, self, payload, reason="handoff", on_summary=on_summary, agent=to)

    def override(self, reason: str) -> None:
        """Permit dropping context once although the flush fails, for an operator. The reason goes into the daily note.

        Raises: ValueError for a blank reason; Unavailable when not even the journal can be written.
        """
        if not reason.strip():
            raise ValueError("an override needs a reason")
        text = self._services.gate.admit(paths.rewrite(reason.strip(), self._services.root), surface="daily")
        self._append({"kind": "override", "reason": text, "at": stamp(self._services.now())})

    def with_summary(self, summary: str | None = None) -> list[Message]:
        """The messages in context with ``summary`` (by default the running summary) before the first user text.

        It joins a user message that comes first, after any system ones, else it becomes one, so that roles alternate.
        This does not change the session. The caller decides on the model's input. The summary is fenced as data.
        """
        text = self.summary if summary is None else summary
        messages = self.messages
        if not text.strip():
            return messages
        fenced = recall.fence(text.strip())
        at = next((n for n, m in enumerate(messages) if m.role != "system"), len(messages))
        if at < len(messages) and messages[at].role == "user":
            first = messages[at]
            joined = f"{fenced}\n\n{first.text}"
            messages[at] = attrs.evolve(first, text=joined, tokens=self._services.count_tokens(joined))
            return messages
        injected = Message(
            role="user", text=fenced, at=self._services.now(), id="recalled", tokens=self._services.count_tokens(fenced)
        )
        return [*messages[:at], injected, *messages[at:]]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End the session through the gate. If the block raised and the flush fails too, the block's error propagates
        with a note, and the UNSAFE marker stays on disk."""
        try:
            self.end()
        except FlushRefused as refused:
            if error is None:
                raise
            error.add_note(f"holdfast: the session is UNSAFE: {refused}")

    # state from the journal

    def catch_up(self) -> None:
        """Read other processes' additions to the journal, or all of it after a rewrite. Raises: Corrupt;
        Unavailable."""
        with self._lock:
            first = self.journal.first_line()
            if self._first_line not in (b"", first):
                self._begin()  # purged messages must not come back from memory
                self._load()
                return
            self._first_line = first
            for entry in self.journal.entries(self._read_to):
                self._apply(entry)

    def span(self) -> tuple[list[Message], int, int]:
        """The messages that a flush must cover now, as they were said, the journal offset of their end, and the newest
        message's."""
        with self._lock:
            return order.as_said(self.unflushed), self._read_to, self._last_message

    def record_flush(self, receipt: Receipt, flushed: dict[str, Any], upto: int, summary: dict[str, Any]) -> None:
        """Mark everything before offset ``upto`` as flushed. Later messages are not in the note.

        ``flushed`` is the next :attr:`last_flush`; ``summary`` a record of the running summary, or empty. Called last.
        """
        with self._lock:
            self._unrecorded, self.override_reason = [], ""
            self._flushed_to = upto
            self.last_receipt, self.last_flush = receipt, flushed
            self._checkpoint(*([summary] if summary else []))

    def _load(self) -> None:
        self._first_line = self.journal.first_line()
        checkpoint = self.journal.last_checkpoint()
        settled = 0  # up to here the checkpoint has everything except the messages
        if checkpoint is not None:
            settled = checkpoint.start
            self._kept_from, self._flushed_to = checkpoint.record["kept_from"], checkpoint.record["flushed_to"]
            self._read_to = min(self._kept_from, self._flushed_to)
        for entry in self.journal.entries(self._read_to):
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
                self._first_line = self.journal.first_line()
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
            # Before 1.1 each checkpoint repeated the summary itself: its new part counts as already in a note.
            self._summarised_to = record.get("summarised_to", entry.start)
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
        if self._summaries is not None and kind in ("summary", "checkpoint"):
            self._summaries.take(entry)
        self._read_to = entry.end

    def _message(self, record: dict[str, Any]) -> Message:
        text, tokens = record["text"], record.get("tokens")
        return Message(
            role=record["role"],
            text=text,
            at=moment(record["at"]),
            id=record["id"],
            tokens=self._services.count_tokens(text) if tokens is None else tokens,
            tool=record.get("tool", ""),
            failed=record.get("failed", False),
        )

    def use_override(self) -> str:
        """Take the operator's override, once and durably, because the caller drops context. Empty if none."""
        reason, self.override_reason = self.override_reason, ""
        if reason:
            self._unrecorded.append(reason)
            self._checkpoint()
            self.unwritten = [attrs.evolve(one, waived=True) for one in self.unwritten]
            try:
                safety.waive(self._services.state, self.id)
            except Unavailable as error:  # the marker only blocks for longer
                logger.warning("cannot write an override to the marker: %s", error.message)
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
        self._append(
            *before,
            {
                "kind": "checkpoint",
                "kept_from": self._kept_from,
                "flushed_to": self._flushed_to,
                "last_message": self._last_message,
                "summary": "",  # earlier versions of holdfast require these two keys
                "new_summaries": [],
                "summarised_to": self._summarised_to,
                "provider": self.provider,
                "branch": self.branch,
                "ended": self.ended,
                "unrecorded": self._unrecorded,
                "override": self.override_reason,
                "receipt": unstructure(self.last_receipt) if self.last_receipt else None,
                "flush": self.last_flush,
            },
            first_line=self._first_line,  # otherwise it would bring back purged messages and point nowhere
        )
