"""The facts in memory: by id, by duplicate key, by rank. Knows nothing of files."""

from __future__ import annotations

import heapq
import sys
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING, Final, TypeAlias

from holdfast.errors import Conflict
from holdfast.facts.factrules import duplicate_key
from holdfast.storage import FactOrder, tombstone
from holdfast_file.lines import Operation

if TYPE_CHECKING:
    from holdfast.models import Fact

#: What decides who leaves first: confidence, then age, then order of insertion. Source: R059, R060, reading A02.
_Rank: TypeAlias = tuple[float, datetime, int, str]
#: (confidence, negated; place in the order of insertion, which no two share; fact): sorts the strongest first.
_Place: TypeAlias = "tuple[float, int, Fact]"
#: (place in the order of insertion, fact, duplicate key)
_Entry: TypeAlias = "tuple[int, Fact, str]"

#: Share of facts (one in N) that may have changed since the last sort. Above that, sorting again is as fast.
_FEW: Final = 200
_fact_of = itemgetter(1)
_fact_in_place = itemgetter(2)
_confidence_of = itemgetter(0)


class FactIndex:
    """The facts after all applied operations. Applying an operation costs O(log n), finding a duplicate O(1)."""

    def __init__(self) -> None:
        self._live: dict[str, _Entry] = {}
        self._keys: dict[str, str] = {}
        self._twins: dict[str, list[str]] = {}  # more facts of one key: only hand-edited files have them
        self._ranks: list[_Rank] | None = None  # a heap with stale entries in it; made when first needed
        self._strongest = _Strongest()
        self._inserted = 0
        self.gone: dict[str, None] = {}  # tombstones of removed facts, the oldest first

    def __len__(self) -> int:
        return len(self._live)

    def __iter__(self) -> Iterator[Fact]:
        return self.listed(FactOrder.CREATED, None)

    def listed(self, order: FactOrder, limit: int | None) -> Iterator[Fact]:
        """The facts in ``order``, as of the call."""
        if order is FactOrder.CREATED:
            return iter(list(map(_fact_of, islice(self._live.values(), _stop(limit)))))
        places = self._strongest.now(self._live)
        ranked = places if order is FactOrder.CONFIDENCE else _newest_of_equals_first(places)
        return map(_fact_in_place, islice(ranked, _stop(limit)))

    def get(self, fact_id: str) -> Fact | None:
        entry = self._live.get(fact_id)
        return entry[1] if entry else None

    def find(self, key: str) -> Fact | None:
        """The fact with this duplicate key."""
        fact_id = self._keys.get(key)
        return None if fact_id is None else self._live[fact_id][1]

    def apply(self, operation: Operation, key: str | None = None) -> None:
        """Apply one operation. ``key`` is the new fact's duplicate key, if the caller has it.

        Raises: ValueError when a new fact's id is taken.
        """
        fact, update, leaves, gone = operation
        self.gone.update(dict.fromkeys(gone))
        if fact and not update and fact.id in self._live and fact.id not in leaves:
            raise ValueError(f"its id {fact.id!r} is taken by an earlier line")
        if fact:
            self.enter(fact, duplicate_key(fact.content) if key is None else key, leaves)
            return
        for fact_id in leaves:
            self._drop(fact_id)

    def making_room(self, fact: Fact, limit: int) -> tuple[str, ...]:
        """Ids of the facts to evict so that ``fact`` fits within ``limit``. Changes nothing.

        Raises: Conflict when another fact has its id.
        """
        if fact.id in self._live:
            raise Conflict(f"The id {fact.id} is taken by another fact.", next_step="Draw a new id and try again.")
        surplus = len(self._live) + 1 - limit
        return self.weakest(surplus) if surplus > 0 else ()

    def enter(self, fact: Fact, key: str, leaves: tuple[str, ...]) -> None:
        """Add ``fact`` or replace the fact with its id, and remove ``leaves``. ``key`` is its duplicate key."""
        for fact_id in leaves:
            self._drop(fact_id)
        if self.gone:
            self.gone.pop(tombstone(fact.id), None)
        entry = self._live.get(fact.id)
        if entry is None:
            self._inserted += 1
            seq = self._inserted
        else:
            seq = entry[0]
            self._forget_key(entry)
            self._strongest.left(entry)
        new = self._live[fact.id] = (seq, fact, key)
        if self._keys.setdefault(key, fact.id) != fact.id:
            self._twins.setdefault(key, []).append(fact.id)
        self._strongest.entered(new)
        if self._ranks is not None:
            heapq.heappush(self._ranks, _rank(seq, fact))

    def weakest(self, count: int) -> tuple[str, ...]:
        """Ids of the first ``count`` facts in the order of eviction. Changes nothing."""
        if count <= 0:
            return ()
        if self._ranks is None or len(self._ranks) > 2 * len(self._live) + 64:
            self._ranks = [_rank(seq, fact) for seq, fact, _ in self._live.values()]
            heapq.heapify(self._ranks)
        found: list[_Rank] = []
        while self._ranks and len(found) < count:
            rank = heapq.heappop(self._ranks)
            entry = self._live.get(rank[3])
            if entry and _rank(entry[0], entry[1]) == rank and rank not in found[-1:]:
                found.append(rank)
        for rank in found:  # they leave when the operation that says so is applied
            heapq.heappush(self._ranks, rank)
        return tuple(rank[3] for rank in found)

    def _drop(self, fact_id: str) -> None:
        self.gone[tombstone(fact_id)] = None
        entry = self._live.pop(fact_id, None)
        if entry:
            self._forget_key(entry)
            self._strongest.left(entry)

    def _forget_key(self, entry: _Entry) -> None:
        _, fact, key = entry
        twins = self._twins.get(key, [])
        if fact.id in twins:
            twins.remove(fact.id)
        elif twins:
            self._keys[key] = twins.pop(0)
        else:
            del self._keys[key]
        if key in self._twins and not twins:
            del self._twins[key]


