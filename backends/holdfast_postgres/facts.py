"""Facts as rows, locked by the namespace's row. A unique index finds duplicates, another index the weakest fact."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from typing import Any, Final, TypeAlias

from holdfast.errors import Refused
from holdfast.models import AddOutcome, AddResult, Fact
from holdfast.storage import (
    FACT_COLUMNS,
    SQL_ORDERS,
    Add,
    FactOrder,
    Hit,
    HitKind,
    Remove,
    StorageBackend,
    Update,
    columns_of,
    duplicate_digest,
    duplicate_of,
    fact_in,
    id_taken,
    no_fact,
    storable,
    updated,
)
from holdfast_postgres.database import Database, Row, Statement, reading
from holdfast_postgres.documents import is_storable, lexemes, pattern, split, tsquery

Execute: TypeAlias = Callable[[str, Sequence[object]], list[Row]]
#: The kinds of answer of ``holdfast.add_fact``.
_TWIN, _TAKEN = 0, 1
_CORRECT: Final = "Correct its row with a database tool, or restore it from a backup."
_SELECT: Final = f"SELECT {FACT_COLUMNS} FROM holdfast.facts WHERE namespace = %s"  # noqa: S608 - nothing of it is given
_ADD: Final = """SELECT kind, id, content, category, confidence, created_us, source, gone
    FROM holdfast.add_fact(%s, %s, %s, %s, %s, %s, %s, %s, array_to_tsvector(%s::text[]), %s, %s)"""
_UPDATE: Final = """UPDATE holdfast.facts SET content = %s, category = %s, confidence = %s, source = %s, duplicate = %s,
    words = array_to_tsvector(%s::text[]) WHERE namespace = %s AND id = %s"""
_REMOVE: Final = f"""WITH gone AS (
        DELETE FROM holdfast.facts WHERE namespace = %s AND id = %s AND source = coalesce(%s, source)
        RETURNING {FACT_COLUMNS}),
    counted AS (UPDATE holdfast.namespaces SET facts = facts - (SELECT count(*) FROM gone) WHERE namespace = %s)
    SELECT * FROM gone"""  # noqa: S608 - nothing of it is given


class Facts(StorageBackend):
    """A namespace's facts."""

    _database: Database

    def facts(self, order: FactOrder = FactOrder.CREATED, limit: int | None = None) -> Iterator[Fact]:
        most = None if limit is None else min(max(limit, 0), sys.maxsize)
        rows = reading(lambda: self._database.run(self._listing(order, most))[0]) or []
        return map(fact_of, rows)

    def add_fact(self, fact: Fact, limit: int) -> AddResult:
        result = self.commit([Add(fact, limit)]).added[0]
        if result is None:
            raise id_taken(fact.id)
        return result

    def _listing(self, order: FactOrder = FactOrder.CREATED, limit: int | None = None) -> Statement:
        return f"{_SELECT} ORDER BY {SQL_ORDERS[order]} LIMIT %s", (self._database.namespace, limit)

    def _fact_statement(self, one: Add | Remove) -> Statement:
        """The statement that makes a change."""
        space = self._database.namespace
        if isinstance(one, Remove):
            can_match = is_storable(one.fact_id) and is_storable(one.source or "")
            return _REMOVE, (space, *(one if can_match else ("", None)), space)
        fact = _checked(one)
        most = min(one.limit, sys.maxsize)
        return _ADD, (space, *columns_of(fact), lexemes(fact.content), most, self._database.patience())

    def _result(self, one: Add, row: Row) -> AddResult | None:
        """An addition's result. None when the id is taken."""
        fact = _checked(one)
        kind, *columns, gone = row
        if kind == _TAKEN:
            return None
        if kind == _TWIN:
            twin = fact_of(columns)
            if twin.id != fact.id or not self._database.was_repeated:  # otherwise the first response was lost
                return AddResult(outcome=AddOutcome.DUPLICATE, fact=twin, duplicate_of=twin.id)
        return AddResult(outcome=AddOutcome.ADDED, fact=fact, evicted=tuple(gone or ()))

    def _update(self, one: Update, execute: Execute) -> list[Row]:
        """Make an update inside of a transaction. The new fact's row."""
        space = self._database.namespace
        rows = execute(f"{_SELECT} AND id = %s", (space, one.fact_id)) if is_storable(one.fact_id) else []
        if not rows:
            raise no_fact(one.fact_id)
        old = fact_of(rows[0])
        new = updated(old, one)
        if new == old:
            return rows
        _check(new.content, new.category, new.source)
        digest = duplicate_digest(new.content)
        twin = execute(f"{_SELECT} AND duplicate = %s", (space, digest))
        if twin and twin[0][0] != new.id:
            raise duplicate_of(twin[0][0], new.id)
        words = lexemes(new.content)
        execute(_UPDATE, (new.content, new.category, new.confidence, new.source, digest, words, space, new.id))
        return execute(f"{_SELECT} AND id = %s", (space, new.id))

    def search(self, words: Sequence[str], limit: int = 20) -> list[Hit]:
        """Facts and documents with any of ``words``, those with more of them first, then those with more occurrences.
        Of equals, facts come first."""
        wanted = [split(word) for word in dict.fromkeys(words) if is_storable(word)]
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
        return [hit for _, hit in sorted(filter(None, hits), key=itemgetter(0), reverse=True)[:limit]]


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


def _checked(one: Add) -> Fact:
    fact = storable(one.fact, one.limit)
    _check(fact.id, fact.content, fact.category, fact.source)
    return fact


def _check(*strings: str) -> None:
    if not all(map(is_storable, strings)):
        raise Refused("The text for a fact holds a lone surrogate or a NUL character.", next_step="Remove it.")


def fact_of(row: Sequence[Any]) -> Fact:
    """The fact in a row. Raises: Corrupt."""
    return fact_in(row, _CORRECT)
