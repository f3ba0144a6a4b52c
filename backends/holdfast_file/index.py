"""The facts in memory, by id and by duplicate key. Knows nothing of files."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import TYPE_CHECKING

from holdfast.storage import FactOrder, duplicate_key, tombstone
from holdfast_file.lines import Operation

if TYPE_CHECKING:
    from holdfast.models import Fact


class FactIndex:
    """The facts after all applied operations, in order of insertion."""

    def __init__(self) -> None:
        self._facts: dict[str, Fact] = {}
        self._keys: dict[str, list[str]] = {}  # ids by duplicate key; only hand-edited files have several of one key
        self.gone: dict[str, None] = {}  # tombstones of removed facts, the oldest first

    def __len__(self) -> int:
        return len(self._facts)

    def __iter__(self) -> Iterator[Fact]:
        return iter(self._facts.values())

    def listed(self, order: FactOrder, limit: int | None) -> Iterator[Fact]:
        """The facts in ``order``, as of the call."""
        facts = list(self._facts.values())
        if order is FactOrder.STRONGEST:
            facts.reverse()
        if order is not FactOrder.CREATED:
            facts.sort(key=lambda fact: -fact.confidence)
        return iter(facts if limit is None else facts[: max(limit, 0)])

    def get(self, fact_id: str) -> Fact | None:
        return self._facts.get(fact_id)

    def find(self, content: str) -> Fact | None:
        """The fact that counts as the same text."""
        ids = self._keys.get(duplicate_key(content))
        return self._facts[ids[0]] if ids else None

    def apply(self, operation: Operation) -> None:
        """Apply one operation. Raises: ValueError when a new fact's id is taken."""
        fact, update, leaves, gone = operation
        self.gone.update(dict.fromkeys(gone))
        if fact and not update and fact.id in self._facts and fact.id not in leaves:
            raise ValueError(f"its id {fact.id!r} is taken by an earlier line")
        for fact_id in leaves:
            self.gone[tombstone(fact_id)] = None
            if fact_id in self._facts:
                self._forget_key(self._facts.pop(fact_id))
        if fact:
            self.gone.pop(tombstone(fact.id), None)
            if fact.id in self._facts:
                self._forget_key(self._facts[fact.id])
            self._facts[fact.id] = fact
            self._keys.setdefault(duplicate_key(fact.content), []).append(fact.id)

    def weakest(self, count: int) -> tuple[str, ...]:
        """Ids of the first ``count`` facts in the order of eviction: by confidence, then age, then order of insertion.
        Source: R059, R060, reading A02."""
        ranked = heapq.nsmallest(count, self._facts.values(), key=lambda fact: (fact.confidence, fact.created_at))
        return tuple(fact.id for fact in ranked)

    def _forget_key(self, fact: Fact) -> None:
        key = duplicate_key(fact.content)
        self._keys[key].remove(fact.id)
        if not self._keys[key]:
            del self._keys[key]