class _Strongest:
    """The order by confidence, sorted on first use and then updated with the changes since the last use.

    A returned list never changes, so its reader keeps seeing the facts as of the call.
    """

    def __init__(self) -> None:
        self._sorted: list[_Place] | None = None
        self._changes: list[tuple[bool, _Place]] = []  # whether it entered, in the order of events

    def entered(self, entry: _Entry) -> None:
        if self._sorted is not None:
            self._note(True, entry)

    def left(self, entry: _Entry) -> None:
        if self._sorted is not None:
            self._note(False, entry)

    def now(self, live: dict[str, _Entry]) -> list[_Place]:
        """The facts in ``live``, in order."""
        if self._sorted is None:
            self._sorted = sorted(map(_place, live.values()))
        elif self._changes:
            places = self._sorted.copy()
            for entered, place in self._changes:
                if entered:
                    insort(places, place)
                else:
                    del places[bisect_left(places, place)]
            self._sorted, self._changes = places, []
        return self._sorted

    def _note(self, entered: bool, entry: _Entry) -> None:
        self._changes.append((entered, _place(entry)))
        if self._sorted is not None and len(self._changes) > len(self._sorted) // _FEW + _FEW:
            self._sorted, self._changes = None, []


def _newest_of_equals_first(places: list[_Place]) -> Iterator[_Place]:
    """``places``, with each run of equal confidence reversed. Finding a run's end is a binary search."""
    start = 0
    while start < len(places):
        end = bisect_right(places, places[start][0], start, key=_confidence_of)
        for number in range(end - 1, start - 1, -1):
            yield places[number]
        start = end


def _stop(limit: int | None) -> int | None:
    return None if limit is None else min(max(limit, 0), sys.maxsize)


def _place(entry: _Entry) -> _Place:
    seq, fact, _ = entry
    return (-fact.confidence, seq, fact)


def _rank(seq: int, fact: Fact) -> _Rank:
    return (fact.confidence, fact.created_at, seq, fact.id)
