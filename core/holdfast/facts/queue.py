"""Turns whose extraction failed wait here, durably: ``state/extract.jsonl``, one checksummed line each.

An item is tried again a bounded number of times, each time after twice the wait, and given up after a maximum wait.
A process that takes an item to try it postpones its next attempt first, so that no lock is held during a model
call, and an item is not lost when its process dies.

Items given up are recorded in ``state/extract.log.jsonl``, without their content, before they leave the queue. A
crash in between records an item twice, never not at all.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime, timedelta

from attrs import evolve, field, frozen

from holdfast.config.serde import structure, unstructure
from holdfast.config.values import ExtractConfig
from holdfast.errors import Corrupt
from holdfast.fs import durable, private, records, safeopen
from holdfast.models import Turn
from holdfast.storage import sha256
from holdfast.text import untrusted
from holdfast.text.lazy import log

logger = log(__name__)

_FILE, _LOG = "extract.jsonl", "extract.log.jsonl"
_LEASE = timedelta(minutes=10)
#: Maximum number of waiting items; beyond it the oldest are given up.
MAX_ITEMS = 200
#: A log longer than this is cut to its newest half.
_MAX_LOG_BYTES = 1_000_000


def _turns(value: Iterable[Turn]) -> tuple[Turn, ...]:
    return tuple(value)


@frozen(kw_only=True)
class Waiting:
    """Turns, already redacted, and the plugins that have yet to read them (empty: all). ``flush`` is the id of the
    flush that covered them, or empty for turns from elsewhere, whose summary belongs to no session. ``covers``
    lists the message ids in the journal of session ``source`` that become extracted by it, see
    :mod:`holdfast.session.turnwise`; empty for turns that no journal keeps account of."""

    id: str
    since: datetime
    due: datetime
    attempts: int
    error: str
    source: str
    plugins: tuple[str, ...]
    turns: tuple[Turn, ...] = field(converter=_turns)
    flush: str = ""
    covers: tuple[str, ...] = ()


def _names(value: Iterable[str]) -> tuple[str, ...]:
    return tuple(value)


@frozen(kw_only=True)
class GivenUp:
    """``turns`` turns (a number) that were never extracted for ``plugins`` (empty: all) and are not retried.

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
    plugins: tuple[str, ...] = field(default=(), converter=_names)


