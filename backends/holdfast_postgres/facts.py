"""Facts as rows, locked by the namespace's row. A unique index finds duplicates, another index the weakest fact."""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import attrs

from holdfast.errors import Conflict, Corrupt, NotFound
from holdfast.facts import factrules
from holdfast.facts.factrules import CATEGORIES, duplicate_key
from holdfast.models import AddOutcome, AddResult, Fact
from holdfast.storage import Add, FactOrder, Hit, HitKind, Remove
from holdfast_postgres import faults
from holdfast_postgres.database import Database, Row, Statement, reading, writing
from holdfast_postgres.words import lexemes, pattern, split, tsquery

#: The kinds of answer of ``holdfast.add_fact``.
_TWIN, _TAKEN = 0, 1
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_CORRECT: Final = "Correct its row with a database tool, or restore it from a backup."
_COLUMNS: Final = "id, content, category, confidence, created_us, source"
_SELECT: Final = f"SELECT {_COLUMNS} FROM holdfast.facts WHERE namespace = %s"  # noqa: S608 - nothing of it is given
_ORDERS: Final = {
    FactOrder.CREATED: "seq",
    FactOrder.CONFIDENCE: "confidence DESC, seq",
    FactOrder.STRONGEST: "confidence DESC, seq DESC",
}
_ADD: Final = """SELECT kind, id, content, category, confidence, created_us, source, gone
    FROM holdfast.add_fact(%s, %s, %s, %s, %s, %s, %s, %s, array_to_tsvector(%s::text[]), %s, %s)"""

#: Runs after an addition in the same transaction, which holds the namespace's lock.
_REMOVE: Final = """WITH gone AS (DELETE FROM holdfast.facts WHERE namespace = %s AND id = ANY(%s) RETURNING 1)
    UPDATE holdfast.namespaces SET facts = facts - (SELECT count(*) FROM gone) WHERE namespace = %s"""


