"""Turns whose extraction failed wait here, durably: ``state/extract.jsonl``, one checksummed line each.

An item is tried again a bounded number of times, each time after twice the wait, and given up after a maximum wait.
A process that takes an item to try it postpones its next attempt first, so that no lock is held during a model
call, and an item is not lost when its process dies.

Items given up are recorded in ``state/extract.log.jsonl``, without their content, before they leave the queue. A
crash in between records an item twice, never not at all.
"""

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from attrs import evolve, field, frozen

from holdfast.models import Turn
from holdfast.storage import sha256
from holdfast.text.lazy import log
from holdfast_app.base import Services
from holdfast_app.durable_queue import MAX_LOG_BYTES, DurableQueue, Log, Row
from holdfast_app.journal.journal import Journal
from holdfast_app.records import json_file

logger = log("holdfast.facts")

FILE: Final = "extract.jsonl"
_RUN: Final = "upkeep.json"
_LEASE = timedelta(minutes=10)
#: Attempts to extract an item, the delay before the second one, which doubles each time, and the time after which an
#: item is given up. Source: reading A19.
MAX_ATTEMPTS: Final = 5
BACKOFF: Final = timedelta(minutes=1)
_LONGEST: Final = timedelta(hours=72)
#: Maximum number of waiting items; beyond it the oldest are given up.
MAX_ITEMS = 200


@frozen(kw_only=True)
class Waiting:
    """Turns, already redacted, and the plugins that have yet to read them. ``flush`` is the id of the
    flush that covered them, or empty for turns from elsewhere, whose summary belongs to no session. ``covers``
    lists the message ids in the journal of session ``source`` that become extracted by it, see
    :mod:`holdfast_app.facts.flushing`; empty for turns that no journal keeps account of."""

    id: str
    since: datetime
    due: datetime
    attempts: int
    error: str
    source: str
    plugins: tuple[str, ...]
    turns: tuple[Turn, ...] = field(converter=tuple[Turn, ...])
    flush: str = ""
    covers: tuple[str, ...] = ()


@frozen(kw_only=True)
class GivenUp:
    """``turns`` turns (a number) that were never extracted for ``plugins`` and are not retried.

    ``why`` is the rule that ended the retries, ``error`` the last error (empty if never tried), ``source``
    the session or other source of the facts, ``since`` the time when the wait began.
    """

    at: datetime
    since: datetime
    turns: int
    attempts: int
    why: str
    error: str = ""
    source: str = ""
    plugins: tuple[str, ...] = field(default=(), converter=tuple[str, ...])


