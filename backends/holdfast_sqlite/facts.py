"""Facts as rows: duplicates by a unique index, the weakest by another, all in one transaction."""

from __future__ import annotations

import hashlib
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from math import isfinite
from typing import Any, Final

import attrs

from holdfast.errors import Conflict, Corrupt, DuplicateFact, NotFound
from holdfast.facts.factrules import CATEGORIES, duplicate_key
from holdfast.models import AddOutcome, AddResult, Fact
from holdfast.storage import FactOrder
from holdfast_sqlite import faults, schema
from holdfast_sqlite.database import Change, Database
from holdfast_sqlite.search import BATCH, SearchIndex

#: A listing of at most this many facts is read at once. A longer one is read as it is used, from its own connection.
AT_ONCE: Final = 500
_ADDED: Final = AddOutcome.ADDED  # to find a member of an enumeration by its name takes a tenth of a microsecond
_DUPLICATE: Final = AddOutcome.DUPLICATE
_CORRECT: Final = "Correct its row with a tool for SQLite while nothing else uses the file, or restore an older copy."
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_DIGEST: Final = hashlib.blake2b(digest_size=20)  # empty; copying it costs half of creating one
_SELECT: Final = "SELECT id, content, category, confidence, created_us, source FROM facts"
_SELECT_TWIN: Final = f"{_SELECT} WHERE duplicate = ?"
_INSERT: Final = """
    INSERT INTO facts (seq, id, duplicate, content, category, confidence, created_us, source)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)"""
#: The same as one statement, with the same seq, for a fact that changes nothing else: while there is room for it, and
#: while the search index need not hear of it. Else, and when its id or its digest is taken, it does nothing.
_INSERT_ALONE: Final = """
    INSERT OR IGNORE INTO facts (id, duplicate, content, category, confidence, created_us, source)
    VALUES (
        (SELECT ? FROM state WHERE indexed >= 0
         AND (SELECT ifnull(max(seq), 0) FROM facts) BETWEEN indexed AND min(gone + ?, indexed + ?)
         AND (NOT ordered OR ? >= (SELECT ifnull(max(created_us), ?) FROM (
              SELECT created_us FROM facts ORDER BY seq DESC LIMIT 1)))),
        ?, ?, ?, ?, ?, ?)"""
#: Who leaves first, without the newcomer: any number of facts, and, where older ones have lower numbers, those of the
#: lowest confidence.
_WEAKEST: Final = """
    SELECT seq, id, content FROM facts WHERE seq <> :new ORDER BY confidence, created_us, seq LIMIT :most"""
_INDEX_WEAKEST: Final = "CREATE INDEX IF NOT EXISTS facts_weakest ON facts (confidence, created_us)"
_WEAKEST_IN_ORDER: Final = """
    SELECT seq, id, content FROM facts
    WHERE confidence = (SELECT confidence FROM facts WHERE seq <> :new ORDER BY confidence LIMIT 1) AND seq <> :new
    ORDER BY seq LIMIT :most"""
_CREATED: Final = "SELECT created_us FROM facts WHERE seq = ?"
_CREATED_US: Final = 5  # its place in a row without seq
_ORDERS: Final = {FactOrder.CREATED: "seq", FactOrder.CONFIDENCE: "confidence DESC, seq"}
#: By confidence, the newest of equals first. It reads only the index: all facts above the lowest listed confidence, and
#: the newest of those with that confidence.
_STRONGEST: Final = f"""
    WITH edge AS (
        SELECT min(confidence) AS least FROM (SELECT confidence FROM facts ORDER BY confidence DESC LIMIT :most))
    {_SELECT} WHERE seq IN (
        SELECT seq FROM facts WHERE confidence > (SELECT least FROM edge)
        UNION ALL SELECT seq FROM (
            SELECT seq FROM facts WHERE confidence = (SELECT least FROM edge) ORDER BY seq DESC LIMIT :most))
    ORDER BY confidence DESC, seq DESC LIMIT :most"""  # noqa: S608 - nothing of it is given


