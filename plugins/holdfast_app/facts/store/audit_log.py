"""Facts removed from the store or overwritten, and why: ``state/facts.log.jsonl``, one line per event.

A fact that a newer value replaced keeps its content here (it passed the gate when it was stored). The content of
evicted, overwritten and deleted facts is lost.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from attrs import Attribute, asdict, evolve, frozen

from holdfast.config.serde import moment, stamp
from holdfast.fs import private
from holdfast.models import Fact
from holdfast_app.durable_queue import tally

_FILE = "facts.log.jsonl"


@frozen(kw_only=True)
class Departure:
    """``event`` is evicted, deleted, updated or replaced. ``by`` is the replacing fact's id, ``source`` the replaced
    one's source."""

    at: datetime
    event: str
    id: str
    why: str
    by: str = ""
    category: str = ""
    confidence: float | None = None
    content: str | None = None
    source: str = ""


class FactTrail:
    """One project's trail. Appended without a disk sync, except for replaced facts, which the store forgets next."""

    def __init__(self, state: str) -> None:
        self._state = state
        self._path = os.path.join(state, _FILE)

    def evicted(self, ids: Sequence[str], by: str, at: datetime) -> None:
        """Facts were evicted because the store was full."""
        self._write([Departure(at=at, event="evicted", id=one, why="the store was full", by=by) for one in ids])

    def changed(self, old: Fact, fields: Iterable[str], at: datetime) -> None:
        """These fields of ``old`` were overwritten."""
        self._write([_of(old, at, "updated", f"{' and '.join(fields)} changed by hand")])

    def replaced(self, old: Fact, by: str, at: datetime, *, why: str) -> None:
        """A newer statement makes ``old`` obsolete. Written durably, because the store forgets it next."""
        event = evolve(_of(old, at, "replaced", why), by=by, content=old.content, source=old.source)
        self._write([event], durably=True)

    def deleted(self, fact: Fact, at: datetime) -> None:
        """The fact was deleted on request."""
        self._write([_of(fact, at, "deleted", "deleted by hand")])

    def restore(self, rows: Iterable[Mapping[str, Any]]) -> int:
        """Add events of another copy of this trail, durably, except those that are here already. Unreadable rows are
        skipped. Returns how many were added. Raises: Unavailable."""
        given = (_event(row) for row in rows)
        known = set(self.entries())
        new = [one for one in dict.fromkeys(given) if one is not None and one not in known]
        if new:
            self._write(new, durably=True)
        return len(new)

    def entries(self) -> Iterator[Departure]:
        """The events, oldest first. Unreadable lines (truncated by a crash) are skipped."""
        yield from filter(None, map(_event, private.rows(self._path)))

    def _write(self, events: Sequence[Departure], *, durably: bool = False) -> None:
        """Raises: Unavailable."""
        private.make(self._state)
        rows = ({**asdict(one, filter=_is_given), "at": stamp(one.at.astimezone(UTC))} for one in events)
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        data = f"\n{lines}".encode()  # a line truncated by a crash or a full disk must not corrupt this one
        with private.lock(self._path):
            tally.append(self._path, data, flush=durably)


def _event(row: Mapping[str, Any]) -> Departure | None:
    """The row's event, None for an unreadable row."""
    try:
        return Departure(**{**row, "at": moment(row["at"])})
    except (ValueError, TypeError, KeyError):
        return None


def _is_given(attribute: Attribute[Any], value: object) -> bool:
    return value not in ("", None)


def _of(fact: Fact, at: datetime, event: str, why: str) -> Departure:
    """An event with its fact's fields, without the content."""
    return Departure(at=at, event=event, id=fact.id, why=why, category=str(fact.category), confidence=fact.confidence)
