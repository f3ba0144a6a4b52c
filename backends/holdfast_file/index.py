"""The facts in memory: by id, by duplicate key, by rank. Knows nothing of files."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from datetime import datetime

from holdfast.facts import duplicate_key
from holdfast.models import Fact
from holdfast_file.lines import Operation

#: What decides who leaves first: confidence, then age, then order of insertion. Source: R059, R060, reading A02.
_Rank = tuple[float, datetime, int, str]


class FactIndex:
    """The result of the operations applied so far. Applying one costs O(log n), finding a duplicate O(1)."""

    def __init__(self) -> None:
        self._live: dict[str, tuple[int, Fact]] = {}  # id -> (place in the order of insertion, fact)
        self._keys: dict[str, str] = {}
        self._twins: dict[str, list[str]] = {}  # more facts of one key: only hand-edited files have them
        self._ranks: list[_Rank] | None = None  # a heap with stale entries in it; made when first needed
        self._inserted = 0

    def __len__(self) -> int:
        return len(self._live)

    def __iter__(self) -> Iterator[Fact]:
        """In order of insertion, as of the call."""
        return iter([fact for _, fact in self._live.values()])

    def get(self, fact_id: str) -> Fact | None:
        entry = self._live.get(fact_id)
        return entry[1] if entry else None

    def find(self, content: str) -> Fact | None:
        """The fact that ``content`` would be a duplicate of."""
        fact_id = self._keys.get(duplicate_key(content))
        return None if fact_id is None else self._live[fact_id][1]

    def apply(self, operation: Operation) -> None:
        """Raises: ValueError when a fact enters under an id that is taken."""
        fact = operation.fact
        if fact and not operation.update and fact.id in self._live and fact.id not in operation.leaves:
            raise ValueError(f"its id {fact.id!r} is taken by an earlier line")
        for fact_id in operation.leaves:
            self._drop(fact_id)
        if fact:
            self._put(fact)

    def weakest(self, count: int) -> tuple[str, ...]:
        """Ids of the ``count`` facts that leave first; nothing changes."""
        if count <= 0:
            return ()
        if self._ranks is None or len(self._ranks) > 2 * len(self._live) + 64:
            self._ranks = [_rank(seq, fact) for seq, fact in self._live.values()]
            heapq.heapify(self._ranks)
        found: list[_Rank] = []
        while self._ranks and len(found) < count:
            rank = heapq.heappop(self._ranks)
            entry = self._live.get(rank[3])
            if entry and _rank(*entry) == rank and rank not in found[-1:]:
                found.append(rank)
        for rank in found:  # they leave when the operation that says so is applied
            heapq.heappush(self._ranks, rank)
        return tuple(rank[3] for rank in found)

    def _put(self, fact: Fact) -> None:
        entry = self._live.get(fact.id)
        if entry is None:
            self._inserted += 1
            seq = self._inserted
        else:
            seq = entry[0]
            self._forget_key(entry[1])
        self._live[fact.id] = (seq, fact)
        key = duplicate_key(fact.content)
        if self._keys.setdefault(key, fact.id) != fact.id:
            self._twins.setdefault(key, []).append(fact.id)
        if self._ranks is not None:
            heapq.heappush(self._ranks, _rank(seq, fact))

    def _drop(self, fact_id: str) -> None:
        entry = self._live.pop(fact_id, None)
        if entry:
            self._forget_key(entry[1])

    def _forget_key(self, fact: Fact) -> None:
        key = duplicate_key(fact.content)
        twins = self._twins.get(key, [])
        if fact.id in twins:
            twins.remove(fact.id)
        elif twins:
            self._keys[key] = twins.pop(0)
        else:
            del self._keys[key]
        if key in self._twins and not twins:
            del self._twins[key]


def _rank(seq: int, fact: Fact) -> _Rank:
    return (fact.confidence, fact.created_at, seq, fact.id)
