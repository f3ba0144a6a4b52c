"""Refused flushes, as the session's journal records them, so that a past refusal stays visible after a later success.

The record (kind ``refused``) holds the time, the flush's reason and the failure, but no session text. Repeated
attempts that fail alike leave one record, because a client may try again before every model call. The record comes
after the marker, and a journal that cannot take it changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from holdfast.config.serde import moment, stamp
from holdfast.errors import HoldfastError

if TYPE_CHECKING:
    from holdfast.journal.journal import Journal

KIND: Final = "refused"


class Refusal(NamedTuple):
    """``reason`` is the flush's reason (compaction, end, ...), ``target`` what failed. ``at`` is an aware time."""

    session: str
    at: datetime
    reason: str
    target: str


def note(journal: Journal, at: datetime, reason: str, target: str) -> None:
    """Record a refusal in a journal that exists. A failure is not an error, because the marker already blocks."""
    if journal.exists():
        with suppress(HoldfastError):
            journal.append({"kind": KIND, "at": stamp(at), "reason": reason, "target": target})


def of(journal: Journal) -> Iterator[Refusal]:
    """The recorded refusals of a session, oldest first; damaged records are skipped. Raises: Unavailable."""
    for entry in journal.of_kinds(KIND):
        if refusal := read(journal.session_id, entry.record):
            yield refusal


def read(session: str, row: Mapping[str, Any]) -> Refusal | None:
    """A refusal from its record; None when the record is damaged or written by a later holdfast."""
    try:
        at, reason, target = moment(str(row["at"])), str(row["reason"]), str(row["target"])
    except (KeyError, ValueError):
        return None
    return Refusal(session=session, at=at, reason=reason, target=target)
