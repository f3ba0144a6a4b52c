"""Facts as rows: duplicates by a unique index, the weakest by another, all in one transaction."""

from __future__ import annotations

import hashlib
import sqlite3
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import attrs

from holdfast.errors import Conflict, Corrupt, NotFound
from holdfast.facts import factrules
from holdfast.facts.factrules import CATEGORIES, duplicate_key
from holdfast.models import AddOutcome, AddResult, Fact
from holdfast.storage import FactOrder
from holdfast_sqlite import faults, schema
from holdfast_sqlite.database import Change, Database

#: A listing of at most this many facts is read at once. A longer one is read as it is used, from its own connection.
AT_ONCE: Final = 500
_CORRECT: Final = "Correct its row with a tool for SQLite while nothing else uses the file, or restore an older copy."
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
SELECT: Final = "SELECT id, content, category, confidence, created_us, source FROM facts"
_SELECT_TWIN: Final = f"{SELECT} WHERE duplicate = ?"
_INSERT: Final = """
    INSERT INTO facts (seq, id, duplicate, content, category, confidence, created_us, source)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)"""
#: The next fact to evict, never the new one.
_WEAKEST: Final = """
    SELECT seq, id FROM facts WHERE seq <> :new ORDER BY confidence, created_us, seq LIMIT :most"""
_ORDERS: Final = {FactOrder.CREATED: "seq", FactOrder.CONFIDENCE: "confidence DESC, seq",
    FactOrder.STRONGEST: "confidence DESC, seq DESC"}  # fmt: skip


class Facts:
    """One store's facts."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, fact: Fact, limit: int) -> AddResult:
        fact = _checked(fact, limit)
        digest = _digest(fact.content)
        # A duplicate needs no write lock; if another process is faster, the unique index decides.
        twin = self._database.first(_SELECT_TWIN, (digest,))
        if twin is None:
            with self._database.changing() as change:
                result = self._insert(change, fact, digest, limit)
            if result.outcome is AddOutcome.ADDED:
                return result
        else:
            result = _duplicate(from_row(twin))
        self._database.confirm()
        return result

    def get(self, fact_id: str) -> Fact:
        row = self._database.first(f"{SELECT} WHERE id = ?", (fact_id,)) if _is_text(fact_id) else None
        return from_row(_known(row, fact_id))

    def update(
        self,
        fact_id: str,
        content: str | None,
        category: str | None,
        confidence: float | None,
        source: str | Callable[[str], str] | None,
    ) -> Fact:
        if self._database.missing():
            _known(None, fact_id)
        with self._database.changing() as change:
            seq, old = _row(change.sql, fact_id)
            new = factrules.changed(old, content, category, confidence, source)
            if new != old:
                digest = _digest(new.content)
                twin = _twin(change.sql, digest)
                if twin and twin.id != fact_id:
                    raise factrules.duplicate_of(twin.id, fact_id)
                change.sql.execute(
                    "UPDATE facts SET content = ?, duplicate = ?, category = ?, confidence = ?, source = ?"
                    " WHERE seq = ?",
                    (new.content, digest, new.category, new.confidence, new.source, seq),
                )
        self._database.confirm()
        return new

    def delete(self, fact_id: str) -> Fact:
        if self._database.missing():
            _known(None, fact_id)
        with self._database.changing() as change:
            seq, fact = _row(change.sql, fact_id)
            change.sql.execute("DELETE FROM facts WHERE seq = ?", (seq,))
            change.facts -= 1
            change.removed += 1
            change.last = change.sql.execute("SELECT ifnull(max(seq), 0) FROM facts").fetchone()[0]
        return fact

    def all(self, order: FactOrder, limit: int | None) -> Iterator[Fact]:
        wanted = -1 if limit is None else min(max(limit, 0), sys.maxsize)
        query = f"{SELECT} ORDER BY {_ORDERS[order]} LIMIT ?"
        with self._database.reading() as sql:
            if sql is None:
                return iter(())
            if 0 <= wanted <= AT_ONCE or schema.count_facts(sql) <= AT_ONCE:
                return map(from_row, sql.execute(query, (wanted,)).fetchall())
        return self._lazily(query, wanted)

    def count(self) -> int:
        with self._database.reading() as sql:
            return 0 if sql is None else schema.count_facts(sql)

    def recount(self, change: Change) -> None:
        """Look at all facts for what ``state`` says of them. More said than there are would let facts leave."""
        change.facts = change.sql.execute("SELECT count(*) FROM facts").fetchone()[0]

    def _lazily(self, query: str, wanted: int) -> Iterator[Fact]:
        snapshot = self._database.snapshot()
        if snapshot is None:
            with self._database.reading() as sql:
                return map(from_row, [] if sql is None else sql.execute(query, (wanted,)).fetchall())
        rows = self._rows(snapshot, query, wanted)
        next(rows)  # from here on its end closes the snapshot, even if no fact is taken from it
        return (from_row(row) for row in rows if row is not None)

    def _rows(self, snapshot: sqlite3.Connection, query: str, wanted: int) -> Iterator[Any]:
        try:
            yield None
            yield from snapshot.execute(query, (wanted,))
        except sqlite3.Error as error:
            raise self._database.failed(error) from error
        finally:
            snapshot.close()

    def _insert(self, change: Change, fact: Fact, digest: bytes, limit: int) -> AddResult:
        seq = change.last + 1
        try:
            change.sql.execute(_INSERT, (seq, *_row_of(fact, digest)))
        except sqlite3.IntegrityError as error:
            twin = _twin(change.sql, digest)
            if twin:
                return _duplicate(twin)
            raise Conflict(
                f"The id {fact.id} is taken by another fact.", next_step="Draw a new id and try again."
            ) from error
        change.last = seq
        evicted = self._evict(change, change.facts - (limit - 1))
        change.facts += 1 - len(evicted)
        change.removed += len(evicted)
        return AddResult(outcome=AddOutcome.ADDED, fact=fact, evicted=evicted)

    def _evict(self, change: Change, surplus: int) -> tuple[str, ...]:
        """Evict the weakest facts, never the new one. A damaged ``state`` may count more facts than there are."""
        if surplus <= 0:
            return ()
        weakest = change.sql.execute(_WEAKEST, {"new": change.last, "most": min(surplus, sys.maxsize)}).fetchall()
        change.sql.executemany("DELETE FROM facts WHERE seq = ?", [(seq,) for seq, _ in weakest])
        return tuple(fact_id for _, fact_id in weakest)


def _checked(fact: Fact, limit: int) -> Fact:
    if limit < 1:
        raise ValueError("limit must be at least 1")
    at = fact.created_at
    at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)  # reading A13
    return attrs.evolve(fact, created_at=at, confidence=factrules.finite(fact.confidence))


def _digest(content: str) -> bytes:
    """The unique index's key: equivalent to the duplicate key, but of fixed length."""
    try:
        key = duplicate_key(content).encode()
    except UnicodeEncodeError as error:
        raise faults.surrogate() from error
    return hashlib.blake2b(key, digest_size=20).digest()