class Facts:
    """A namespace's facts."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, fact: Fact, limit: int) -> AddResult:
        row = writing(self._database, lambda: self._database.call(_ADD, self._given(fact, limit)))
        result = self._result(_checked(fact, limit), row)
        if result is None:
            raise Conflict(f"The id {fact.id} is taken by another fact.", next_step="Draw a new id and try again.")
        return result

    def change(self, one: Add | Remove) -> Statement:
        """The statement that makes a change, and :meth:`result` the row of an addition."""
        if isinstance(one, Add):
            return _ADD, (*self._given(one.fact, one.limit), self._database.patience())
        return _REMOVE, (self._database.namespace, [one.fact_id], self._database.namespace)

    def result(self, one: Add, row: Row) -> AddResult | None:
        """None when the id is taken."""
        return self._result(_checked(one.fact, one.limit), row)

    def listing(self) -> Statement:
        """The statement that reads all facts in order of insertion, and :meth:`read` its rows."""
        return f"{_SELECT} ORDER BY seq", (self._database.namespace,)

    @staticmethod
    def read(rows: Sequence[Row]) -> list[Fact]:
        return list(map(_fact, rows))

    def _given(self, fact: Fact, limit: int) -> tuple[object, ...]:
        fact = _checked(fact, limit)
        created_us = (fact.created_at - _EPOCH) // _MICROSECOND
        return (self._database.namespace, fact.id, _digest(fact.content), fact.content, fact.category, fact.confidence,
                created_us, fact.source, lexemes(fact.content), min(limit, sys.maxsize))  # fmt: skip

    def _result(self, fact: Fact, row: Row) -> AddResult | None:
        """None when the id is taken."""
        kind, *columns, gone = row
        if kind == _TAKEN:
            return None
        if kind == _TWIN:
            twin = _fact(columns)
            if twin.id != fact.id or not self._database.was_repeated:  # otherwise the first response was lost
                return AddResult(outcome=AddOutcome.DUPLICATE, fact=twin, duplicate_of=twin.id)
        return AddResult(outcome=AddOutcome.ADDED, fact=fact, evicted=tuple(gone or ()))

    def get(self, fact_id: str) -> Fact:
        rows = self._rows(f"{_SELECT} AND id = %s", fact_id) if _is_storable(fact_id) else []
        return _fact(_known(rows, fact_id))

    def update(
        self,
        fact_id: str,
        content: str | None,
        category: str | None,
        confidence: float | None,
        source: str | Callable[[str], str] | None,
    ) -> Fact:
        def changed(execute: Callable[..., list[Row]]) -> Fact:
            old = _fact(_known(execute(f"{_SELECT} AND id = %s", (self._database.namespace, fact_id)), fact_id))
            new = factrules.changed(old, content, category, confidence, source)
            if new == old:
                return new
            digest, space = _digest(new.content), self._database.namespace
            twin = execute(f"{_SELECT} AND duplicate = %s", (space, digest))
            if twin and twin[0][0] != fact_id:
                raise factrules.duplicate_of(twin[0][0], fact_id)
            _storable(new.category, new.source)
            execute(
                "UPDATE holdfast.facts SET content = %s, category = %s, confidence = %s, source = %s, duplicate = %s,"
                " words = array_to_tsvector(%s::text[]) WHERE namespace = %s AND id = %s",
                (new.content, new.category, new.confidence, new.source, digest, lexemes(new.content), space, fact_id),
            )
            return new

        return self._existing(fact_id, changed)

    def delete(self, fact_id: str) -> Fact:
        removed: list[Fact] = []  # by a try whose answer was lost

        def deleted(execute: Callable[..., list[Row]]) -> Fact:
            space = self._database.namespace
            query = f"DELETE FROM holdfast.facts WHERE namespace = %s AND id = %s RETURNING {_COLUMNS}"  # noqa: S608
            rows = execute(query, (space, fact_id))
            if not rows and removed:
                return removed[0]
            fact = _fact(_known(rows, fact_id))
            removed.append(fact)
            execute("UPDATE holdfast.namespaces SET facts = facts - 1 WHERE namespace = %s", (space,))
            return fact

        return self._existing(fact_id, deleted)

    def all(self, order: FactOrder, limit: int | None) -> Iterator[Fact]:
        query = f"{_SELECT} ORDER BY {_ORDERS[order]} LIMIT %s"
        return map(_fact, self._rows(query, _most(limit)))

    def count(self) -> int:
        rows = self._rows("SELECT count(content) FROM holdfast.facts WHERE namespace = %s")
        return int(rows[0][0]) if rows else 0

    def search(self, words: Sequence[str], limit: int) -> list[Hit]:
        """Facts and documents with any of ``words``, those with more of them first, then those with more occurrences.
        Of equals, facts come first."""
        wanted = [split(word) for word in dict.fromkeys(words) if _is_storable(word)]
        wanted = [parts for parts in wanted if parts]
        if not wanted or limit < 1:
            return []
        space, has = self._database.namespace, "namespace = %s AND (words @@ %s::tsquery OR words IS NULL)"
        values = (space, " | ".join(f"({tsquery(parts)})" for parts in wanted))
        facts = f"SELECT id, content FROM holdfast.facts WHERE {has} ORDER BY seq"  # noqa: S608 - nothing of it is given
        documents = f"SELECT name, body FROM holdfast.documents WHERE {has} ORDER BY name"  # noqa: S608
        found = reading(lambda: self._database.run((facts, values), (documents, values))) or [[], []]
        patterns = [pattern(parts) for parts in wanted]
        kinds = ((HitKind.FACT, found[0]), (HitKind.DOCUMENT, found[1]))
        hits = [_hit(kind, name, text, patterns) for kind, rows in kinds for name, text in rows]
        return [hit for _, hit in sorted(filter(None, hits), key=_rank)[:limit]]

    def _existing(self, fact_id: str, work: Callable[[Callable[..., list[Row]]], Fact]) -> Fact:
        if not _is_storable(fact_id):
            _known([], fact_id)
        found = reading(lambda: self._database.change(work))
        return found if found is not None else _fact(_known([], fact_id))

    def _rows(self, query: str, *values: object) -> list[Row]:
        return reading(lambda: self._database.run((query, (self._database.namespace, *values)))[0]) or []


def _hit(
    kind: HitKind, name: str, text: str, words: Sequence[Sequence[re.Pattern[str]]]
) -> tuple[tuple[int, int], Hit] | None:
    """The numbers of words and of occurrences, and the hit. None if the index was too coarse."""
    plain = text.casefold()
    found: list[list[int]] = []
    for patterns in words:
        places = [[match.start() for match in part.finditer(plain)] for part in patterns]
        if all(places):
            found.append([place for places_of_part in places for place in places_of_part])
    if not found:
        return None
    at = min(map(min, found))
    shown = text if kind is HitKind.FACT else text[max(0, at - 60) : at + 160]
    return (len(found), sum(map(len, found))), Hit(kind=kind, name=name, text=shown)


def _rank(found: tuple[tuple[int, int], Hit]) -> tuple[int, int]:
    (words, occurrences), _ = found
    return -words, -occurrences


def _most(limit: int | None) -> int | None:
    return None if limit is None else min(max(limit, 0), sys.maxsize)


def _checked(fact: Fact, limit: int) -> Fact:
    if limit < 1:
        raise ValueError("limit must be at least 1")
    at = fact.created_at
    at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)  # reading A13
    _storable(fact.id, fact.category, fact.source)
    return attrs.evolve(fact, created_at=at, confidence=factrules.finite(fact.confidence))


def _digest(content: str) -> bytes:
    """The unique index's key: as selective as the duplicate key, and short at any length of it."""
    _storable(content)
    return hashlib.blake2b(duplicate_key(content).encode(), digest_size=20).digest()


def _storable(*texts: str) -> None:
    for text in texts:
        if not _is_storable(text):
            raise faults.bad_text("a fact", "a lone surrogate or a NUL character")


def _is_storable(text: object) -> bool:
    try:
        return isinstance(text, str) and "\0" not in text and text.encode() is not None
    except UnicodeEncodeError:
        return False


def _known(rows: list[Row], fact_id: str) -> Row:
    if not rows:
        raise NotFound(f"There is no fact {fact_id!r}.", next_step="List the facts with `holdfast facts list`.")
    return rows[0]


def _fact(row: Sequence[Any]) -> Fact:
    fact_id, content, category, confidence, created_us, source = row
    if not 0.0 <= confidence <= 1.0 or category not in CATEGORIES:
        raise Corrupt(f"The fact {fact_id!r} is stored with invalid values.", next_step=_CORRECT)
    try:
        created_at = _EPOCH + created_us * _MICROSECOND
    except OverflowError as error:
        raise Corrupt(f"The fact {fact_id!r} has a time out of range.", next_step=_CORRECT) from error
    return Fact(
        id=fact_id, content=content, category=category, confidence=confidence, created_at=created_at, source=source
    )