class Facts:
    """One store's facts."""

    def __init__(self, database: Database, index: SearchIndex) -> None:
        self._database = database
        self._index = index

    def add(self, fact: Fact, limit: int) -> AddResult:
        fact = _checked(fact, limit)
        digest = _digest(fact.content)
        # A duplicate needs no write lock; when another process is quicker, the unique index decides.
        twin = self._database.first(_SELECT_TWIN, (digest,))
        if twin is None:
            row = _row_of(fact, digest)
            fact_id, created_us = row[0], row[_CREATED_US]
            values = (fact_id, min(limit - 1, sys.maxsize), BATCH - 2, created_us, created_us, *row[1:])
            if self._index.enabled and self._database.alone(_INSERT_ALONE, values):
                return AddResult(outcome=_ADDED, fact=fact)
            with self._database.changing() as change:
                self._index.prepare(change)
                result = self._insert(change, fact, row, limit)
            if result.outcome is _ADDED:
                return result
        else:
            result = _duplicate(_fact(twin))
        self._database.confirm()
        return result

    def get(self, fact_id: str) -> Fact:
        row = self._database.first(f"{_SELECT} WHERE id = ?", (fact_id,)) if _is_text(fact_id) else None
        return _fact(_known(row, fact_id))

    def update(
        self, fact_id: str, content: str | None, category: str | None, confidence: float | None, source: str | None
    ) -> Fact:
        if self._database.missing():
            _known(None, fact_id)
        with self._database.changing() as change:
            self._index.prepare(change)
            seq, old = _row(change.sql, fact_id)
            new = attrs.evolve(
                old,
                content=old.content if content is None else content,
                category=old.category if category is None else category,
                confidence=old.confidence if confidence is None else _finite(confidence),
                source=old.source if source is None else source,
            )
            if new != old:
                digest = _digest(new.content)
                twin = _twin(change.sql, digest)
                if twin and twin.id != fact_id:
                    raise DuplicateFact(
                        f"Fact {twin.id} already says the same as the new content of {fact_id}.",
                        next_step=f"Delete one of them, or update {twin.id} instead.",
                    )
                change.sql.execute(
                    "UPDATE facts SET content = ?, duplicate = ?, category = ?, confidence = ?, source = ?"
                    " WHERE seq = ?",
                    (new.content, digest, new.category, new.confidence, new.source, seq),
                )
                self._index.fact_changed(change, seq, old.content, new.content)
        self._database.confirm()
        return new

    def delete(self, fact_id: str) -> Fact:
        if self._database.missing():
            _known(None, fact_id)
        with self._database.changing() as change:
            self._index.prepare(change)
            seq, fact = _row(change.sql, fact_id)
            change.sql.execute("DELETE FROM facts WHERE seq = ?", (seq,))
            change.facts -= 1
            change.removed += 1
            change.last = change.sql.execute("SELECT ifnull(max(seq), 0) FROM facts").fetchone()[0]
            self._index.fact_deleted(change, seq, fact.content)
        return fact

    def all(self, order: FactOrder, limit: int | None) -> Iterator[Fact]:
        wanted = -1 if limit is None else min(max(limit, 0), sys.maxsize)
        query = f"{_SELECT} ORDER BY {_ORDERS[order]} LIMIT ?"
        with self._database.reading() as sql:
            if sql is None:
                return iter(())
            if 0 <= wanted <= AT_ONCE or schema.count_facts(sql) <= AT_ONCE:
                return map(_fact, sql.execute(query, (wanted,)).fetchall())
        return self._lazily(query, wanted)

    def strongest(self, limit: int | None) -> Iterator[Fact]:
        most = -1 if limit is None else min(max(limit, 0), sys.maxsize)
        with self._database.reading() as sql:
            return iter(()) if sql is None else map(_fact, sql.execute(_STRONGEST, {"most": most}).fetchall())

    def count(self) -> int:
        with self._database.reading() as sql:
            return 0 if sql is None else schema.count_facts(sql)

    def recount(self, change: Change) -> None:
        """Look at all facts for what ``state`` says of them. More said than there are would let facts leave."""
        change.facts = change.sql.execute("SELECT count(*) FROM facts").fetchone()[0]
        change.ordered = bool(change.sql.execute(schema.IS_ORDERED).fetchone()[0])
        if change.ordered:
            change.sql.execute("DROP INDEX IF EXISTS facts_weakest")

    def _lazily(self, query: str, wanted: int) -> Iterator[Fact]:
        snapshot = self._database.snapshot()
        if snapshot is None:
            with self._database.reading() as sql:
                return map(_fact, [] if sql is None else sql.execute(query, (wanted,)).fetchall())
        rows = self._rows(snapshot, query, wanted)
        next(rows)  # from here on its end closes the snapshot, even if no fact is taken from it
        return (_fact(row) for row in rows if row is not None)

    def _rows(self, snapshot: sqlite3.Connection, query: str, wanted: int) -> Iterator[Any]:
        try:
            yield None
            yield from snapshot.execute(query, (wanted,))
        except sqlite3.Error as error:
            raise self._database.failed(error) from error
        finally:
            snapshot.close()

    def _insert(self, change: Change, fact: Fact, row: tuple[Any, ...], limit: int) -> AddResult:
        # Never a seq that the index may still know, even if its fact was evicted.
        seq = max(change.last, change.indexed) + 1
        try:
            change.sql.execute(_INSERT, (seq, *row))
        except sqlite3.IntegrityError as error:
            twin = _twin(change.sql, row[1])
            if twin:
                return _duplicate(twin)
            raise Conflict(
                f"The id {fact.id} is taken by another fact.", next_step="Draw a new id and try again."
            ) from error
        if change.ordered:
            newest = change.sql.execute(_CREATED, (change.last,)).fetchone()
            change.ordered = newest is None or newest[0] <= row[_CREATED_US]
        change.last = seq
        evicted = self._evict(change, change.facts - (limit - 1))
        change.facts += 1 - len(evicted)
        change.removed += len(evicted)
        self._index.fact_added(change)
        return AddResult(outcome=_ADDED, fact=fact, evicted=evicted)

    def _evict(self, change: Change, surplus: int) -> tuple[str, ...]:
        """Let the weakest go, but for the newcomer."""
        if surplus > 0 and not change.ordered:
            change.sql.execute(_INDEX_WEAKEST)
        query = _WEAKEST_IN_ORDER if change.ordered else _WEAKEST
        evicted: list[str] = []
        while len(evicted) < surplus:
            weakest = change.sql.execute(query, {"new": change.last, "most": surplus - len(evicted)}).fetchall()
            if not weakest:  # the count in a damaged ``state`` says that there are more
                break
            for seq, fact_id, content in weakest:
                change.sql.execute("DELETE FROM facts WHERE seq = ?", (seq,))
                self._index.fact_evicted(change, seq, content)
                evicted.append(fact_id)
        return tuple(evicted)


