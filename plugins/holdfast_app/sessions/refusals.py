"""Past refusals of flushes, from a session's journal, so that they stay visible after a later success.

A record holds the time, the flush's reason and the failure, but no session text. Repeated attempts that fail alike
leave one record, because a client may try again before every model call.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple

from holdfast.config.serde import moment
from holdfast.journal.journal import Journal

#: Kind of these records.
KIND: Final = "refused"


class Refusal(NamedTuple):
    """``reason`` is the flush's reason (compaction, end, ...), ``target`` what failed. ``at`` is an aware time."""

    session: str
    at: datetime
    reason: str
    target: str


def of(journal: Journal) -> Iterator[Refusal]:
    """The recorded refusals of a session, oldest first; damaged records are skipped. Raises: Unavailable."""
    for entry in journal.of_kinds(KIND):
        if refusal := read(journal.session_id, entry.record):
            yield refusal


def read(session: str, row: Mapping[str, Any]) -> Refusal | None:
    """A refusal from its record; None when the record is damaged or written by a later holdfast."""
    try:
        return Refusal(session, moment(str(row["at"])), str(row["reason"]), str(row["target"]))
    except (KeyError, ValueError):
        return None
