"""Facts of any backend compared with a dict: dedup, eviction, updates and reopening must agree with a model."""

from __future__ import annotations

import shutil
import tempfile
import unicodedata
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar

import attrs
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from holdfast.errors import Conflict, DuplicateFact, NotFound
from holdfast.models import AddOutcome, Fact
from holdfast.storage import FactOrder, StorageBackend, delete_fact, update_fact
from holdfast.testing import strategies
from holdfast.testing.worker import open_store


def same(content: str) -> str:
    """The key of equal facts, which is the content stripped, composed (NFC, not NFKC), then case-folded.

    Not imported from core, so that the machine notices a wrong key there too. Source: R052, R056, reading A06.
    """
    return unicodedata.normalize("NFC", content.strip()).casefold()


class FactModel:
    """A model of a store, as a plain dict in insertion order."""

    def __init__(self) -> None:
        self.facts: dict[str, Fact] = {}

    def twin(self, content: str, but: str = "") -> str | None:
        """The stored fact's id, by an equal key."""
        key = same(content)
        return next((f.id for f in self.facts.values() if f.id != but and same(f.content) == key), None)

    def evict(self, room: int) -> tuple[str, ...]:
        """Let the weakest leave until ``room`` are left."""
        order = {fact_id: place for place, fact_id in enumerate(self.facts)}
        ranked = sorted(self.facts.values(), key=lambda f: (f.confidence, f.created_at, order[f.id]))
        gone = tuple(fact.id for fact in ranked[: max(len(ranked) - room, 0)])
        for fact_id in gone:
            del self.facts[fact_id]
        return gone


class FactMachine(RuleBasedStateMachine):
    """Two openings of one store, used in turns, and the model.

    Each run has its own pace, so the facts' times rise, fall, stay equal, or have no order.
    """

    factory: ClassVar[str] = ""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="fact-machine-"))
        self.stores: list[StorageBackend] = []
        self.model = FactModel()
        self.limit = 6
        self.pace: timedelta | None = None
        self.count = 0

    @initialize(limit=st.integers(1, 8), pace=strategies.paces())
    def start(self, limit: int, pace: timedelta | None) -> None:
        """An empty store, opened twice."""
        self.limit, self.pace = limit, pace
        self.stores = [open_store(self.factory, self.folder) for _ in range(2)]

    def teardown(self) -> None:
        """Close and remove everything."""
        for store in self.stores:
            store.close()
        shutil.rmtree(self.folder)

    @rule(which=st.integers(0, 1), fact=strategies.facts())
    def create(self, which: int, fact: Fact) -> None:
        """Add a fact, which may be a duplicate, be a conflict, or cause evictions."""
        fact = self._timed(fact)
        twin = self.model.twin(fact.content)
        if twin:
            result = self.stores[which].add_fact(fact, self.limit)
            assert (result.outcome, result.duplicate_of) == (AddOutcome.DUPLICATE, twin)
            assert result.fact == self.model.facts[twin]
        elif fact.id in self.model.facts:
            with pytest.raises(Conflict):
                self.stores[which].add_fact(fact, self.limit)
        else:
            result = self.stores[which].add_fact(fact, self.limit)
            assert (result.outcome, result.fact) == (AddOutcome.ADDED, fact)
            assert result.evicted == self.model.evict(self.limit - 1)
            self.model.facts[fact.id] = fact

    def _timed(self, fact: Fact) -> Fact:
        """The fact with the next time of this run, or as it is when the run has no pace."""
        if self.pace is None:
            return fact
        self.count += 1
        return attrs.evolve(fact, created_at=strategies.START + self.count * self.pace)

    @rule(which=st.integers(0, 1), known=st.integers(0, 7), form=strategies.forms(), fact=strategies.facts())
    def create_like(self, which: int, known: int, form: Callable[[str], str], fact: Fact) -> None:
        """Add a known fact's content in another form, which may or may not make it a duplicate."""
        if known < len(self.model.facts):
            content = form(list(self.model.facts.values())[known].content).strip()
            self.create(which, attrs.evolve(fact, content=content or fact.content))

    @rule(which=st.integers(0, 1), fact_id=strategies.ids(), known=st.integers(0, 7), changes=strategies.changes())
    def update(self, which: int, fact_id: str, known: int, changes: dict[str, Any]) -> None:
        """Change any fields of a known fact, mostly, or of an unknown one."""
        if known < len(self.model.facts):
            fact_id = list(self.model.facts)[known]
        store, old = self.stores[which], self.model.facts.get(fact_id)
        if old is None:
            with pytest.raises(NotFound):
                update_fact(store, fact_id, **changes)
        elif "content" in changes and self.model.twin(changes["content"], but=fact_id):
            with pytest.raises(DuplicateFact):
                update_fact(store, fact_id, **changes)
        else:
            new = self.model.facts[fact_id] = attrs.evolve(old, **changes)
            assert update_fact(store, fact_id, **changes) == new

    @rule(which=st.integers(0, 1), fact_id=strategies.ids(), known=st.integers(0, 12))
    def delete(self, which: int, fact_id: str, known: int) -> None:
        """Remove a known fact or an unknown one."""
        if known < len(self.model.facts):
            fact_id = list(self.model.facts)[known]
        if fact_id in self.model.facts:
            listing = self.stores[which].facts()
            assert delete_fact(self.stores[which], fact_id) == self.model.facts.pop(fact_id)
            assert len(list(listing)) == len(self.model.facts) + 1  # as of the call
        else:
            with pytest.raises(NotFound):
                delete_fact(self.stores[which], fact_id)

    @rule(which=st.integers(0, 1))
    def reopen(self, which: int) -> None:
        """Close one opening and open the store again."""
        self.stores[which].close()
        self.stores[which] = open_store(self.factory, self.folder)

    @rule(limit=st.integers(1, 8))
    def change_limit(self, limit: int) -> None:
        """From the next addition on."""
        self.limit = limit

    @invariant()
    def agrees(self) -> None:
        """Both openings list the same facts as the model."""
        wanted = list(self.model.facts.values())
        for store in self.stores:
            assert list(store.facts()) == wanted
            assert [list(store.facts(limit=limit)) for limit in (0, 2)] == [[], wanted[:2]]
            ranked = sorted(wanted, key=lambda fact: -fact.confidence)
            assert list(store.facts(FactOrder.CONFIDENCE, 3)) == ranked[:3]
            newest_first = wanted[::-1]
            newest_first.sort(key=lambda fact: -fact.confidence)
            assert list(store.facts(FactOrder.STRONGEST, 3)) == newest_first[:3]