def _checked(fact: Fact, limit: int) -> Fact:
    if limit < 1:
        raise ValueError("limit must be at least 1")
    at, confidence = fact.created_at, fact.confidence
    if at.tzinfo is UTC and type(confidence) is float and isfinite(confidence):
        return fact  # as mostly
    if at.tzinfo is not UTC:
        at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)  # reading A13
    confidence = _finite(confidence)
    return attrs.evolve(fact, created_at=at, confidence=confidence)


def _finite(confidence: float) -> float:
    if not isfinite(confidence):
        raise ValueError("confidence is not a finite number")
    return float(confidence)


def _digest(content: str) -> bytes:
    """The unique index's key: equivalent to the duplicate key, but of fixed length."""
    digest = _DIGEST.copy()
    try:
        digest.update(duplicate_key(content).encode())
    except UnicodeEncodeError as error:
        raise faults.surrogate() from error
    return digest.digest()


def _row_of(fact: Fact, digest: bytes) -> tuple[Any, ...]:
    """A row's values, without its seq."""
    created_us = (fact.created_at - _EPOCH) // _MICROSECOND
    return fact.id, digest, fact.content, fact.category, fact.confidence, created_us, fact.source


def _twin(sql: sqlite3.Connection, digest: bytes) -> Fact | None:
    row = sql.execute(_SELECT_TWIN, (digest,)).fetchone()
    return None if row is None else _fact(row)


def _duplicate(twin: Fact) -> AddResult:
    return AddResult(outcome=_DUPLICATE, fact=twin, duplicate_of=twin.id)


def _row(sql: sqlite3.Connection, fact_id: str) -> tuple[int, Fact]:
    query = f"{_SELECT.replace('SELECT', 'SELECT seq,', 1)} WHERE id = ?"
    row = sql.execute(query, (fact_id,)).fetchone() if _is_text(fact_id) else None
    seq, *rest = _known(row, fact_id)
    return seq, _fact(rest)


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


def _fact(row: Sequence[Any]) -> Fact:
    fact_id, content, category, confidence, created_us, source = row
    if not (
        type(fact_id) is type(content) is type(category) is type(source) is str
        and type(confidence) is float
        and type(created_us) is int
        and 0.0 <= confidence <= 1.0
        and category in CATEGORIES
    ):
        raise Corrupt(f"The fact {fact_id!r} is stored with values that no fact has.", next_step=_CORRECT)
    try:
        created_at = _EPOCH + created_us * _MICROSECOND
    except OverflowError as error:
        raise Corrupt(f"The fact {fact_id!r} is stored with a time that is none.", next_step=_CORRECT) from error
    return Fact(
        id=fact_id, content=content, category=category, confidence=confidence, created_at=created_at, source=source
    )
