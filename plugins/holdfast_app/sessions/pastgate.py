"""Compactions past the gate: clients dropped context without asking holdfast. ``state/past-gate.jsonl``.

A row holds the session, the time, the newest message's offset in the journal and the number of messages that no receipt
covered, but no session text. Clients report a compaction more than once, so a report with the same offset adds nothing.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from holdfast.config.serde import moment, stamp
from holdfast.fs import durable, private, records

FILE: Final = "past-gate.jsonl"
#: How long ``status`` and ``doctor`` mention a compaction. The session's page and the day's report keep it.
SHOWN: Final = timedelta(days=7)


class PastGate(NamedTuple):
    """``unsaved`` messages left the context before a flush covered them. ``position`` is the newest message's."""

    session: str
    at: datetime
    position: int
    unsaved: int

    @property
    def sentence(self) -> str:
        dropped = "The messages that left the context had been saved before."
        if self.unsaved:
            dropped = f"Messages that left the context unsaved: {self.unsaved:,}. holdfast saves them from its journal"
            dropped += " and the client's transcript."
        return (
            f"Session {self.session} was compacted past the gate on {self.at:%Y-%m-%d at %H:%M}, because the client "
            f"did not ask holdfast first. {dropped} `holdfast doctor` lists plugins that can do this."
        )


def note(state: str, compaction: PastGate) -> None:
    """Record a compaction once. Raises: Unavailable."""
    path = os.path.join(private.make(state), FILE)
    with private.lock(path):
        if (compaction.session, compaction.position) not in {(old.session, old.position) for old in all_of(state)}:
            durable.append(path, records.encode(compaction._asdict() | {"at": stamp(compaction.at)}))


def all_of(state: str) -> Iterator[PastGate]:
    """Every recorded compaction, oldest first; damaged rows are skipped. Raises: Unavailable."""
    for row in filter(None, map(records.decode, (private.read(os.path.join(state, FILE)) or b"").splitlines())):
        with suppress(KeyError, TypeError, ValueError):
            yield PastGate(str(row["session"]), moment(str(row["at"])), int(row["position"]), int(row["unsaved"]))


def recent(state: str, now: datetime) -> list[PastGate]:
    """Those of the last days, oldest first. Raises: Unavailable."""
    return [compaction for compaction in all_of(state) if now - compaction.at < SHOWN]
