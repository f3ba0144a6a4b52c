"""The context tier. One conversation's messages, journalled turn by turn and dropped only through the flush gate."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from holdfast.config.serde import stamp
from holdfast.errors import BadValue, FlushRefused, HoldfastError, NothingToFlush, must_be, must_be_whole
from holdfast.flush.context import Context
from holdfast.fs import paths
from holdfast.journal import capture
from holdfast.journal.safety import State
from holdfast.models import Message, Receipt
from holdfast.services.interfaces import Completed

if TYPE_CHECKING:
    from holdfast.flush.plan import Attempt
    from holdfast.models import Payload

OnSummary = Callable[[str], object]
Given: TypeAlias = "Payload | Mapping[str, Any] | None"


class Session(Context):
    """One conversation. ``messages`` are those still in context, oldest first.

    ``compact``, ``trim``, ``end``, ``switch_provider`` and ``hand_over`` flush first and raise
    :class:`~holdfast.errors.FlushRefused` when that fails. Then nothing was dropped and the session is UNSAFE.
    Several processes may use one session. Each sees the others' messages when it flushes or drops. Threads may share
    one object.
    """

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

        A message whose ``message_id`` is in context is not added again. ``at`` is an aware time, now by default.
        Raises: ValueError for an unknown role; Refused or PluginError from the gate; Unavailable when the journal
        cannot be written. Then the message is not in the session.
        """
        at = at or self._services.now()
        raw = capture.record(role, text, at=at, message_id=message_id, tool=tool, failed=failed, tokens=tokens)
        [record] = capture.admitted(self._services.gate, self._services.root, [raw])
        with self._lock:
            self._journal([record])
            stored = next((m for _, m in reversed(self._log) if m.id == record["id"]), None)
            return stored or self._message(record)

    def _journal(self, records: Iterable[dict[str, Any]]) -> int:
        """Journal those that are not in context, and return how many. Without any, the others are durable."""
        new = list({r["id"]: r for r in records if r["id"] not in self._ids}.values())
        if new:
            self._append(*new)
            self._services.said(new[-1]["role"], new[-1].get("tool", ""))
        else:
            self.journal.settle()
        return len(new)

    def extend(self, messages: Iterable[Message]) -> int:
        """Journal messages recorded elsewhere with one durable write; returns the number added.

        Messages whose id is in context are left out. Otherwise like :meth:`add`: when it raises, none was added.
        """
        services = self._services
        with self._lock:
            must_be(Iterable, messages, "messages")
            messages = list(messages)
            for number, message in enumerate(messages):
                must_be(Message, message, f"messages[{number}]")
            new = {m.id: m for m in messages if m.id not in self._ids}
            records = [
                capture.record(
                    m.role, m.text, at=m.at, message_id=m.id, tool=m.tool, failed=m.failed, tokens=m.tokens or None
                )
                for m in new.values()
            ]
            return self._journal(capture.admitted(services.gate, services.root, records))

    # the flush gate

    def flush(self, payload: Given = None, *, reason: str = "manual", on_summary: OnSummary | None = None) -> Receipt:
        """Make the session durable, verify it by reading back, and return the receipt.

        Without ``payload``, a refused payload is reused, or the fields are derived from the messages. ``on_summary`` is
        called once, with the daily block's text and a model's additions, after everything is on disk. A flush that
        changes nothing returns the earlier receipt if everything it proves is still stored. Raises: BadValue before
        anything begins; NothingToFlush for an empty session; FlushRefused, with the session UNSAFE.
        """
        return self._flush(payload, reason, on_summary)

    def _flush(self, payload: Given, reason: str, on_summary: OnSummary | None, agent: str = "") -> Receipt:
        from holdfast.flush.pipeline import flush

        return flush(
            self._services,
            self,
            payload,
            reason=reason,
            on_summary=on_summary,
            agent=agent,
            take=self._take,
            fill=self._fill,
        )

    def _take(self, attempt: Attempt) -> Receipt:
        """Take the steps of a flush. An application may keep it on this machine. Raises: FlushRefused."""
        from holdfast.flush.pipeline import take

        return take(attempt)

    def _fill(self, attempt: Attempt, given: Payload | None, messages: Sequence[Message], undecided: bool) -> Completed:
        """``given`` with its unanswered fields filled from ``messages``. With ``undecided`` a curated decision that it
        lacks is derived as ``none``. The kernel derives nothing."""
        from holdfast.models import Payload

        return Completed(given or Payload())

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
        must_be_whole(keep, "keep_last")

        def start(messages: list[Message]) -> int:
            at = max(0, len(messages) - keep)
            while 0 < at < len(messages) and messages[at].role == "tool":
                at -= 1
            return at

        return self._drop_until(start, payload, reason, on_summary)

    def trim(self, max_tokens: int, payload: Given = None, *, on_summary: OnSummary | None = None) -> list[Message]:
        """Drop the oldest messages until the kept ones cost at most ``max_tokens`` tokens. Otherwise like ``compact``,
        but a tool result is dropped together with its call."""
        must_be_whole(max_tokens, "max_tokens")

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

        return self._drop_until(start, payload, "trim", on_summary)

    def _drop_until(
        self, start: Callable[[list[Message]], int], payload: Given, reason: str, on_summary: OnSummary | None
    ) -> list[Message]:
        """Pass the gate and drop the messages before ``start``. The gate is skipped when the session is not UNSAFE and
        all messages stay."""
        if payload is None:
            try:
                self.catch_up()
                if not self.unsafe and start(self.messages) == 0:
                    return self.messages
            except HoldfastError:
                pass  # the gate reports the reason
        receipt = self.pass_gate(payload, reason, on_summary)
        return self._drop(start(self.messages), receipt)

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
            self._services.ended()
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
        """Flush for another agent, ``to``, and name it in the handoff. Raises: BadValue if blank; FlushRefused."""
        if not (to := self._services.gate.identifier(to)).strip():
            raise BadValue("to", "is blank", next_step="Name the agent that continues.")
        return self._flush(payload, "handoff", on_summary, agent=to)

    def override(self, reason: str) -> None:
        """Permit dropping context once although the flush fails, for an operator. The reason goes into the daily note.

        Raises: BadValue for a blank reason, and unless a flush was refused (the session is UNSAFE); Unavailable when
        not even the journal can be written.
        """
        must_be(str, reason, "reason")
        if not reason.strip():
            raise BadValue("reason", "is blank", next_step="Say why the context may go unsaved.")
        if not self.unsafe:
            raise BadValue("override", "has nothing to let go, because no flush was refused", next_step="Flush first.")
        text = self._services.gate.admit(paths.rewrite(reason.strip(), self._services.root), surface="daily")
        self._append({"kind": "override", "reason": text, "at": stamp(self._services.now())})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        """End the session through the gate. If the block raised and the flush fails too, the block's error propagates
        with a note, and the UNSAFE marker stays on disk."""
        try:
            self.end()
        except FlushRefused as refused:
            if error is None:
                raise
            error.add_note(f"holdfast: the session is UNSAFE: {refused}")