class Queue(DurableQueue[Waiting]):
    """One project's queue. All methods may raise Unavailable."""

    def __init__(self, state: str) -> None:
        skipped = f"skipped an unreadable line of state/{FILE}, which stays in the file"
        super().__init__(os.path.join(state, FILE), Waiting, damaged=lambda _: logger.warning(skipped))
        self._log = Log(os.path.join(state, "extract.log.jsonl"), GivenUp, most_bytes=MAX_LOG_BYTES)
        self._state = state
        #: What this object gave up, oldest first; :meth:`log` has it of all processes.
        self.given_up: list[GivenUp] = []

    def add(
        self,
        turns: Sequence[Turn],
        plugins: Collection[str],
        *,
        error: str,
        source: str,
        now: datetime,
        flush: str = "",
        covers: Collection[str] = (),
    ) -> str:
        """Queue ``turns`` for ``plugins`` and return the item's id. After a failed attempt (with an ``error``) the next
        one is due after the backoff, otherwise at once. The oldest items beyond the maximum are given up."""
        names, now = tuple(sorted(plugins)), now.astimezone(UTC)
        item_id = sha256("\n".join([*names, *(m.id for turn in turns for m in turn.messages)]))[:16]
        due, tried = (now + BACKOFF, 1) if error else (now, 0)
        item = Waiting(
            id=item_id, since=now, due=due, attempts=tried, error=error, source=source, plugins=names, turns=turns,
            flush=flush, covers=tuple(covers),
        )  # fmt: skip

        def change(rows: list[Row[Waiting]]) -> list[Row[Waiting]]:
            waiting = [row.item for row in rows if row.item]
            if item.id in {other.id for other in waiting}:
                return rows
            surplus = [*waiting, item][:-MAX_ITEMS]
            self._give_up(surplus, f"more than {MAX_ITEMS} pieces waited", now)
            return [row for row in (*rows, self.row(item)) if row.item not in surplus]

        self.change(change)
        return item.id

    def claim(self, now: datetime, *, limit: int, wanted: Callable[[Waiting], bool]) -> list[Waiting]:
        """Up to ``limit`` items that are ``wanted``, oldest first, now counted as tried once more: another process may
        have the others. Items that have waited too long are given up."""
        now = now.astimezone(UTC)
        taken: dict[str, Waiting] = {}

        def change(item: Waiting) -> Waiting | None:
            if item.attempts and now - item.since > _LONGEST:  # it is not tried for the first time
                self._give_up([item], "they waited for more than 72 h", now)
                return None
            if len(taken) < limit and wanted(item):
                taken[item.id] = item = evolve(item, attempts=item.attempts + 1, due=now + _LEASE)
            return item

        if limit and os.path.exists(self.path):
            self.update(change)
        return list(taken.values())

    def flushed(self, source: str, covers: Collection[str], flush: str) -> None:
        """Note ``flush`` in the queued items of session ``source`` that cover only messages among ``covers``."""

        def change(item: Waiting) -> Waiting:
            is_covered = item.covers and not item.flush and item.source == source and {*item.covers} <= {*covers}
            return evolve(item, flush=flush) if is_covered else item

        if os.path.exists(self.path):
            self.update(change)

    def failed(self, item: Waiting, errors: Mapping[str, str], *, now: datetime) -> bool:
        """Plugins, the keys of ``errors``, failed on ``item`` again. Returns whether it will be tried once more."""
        now = now.astimezone(UTC)
        item = evolve(item, plugins=tuple(sorted(errors)), error=" ".join(errors.values()))
        if item.attempts >= MAX_ATTEMPTS:
            self._give_up([item], f"the limit is {MAX_ATTEMPTS} attempts", now)
            self.remove([item.id])
            return False
        later = evolve(item, due=now + BACKOFF * 2 ** (item.attempts - 1))
        self.update(lambda queued: evolve(later, flush=queued.flush) if queued.id == item.id else queued)
        return True

    def log(self) -> list[GivenUp]:
        """The items given up, oldest first."""
        return list(self._log.entries())

    def _give_up(self, items: Sequence[Waiting], why: str, now: datetime) -> None:
        keys = ("since", "attempts", "error", "source", "plugins")
        for item in items:
            gone = GivenUp(at=now, turns=len(item.turns), why=why, **{key: getattr(item, key) for key in keys})
            self._log.add(gone)
            self.given_up.append(gone)
            note_extracted(self._state, item, item.plugins, {})  # so that it is not queued again


# extracted pieces


class Extracted(NamedTuple):
    """One extracted piece, with message ids ``covers``, extracted for ``plugin`` with its redacted summary
    ``summary``; also an abandoned piece."""

    plugin: str
    covers: tuple[str, ...]
    summary: str = ""


def extracted_of(state: str, session: str) -> list[Extracted]:
    """A session's extracted pieces, oldest first. Its journal records them, so that a purge, a scrub and retention
    treat them as they treat the messages. Unreadable lines are skipped. Raises: Unavailable."""
    rows = [entry.record for entry in Journal(state, session).of_kinds("extracted")]
    return [
        Extracted(str(row.get("plugin", "")), tuple(map(str, row["covers"])), str(row.get("summary", "")))
        for row in rows
        if isinstance(row.get("covers"), list)
    ]


def note_extracted(state: str, item: Waiting, plugins: Collection[str], summaries: Mapping[str, str]) -> None:
    """Record that ``plugins`` have extracted the messages that ``item`` covers, with their ``summaries``. Nothing when
    the session was purged meanwhile. Raises: Unavailable."""
    journal = Journal(state, item.source)
    if not item.covers or not plugins or not journal.exists():
        return
    record = {"kind": "extracted", "covers": list(item.covers)}
    journal.append(*({**record, "plugin": name, "summary": summaries.get(name, "")} for name in plugins))


# the last run in the background


@frozen(kw_only=True)
class Run:
    """The last process's extraction. ``calls`` were made on the day of ``at``, by all processes; ``pieces`` of
    conversation were read by this one. ``ended`` is None while it works, or when it was killed."""

    at: datetime
    ended: datetime | None = None
    calls: int = 0
    pieces: int = 0
    facts: int = 0
    problem: str = ""

    def save(self, services: Services) -> None:
        """Store the record, ``state/upkeep.json``. Raises: Unavailable."""
        json_file.save(services.private(_RUN), self)


def last_run(services: Services) -> Run | None:
    """The record. None without one, or when it is unreadable, because it only informs."""
    return json_file.load_if_readable(services.private(_RUN), Run)


def calls_today(services: Services) -> int:
    """The calls to a model that extraction made today."""
    last = last_run(services)
    return last.calls if last and last.at.astimezone(services.config.tz).date() == services.now().date() else 0
