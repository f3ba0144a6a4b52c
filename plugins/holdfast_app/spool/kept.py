"""The spool: ``state/spool.jsonl``, one checksummed line per flush that the store's server did not take, in order.

A line holds the complete, redacted flush: payload, summary, time, id and receipt. So it can be written to the server
later as it would have been written then, and writing it twice changes nothing. A line goes only after the server has
shown everything it proves. A damaged line stays where it is until it is repaired from the journal.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo
from typing import Any, Final

from attrs import evolve, field, frozen

from holdfast.fs import durable, private
from holdfast.models import Receipt
from holdfast_app.durable_queue.queue import DAMAGED, DurableQueue, damaged_id

FILE: Final = private.SPOOL
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@frozen(kw_only=True)
class Kept:
    """One kept flush. ``id`` is the flush's, ``at`` the flush's time, ``server`` the store it is for. ``flushed`` is
    the flush as the journal records it. ``error`` and ``next_step`` describe the last failure. A damaged line has no
    receipt."""

    id: str
    session: str
    at: datetime
    server: str
    receipt: Receipt | None = field(default=None)
    flushed: dict[str, Any] = field(factory=dict, repr=False)
    error: str = ""
    next_step: str = ""

    @receipt.validator
    def _whole(self, _attribute: object, value: Receipt | None) -> None:
        if value is None and not self.id.startswith(DAMAGED):
            raise ValueError("a kept flush has a receipt")

    @property
    def is_damaged(self) -> bool:
        return self.receipt is None


def sentence(items: Sequence[Kept], zone: tzinfo | None) -> str:
    """How many flushes wait, since when and for which server; empty when none waits."""
    whole = [one for one in items if not one.is_damaged]
    if not whole:
        return ""
    servers = ", ".join(dict.fromkeys(one.server for one in whole))
    many = "1 flush is" if len(whole) == 1 else f"{len(whole):,} flushes are"
    since = min(one.at for one in whole).astimezone(zone)
    return f"{many} kept on this machine, not yet on {servers}, since {since:%Y-%m-%d %H:%M}."


class Spool(DurableQueue[Kept]):
    """One project's spool. An unreadable line is an item without a receipt. All methods may raise Unavailable."""

    def __init__(self, state: str) -> None:
        super().__init__(os.path.join(state, FILE), Kept, what="A kept flush", damaged=_damaged)
        self._state = state

    def failed(self, kept: Kept, error: str, next_step: str) -> None:
        """Record why a flush could not be written, unless a reason is recorded already."""
        if (kept.error, kept.next_step) != (error, next_step):
            tried = evolve(kept, error=error, next_step=next_step)
            self.update(lambda item: tried if item.id == kept.id else item)

    def set_aside(self) -> int:
        """Move damaged lines to files of their own, and return their number."""
        damaged = [row for row in self.rows() if row.item.is_damaged]
        for row in damaged:
            durable.replace(os.path.join(self._state, f"spool.{row.item.id}"), row.line)
        self.remove([row.item.id for row in damaged])
        return len(damaged)


def _damaged(line: bytes) -> Kept:
    return Kept(
        id=damaged_id(line),
        session="",
        at=_EPOCH,
        server="",
        error=f"A line of state/{FILE} is damaged.",
        next_step="Run `holdfast doctor --fix`: it restores the flush from its session's journal.",
    )
