"""The facts that result from operations in order. Every reader of the same operations gets the same facts."""

from __future__ import annotations

import heapq
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias, TypeVar

from attrs import define, field

from holdfast.config import serde
from holdfast.errors import Corrupt, StorageError
from holdfast.models import AddOutcome, AddResult, Fact
from holdfast.storage import (
    Add,
    FactOrder,
    Remove,
    Update,
    duplicate_key,
    duplicate_of,
    id_taken,
    no_fact,
    updated,
)
from holdfast.text import untrusted
from holdfast_gitea.marker import readable

T = TypeVar("T")

#: Facts in the table that people read.
_SHOWN: Final = 200
#: A fact's fields that an update may change.
CHANGEABLE: Final = ("content", "category", "confidence", "source")

Operation: TypeAlias = Add | Update | Remove
#: An operation's outcome: its result, or the error it raised without changing anything.
Outcome: TypeAlias = AddResult | Fact | StorageError


@define
class FactTable:
    """Facts in order of insertion, by id and by their key."""

    _facts: dict[str, Fact] = field(factory=dict)
    _ids: dict[str, str] = field(factory=dict)

    def apply(self, operation: Operation) -> Outcome:
        """Apply the operation. Raises: Conflict, DuplicateFact, NotFound, without changing anything."""
        if isinstance(operation, Add):
            return self._add(operation.fact, operation.limit)
        if isinstance(operation, Update):
            return self._update(operation)
        return self._take(operation.fact_id)

    def get(self, fact_id: str) -> Fact:
        """Raises: NotFound."""
        if fact_id not in self._facts:
            raise no_fact(fact_id)
        return self._facts[fact_id]

    def load(self, facts: Iterable[Fact]) -> None:
        """Hold these facts, as they are, and no others."""
        self._facts = {fact.id: fact for fact in facts}
        self._ids = {duplicate_key(fact.content): fact.id for fact in self._facts.values()}

    def listed(self, order: FactOrder, limit: int | None) -> Sequence[Fact]:
        """As the storage contract has it."""
        facts = list(self._facts.values())
        if order is FactOrder.STRONGEST:
            facts.reverse()
        if order is not FactOrder.CREATED:
            facts.sort(key=lambda fact: -fact.confidence)
        return facts if limit is None else facts[: max(limit, 0)]

    def __len__(self) -> int:
        return len(self._facts)

    def __iter__(self) -> Iterator[Fact]:
        return iter(self._facts.values())

    def _add(self, fact: Fact, limit: int) -> AddResult:
        key = duplicate_key(fact.content)
        if key in self._ids:
            twin = self._facts[self._ids[key]]
            return AddResult(outcome=AddOutcome.DUPLICATE, fact=twin, duplicate_of=twin.id)
        if fact.id in self._facts:
            raise id_taken(fact.id)
        surplus = len(self._facts) - (limit - 1)
        # nsmallest keeps equals in order of insertion
        weakest = heapq.nsmallest(surplus, self._facts.values(), key=lambda f: (f.confidence, f.created_at))
        for gone in weakest:
            self._take(gone.id)
        self._facts[fact.id] = fact
        self._ids[key] = fact.id
        return AddResult(outcome=AddOutcome.ADDED, fact=fact, evicted=[gone.id for gone in weakest])

    def _update(self, change: Update) -> Fact:
        old = self.get(change.fact_id)
        new = updated(old, change)
        key = duplicate_key(new.content)
        twin = self._ids.get(key, old.id)
        if twin != old.id:
            raise duplicate_of(twin, old.id)
        del self._ids[duplicate_key(old.content)]
        self._facts[old.id], self._ids[key] = new, old.id
        return new

    def _take(self, fact_id: str) -> Fact:
        fact = self.get(fact_id)
        del self._facts[fact_id], self._ids[duplicate_key(fact.content)]
        return fact


def shown(table: FactTable) -> str:
    """The strongest facts as a Markdown table for people."""
    rows = ["| fact | category | confidence | since |", "|---|---|---|---|"]
    for fact in table.listed(FactOrder.STRONGEST, _SHOWN):
        content = readable(" ".join(fact.content.split())).replace("|", "\\|")
        rows.append(f"| {content} | {fact.category} | {fact.confidence:g} | {fact.created_at:%Y-%m-%d} |")
    more = f"\n\n{len(table) - _SHOWN} more are in the comments." if len(table) > _SHOWN else ""
    return "\n".join(rows) + more


# --- as lines of JSON, which is how a comment holds them ------------------------------------------------------


def line_of(operation: Operation) -> str:
    """An operation as a line, readable and exact."""
    if isinstance(operation, Add):
        table = {"op": "put", "limit": operation.limit, "fact": serde.fact_out(operation.fact)}
    elif isinstance(operation, Update):
        changes = {key: value for key in CHANGEABLE if (value := getattr(operation, key)) is not None}
        table = {"op": "set", "id": operation.fact_id, **changes}
    else:
        table = {"op": "del", "id": operation.fact_id}
    return json.dumps(table, ensure_ascii=False)


def line_of_fact(fact: Fact) -> str:
    """A fact of a snapshot as a line."""
    return json.dumps(serde.fact_out(fact), ensure_ascii=False)


def operations_in(text: str, url: str) -> list[Operation]:
    """A record's operations. Raises: Corrupt, naming the comment."""
    return _read(text, url, _operation)


def facts_in(text: str, url: str) -> list[Fact]:
    """A snapshot's facts. Raises: Corrupt, naming the comment."""
    return _read(text, url, _fact)


def _read(text: str, url: str, parse: Callable[[Mapping[str, Any]], T]) -> list[T]:
    try:
        return [parse(untrusted.from_json(line)) for line in text.split("\n") if line]
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise Corrupt(
            f"The facts in a comment cannot be read: {url}",
            next_step="Restore the earlier version from the comment's edit history on the server.",
        ) from error


def _operation(table: Mapping[str, Any]) -> Operation:
    kind = table["op"]
    if kind == "put":
        return Add(_fact(table["fact"]), _of(int, table["limit"]))
    if kind == "set":
        return Update(_of(str, table["id"]), **{key: _value(key, table[key]) for key in CHANGEABLE if key in table})
    if kind == "del":
        return Remove(_of(str, table["id"]))
    raise ValueError(kind)


def _fact(table: Mapping[str, Any]) -> Fact:
    return Fact(
        id=_of(str, table["id"]),
        created_at=serde.moment(_of(str, table["createdAt"])),
        **{key: _value(key, table[key]) for key in CHANGEABLE},
    )


def _value(key: str, value: object) -> Any:
    if key != "confidence":
        return _of(str, value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise TypeError(key)
    return float(value)


def _of(kind: type, value: object) -> Any:
    if type(value) is not kind:
        raise TypeError(kind.__name__)
    return value