def _row_of(fact: Fact, digest: bytes) -> tuple[Any, ...]:
    """A row's values, without its seq."""
    created_us = (fact.created_at - _EPOCH) // _MICROSECOND
    return fact.id, digest, fact.content, fact.category, fact.confidence, created_us, fact.source


def _twin(sql: sqlite3.Connection, digest: bytes) -> Fact | None:
    row = sql.execute(_SELECT_TWIN, (digest,)).fetchone()
    return None if row is None else from_row(row)


def _duplicate(twin: Fact) -> AddResult:
    return AddResult(outcome=AddOutcome.DUPLICATE, fact=twin, duplicate_of=twin.id)


def _row(sql: sqlite3.Connection, fact_id: str) -> tuple[int, Fact]:
    query = f"{SELECT.replace('SELECT', 'SELECT seq,', 1)} WHERE id = ?"
    row = sql.execute(query, (fact_id,)).fetchone() if _is_text(fact_id) else None
    seq, *rest = _known(row, fact_id)
    return seq, from_row(rest)


def _is_text(fact_id: str) -> bool:
    """Whether a stored id can be equal to it: half of a character is in none."""
    try:
        fact_id.encode()
    except UnicodeEncodeError:
        return False
    return True


def _known(row: Any, fact_id: str) -> Any:
    if row is None:
        raise NotFound(f"There is no fact {fact_id!r}.", next_step="List the facts with `holdfast facts list`.")
    return row


def from_row(row: Sequence[Any]) -> Fact:
    """The fact in a row of :data:`SELECT`. Raises: Corrupt."""
    fact_id, content, category, confidence, created_us, source = row
    if not (
        type(fact_id) is type(content) is type(category) is type(source) is str
        and type(confidence) is float
        and type(created_us) is int
        and 0.0 <= confidence <= 1.0
        and category in CATEGORIES
    ):
        raise Corrupt(f"The fact {fact_id!r} is stored with invalid values.", next_step=_CORRECT)
    try:
        created_at = _EPOCH + created_us * _MICROSECOND
    except OverflowError as error:
        raise Corrupt(f"The fact {fact_id!r} is stored with an invalid time.", next_step=_CORRECT) from error
    return Fact(
        id=fact_id, content=content, category=category, confidence=confidence, created_at=created_at, source=source
    )
