"""Facts as rows: duplicates by a unique index, the weakest by another, all in one transaction."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final

from holdfast.models import AddOutcome, AddResult, Fact
from holdfast.storage import (
    FACT_COLUMNS,
    SQL_ORDERS,
    FactOrder,
    Remove,
    Update,
    columns_of,
    duplicate_digest,
    duplicate_of,
    fact_in,
    id_taken,
    leaving,
    no_fact,
    storable,
    updated,
)
from holdfast_sqlite.database import Change, Database

_CORRECT: Final = "Correct its row with a tool for SQLite while nothing else uses the file, or restore an older copy."
SELECT: Final = f"SELECT {FACT_COLUMNS} FROM facts"  # noqa: S608 - nothing of it is given
_INSERT: Final = """
    INSERT INTO facts (seq, id, duplicate, content, category, confidence, created_us, source)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)"""
#: The next fact to evict, never the new one.
_WEAKEST: Final = """
    SELECT seq, id FROM facts WHERE seq <> :new ORDER BY confidence, created_us, seq LIMIT :most"""


class Facts:
    """One store's facts."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self, order: FactOrder, limit: int | None) -> Iterator[Fact]:
        wanted = -1 if limit is None else min(max(limit, 0), sys.maxsize)
        with self._database.reading() as sql:
            query = f"{SELECT} ORDER BY {SQL_ORDERS[order]} LIMIT ?"
            return map(from_row, [] if sql is None else sql.execute(query, (wanted,)).fetchall())

    def add(self, fact: Fact, limit: int) -> AddResult:
        fact = storable(fact, limit)
        row = columns_of(fact)
        with self._database.changing() as change:
            twin = _twin(change.sql, row[1])
            if twin is None:
                return self._insert(change, fact, row, limit)
        self._database.confirm()
        return AddResult(outcome=AddOutcome.DUPLICATE, fact=twin, duplicate_of=twin.id)

    def update(self, change: Update) -> Fact:
        if self._database.missing():
            raise no_fact(change.fact_id)
        with self._database.changing() as transaction:
            seq, old = _row(transaction.sql, change.fact_id)
            new = updated(old, change)
            if new != old:
                digest = duplicate_digest(new.content)
                twin = _twin(transaction.sql, digest)
                if twin and twin.id != new.id:
                    raise duplicate_of(twin.id, new.id)
                transaction.sql.execute(
                    "UPDATE facts SET content = ?, duplicate = ?, category = ?, confidence = ?, source = ?"
                    " WHERE seq = ?",
                    (new.content, digest, new.category, new.confidence, new.source, seq),
                )
        self._database.confirm()
        return new

    def delete(self, change: Remove) -> Fact:
        if self._database.missing():
            raise no_fact(change.fact_id)
        with self._database.changing() as transaction:
            seq, old = _row(transaction.sql, change.fact_id)
            fact = leaving(old, change)
            transaction.sql.execute("DELETE FROM facts WHERE seq = ?", (seq,))
            transaction.facts -= 1
            transaction.removed += 1
            transaction.last = transaction.sql.execute("SELECT ifnull(max(seq), 0) FROM facts").fetchone()[0]
        return fact

    def batch(self) -> AbstractContextManager[object]:
        return self._database.changing()

    def recount(self, change: Change) -> None:
        """Look at all facts for what ``state`` says of them. More said than there are would let facts leave."""
        change.facts = change.sql.execute("SELECT count(*) FROM facts").fetchone()[0]

    def _insert(self, change: Change, fact: Fact, row: Sequence[object], limit: int) -> AddResult:
        try:
            change.sql.execute(_INSERT, (change.last + 1, *row))
        except sqlite3.IntegrityError as error:
            raise id_taken(fact.id) from error
        change.last += 1
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


def _twin(sql: sqlite3.Connection, digest: bytes) -> Fact | None:
    row = sql.execute(f"{SELECT} WHERE duplicate = ?", (digest,)).fetchone()
    return None if row is None else from_row(row)


def _row(sql: sqlite3.Connection, fact_id: str) -> tuple[int, Fact]:
    """The fact and its seq. Raises: NotFound, also for half of a character, which no stored id has."""
    query = f"{SELECT.replace('SELECT', 'SELECT seq,', 1)} WHERE id = ?"
    try:
        row = sql.execute(query, (fact_id,)).fetchone()
    except UnicodeEncodeError:
        row = None
    if row is None:
        raise no_fact(fact_id)
    return row[0], from_row(row[1:])


def from_row(row: Sequence[Any]) -> Fact:
    """The fact in a row of :data:`SELECT`. Raises: Corrupt."""
    return fact_in(row, _CORRECT)