class Queue:
    """One project's queue. All methods may raise Unavailable."""

    def __init__(self, state: str, rules: ExtractConfig) -> None:
        self._state = state
        self._rules = rules
        self._path = os.path.join(state, _FILE)
        self._log = os.path.join(state, _LOG)
        self._damaged: list[bytes] = []  # lines that could not be read, by the last look at the file
        #: Items given up by this object, oldest first; :meth:`log` has those of all processes.
        self.given_up: list[GivenUp] = []
        #: The queue items described by :attr:`given_up`.
        self.dropped: list[Waiting] = []

    def put(
        self,
        turns: Sequence[Turn],
        plugins: Collection[str],
        *,
        error: str,
        source: str,
        now: datetime,
        flush: str = "",
        covers: Collection[str] = (),
    ) -> Waiting | None:
        """Queue ``turns`` for ``plugins``. After a failed attempt (with an ``error``) the next attempt is due after
        the backoff, otherwise at once. None when the rules allow no further attempt and the turns are given up."""
        ids = "\n".join([*sorted(plugins), *(m.id for turn in turns for m in turn.messages)])
        now = now.astimezone(UTC)
        item = Waiting(
            id=sha256(ids)[:16],
            since=now,
            due=now,
            attempts=1 if error else 0,
            error=error,
            source=source,
            plugins=tuple(sorted(plugins)),
            turns=tuple(turns),
            flush=flush,
            covers=tuple(covers),
        )
        spent = self._spent(item, now) if error else ""
        with self._locked():
            if spent:
                self._give_up([item], spent, now)
                return None
            if error:
                item = self._later(item, now)
            items = self._read()
            if all(i.id != item.id for i in items):
                items.append(item)
                self._give_up(items[:-MAX_ITEMS], f"more than {MAX_ITEMS} pieces waited", now)
                self._write(items[-MAX_ITEMS:])
        return item

    def items(self) -> list[Waiting]:
        """The waiting items, oldest first. Unreadable lines are skipped."""
        return self._read()

    def claim(
        self,
        now: datetime,
        *,
        limit: int,
        first: Collection[str] = (),
        but: Collection[str] = (),
        even_if_not_due: bool = False,
    ) -> list[Waiting]:
        """Up to ``limit`` items that are due, oldest first, and those with an id in ``first``, now counted as tried
        once more. None that waits for a plugin in ``but``. Items that have waited too long are given up."""
        now = now.astimezone(UTC)
        if not os.path.exists(self._path) or (limit < 1 and not first):
            return []
        taken: list[Waiting] = []
        with self._locked():
            kept: list[Waiting] = []
            late: list[Waiting] = []
            for item in self._read():
                if self._waited(item, now):
                    late.append(item)
                elif (even_if_not_due or item.due <= now) and (
                    item.id in first or (limit > 0 and not {*but} & {*item.plugins})
                ):
                    limit -= item.id not in first
                    item = evolve(item, attempts=item.attempts + 1, due=now + _LEASE)
                    taken.append(item)
                    kept.append(item)
                else:
                    kept.append(item)
            self._give_up(late, self._too_long, now)
            self._write(kept)
        return taken

    def get(self, item_id: str) -> Waiting | None:
        """The item as it is now; None when it does not wait any more."""
        return next((item for item in self._read() if item.id == item_id), None)

    def flushed(self, source: str, covers: Collection[str], flush: str) -> None:
        """Note ``flush`` in the queued items of session ``source`` that cover only messages among ``covers``."""
        if not os.path.exists(self._path):
            return
        with self._locked():
            items = self._read()
            mine = [i for i in items if i.covers and not i.flush and i.source == source and {*i.covers} <= {*covers}]
            if mine:
                self._write([evolve(item, flush=flush) if item in mine else item for item in items])

    def done(self, item: Waiting) -> None:
        """``item`` was extracted."""
        with self._locked():
            self._put_back(item, None)

    def failed(self, item: Waiting, plugins: Collection[str], *, error: str, now: datetime) -> bool:
        """``plugins`` failed on ``item`` again. Returns whether it will be tried once more."""
        now = now.astimezone(UTC)
        tried = evolve(item, plugins=tuple(sorted(plugins)), error=error)
        spent = self._spent(tried, now)
        with self._locked():
            if spent:
                self._give_up([tried], spent, now)
            self._put_back(item, None if spent else self._later(tried, now))
        return not spent

    def log(self) -> list[GivenUp]:
        """The items given up, oldest first. Unreadable lines (truncated by a crash) are skipped."""
        found = []
        for line in self._logged():
            try:
                found.append(structure(untrusted.from_json(line), GivenUp, what="A line of the log", error=Corrupt))
            except (ValueError, Corrupt):
                logger.warning("skipped an unreadable line of state/%s", _LOG)
        return found

    # giving up

    def _spent(self, item: Waiting, now: datetime) -> str:
        """The rule that allows no further attempt, or an empty string."""
        if item.attempts >= self._rules.max_attempts:
            return f"the limit is {self._rules.max_attempts} attempt{'' if self._rules.max_attempts == 1 else 's'}"
        return self._too_long if self._waited(item, now) else ""

    def _waited(self, item: Waiting, now: datetime) -> bool:
        """Whether it has waited too long. An untried item has not, because no model was called yet."""
        return item.attempts > 0 and now - item.since > timedelta(hours=self._rules.max_wait_hours)

    @property
    def _too_long(self) -> str:
        return f"they waited for more than {self._rules.max_wait_hours:g} h"

    def _give_up(self, items: Sequence[Waiting], why: str, now: datetime) -> None:
        if not items:
            return
        gone = [
            GivenUp(
                at=now,
                since=item.since,
                turns=len(item.turns),
                attempts=item.attempts,
                why=why,
                error=item.error,
                source=item.source,
                plugins=item.plugins,
            )
            for item in items
        ]
        rows = b"".join(json.dumps(unstructure(one), ensure_ascii=False).encode() + b"\n" for one in gone)
        with private.lock(self._log):
            old = self._logged()
            if sum(map(len, old)) > _MAX_LOG_BYTES:
                durable.replace(self._log, b"".join(line + b"\n" for line in old[len(old) // 2 :]) + rows)
            else:
                durable.append(self._log, b"\n" + rows)  # a line truncated by a crash must not corrupt this one
        self.given_up += gone
        self.dropped += items
        logger.warning("turns of %d pieces were given up: %s", len(gone), why)

    def _logged(self) -> list[bytes]:
        try:
            with safeopen.reader(self._log) as file:
                return [line for line in file.read().split(b"\n") if line]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise durable.unavailable(error, self._log, "read") from error

    def _later(self, item: Waiting, now: datetime) -> Waiting:
        return evolve(item, due=now + timedelta(minutes=self._rules.backoff_minutes * 2 ** (item.attempts - 1)))

    def _put_back(self, old: Waiting, new: Waiting | None) -> None:
        rows = [
            item if item.id != old.id else None if new is None else evolve(new, flush=item.flush)
            for item in self._read()
        ]
        self._write([row for row in rows if row is not None])

    # the file

    def _locked(self) -> durable.Lock:
        private.make(self._state)
        return private.lock(self._path)

    def _read(self) -> list[Waiting]:
        try:
            with safeopen.reader(self._path) as file:
                lines = file.read().splitlines()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise durable.unavailable(error, self._path, "read") from error
        items = []
        self._damaged = []
        for line in lines:
            try:
                items.append(structure(records.decode(line), Waiting, what="A waiting turn", error=Corrupt))
            except Corrupt:
                self._damaged.append(line)
                logger.warning("skipped an unreadable line of state/%s, which stays in the file", _FILE)
        return items

    def _write(self, items: Sequence[Waiting]) -> None:
        """``items``, followed by the lines that :meth:`_read` could not read, which are damaged but not lost."""
        if items or self._damaged:
            lines = [records.encode(unstructure(item)) for item in items]
            durable.replace(self._path, b"".join([*lines, *(line + b"\n" for line in self._damaged)]))
        else:
            durable.remove(self._path)
