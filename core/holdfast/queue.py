"""Turns whose extraction failed wait here, durably: ``state/extract.jsonl``, one checksummed line each.

An item is tried again a bounded number of times, each time after twice the wait, and given up after a maximum wait.
Whoever takes one to try it pushes its next attempt into the future first, so that no lock is held while a model is
asked, and an item is not lost when its taker dies.
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime, timedelta

from attrs import evolve, field, frozen

from holdfast import durable, journal, private
from holdfast.config import ExtractConfig
from holdfast.errors import Corrupt
from holdfast.models import Turn
from holdfast.serde import structure, unstructure

logger = logging.getLogger(__name__)

_FILE = "extract.jsonl"
_LEASE = timedelta(minutes=10)
#: More than this do not wait; the oldest are given up then.
MAX_ITEMS = 200


def _turns(value: Iterable[Turn]) -> tuple[Turn, ...]:
    return tuple(value)


@frozen(kw_only=True)
class Waiting:
    """Turns, already redacted, and the plugins that have yet to read them (empty: all)."""

    id: str
    since: datetime
    due: datetime
    attempts: int
    error: str
    source: str
    plugins: tuple[str, ...]
    turns: tuple[Turn, ...] = field(converter=_turns)


class Queue:
    """The queue of one project. All methods may raise Unavailable."""

    def __init__(self, state: str, rules: ExtractConfig) -> None:
        self._state = state
        self._rules = rules
        self._path = os.path.join(state, _FILE)

    def put(
        self, turns: Sequence[Turn], plugins: Collection[str], *, error: str, source: str, now: datetime
    ) -> Waiting | None:
        """Let ``turns`` wait for ``plugins``. After a failed attempt (there is an ``error``) the next one is due after
        the backoff, else at once. None when the rules allow no further attempt."""
        ids = "\n".join([*sorted(plugins), *(m.id for turn in turns for m in turn.messages)])
        now = now.astimezone(UTC)
        item = Waiting(
            id=hashlib.sha256(ids.encode()).hexdigest()[:16],
            since=now,
            due=now,
            attempts=1 if error else 0,
            error=error,
            source=source,
            plugins=tuple(sorted(plugins)),
            turns=tuple(turns),
        )
        if error:
            if self._spent(item, now):
                return None
            item = self._later(item, now)
        with self._locked():
            items = self._read()
            if all(i.id != item.id for i in items):
                self._write([*items, item][-MAX_ITEMS:])
        return item

    def items(self) -> list[Waiting]:
        """What waits, oldest first. Lines that cannot be read are passed over."""
        return self._read()

    def claim(
        self, now: datetime, *, limit: int, but: Collection[str] = (), even_if_not_due: bool = False
    ) -> list[Waiting]:
        """Up to ``limit`` items that are due, oldest first, now counted as tried once more. None that waits for a
        plugin in ``but``. Items that have waited too long are given up."""
        now = now.astimezone(UTC)
        if not os.path.exists(self._path):
            return []
        taken: list[Waiting] = []
        with self._locked():
            kept: list[Waiting] = []
            for item in self._read():
                if now - item.since > timedelta(hours=self._rules.max_wait_hours):
                    logger.warning("turns were given up: their extraction waited for too long (%s)", item.error)
                elif (even_if_not_due or item.due <= now) and len(taken) < limit and not {*but} & {*item.plugins}:
                    item = evolve(item, attempts=item.attempts + 1, due=now + _LEASE)
                    taken.append(item)
                    kept.append(item)
                else:
                    kept.append(item)
            self._write(kept)
        return taken

    def done(self, item: Waiting) -> None:
        """``item`` was extracted."""
        self._put_back(item, None)

    def failed(self, item: Waiting, plugins: Collection[str], *, error: str, now: datetime) -> bool:
        """``plugins`` failed on ``item`` again. Returns whether it will be tried once more."""
        now = now.astimezone(UTC)
        if self._spent(item, now):
            logger.warning("turns were given up after %d attempts: %s", item.attempts, error)
            self._put_back(item, None)
            return False
        self._put_back(item, self._later(evolve(item, plugins=tuple(sorted(plugins)), error=error), now))
        return True

    def _spent(self, item: Waiting, now: datetime) -> bool:
        waited = now - item.since > timedelta(hours=self._rules.max_wait_hours)
        return waited or item.attempts >= self._rules.max_attempts

    def _later(self, item: Waiting, now: datetime) -> Waiting:
        return evolve(item, due=now + timedelta(minutes=self._rules.backoff_minutes * 2 ** (item.attempts - 1)))

    def _put_back(self, old: Waiting, new: Waiting | None) -> None:
        with self._locked():
            rows = [new if item.id == old.id else item for item in self._read()]
            self._write([row for row in rows if row is not None])

    # the file

    def _locked(self) -> durable.Lock:
        private.make(self._state)
        return durable.lock(os.path.join(self._state, "extract.lock"))

    def _read(self) -> list[Waiting]:
        try:
            with open(self._path, "rb") as file:
                lines = file.read().splitlines()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise durable.unavailable(error, self._path, "read") from error
        items = []
        for line in lines:
            try:
                items.append(structure(journal.decode(line), Waiting, what="A waiting turn", error=Corrupt))
            except Corrupt:
                logger.warning("a line of state/%s cannot be read and is passed over", _FILE)
        return items

    def _write(self, items: Sequence[Waiting]) -> None:
        if items:
            durable.replace(self._path, b"".join(journal.encode(unstructure(item)) for item in items))
        else:
            durable.remove(self._path)
