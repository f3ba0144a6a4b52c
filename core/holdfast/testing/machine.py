"""Documents and facts of any backend compared with dicts, whatever the order of the calls."""

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
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from holdfast.errors import Conflict, DuplicateFact, NotFound
from holdfast.models import AddOutcome, AddResult, Fact
from holdfast.storage import ABSENT, Add, FactOrder, Remove, StorageBackend, block_ids, delete_fact, update_fact
from holdfast.testing import strategies
from holdfast.testing.worker import open_store

WHICH = st.integers(0, 1)
NAMES = st.sampled_from(("MEMORY.md", "memory/2026-03-01.md", "memory/2026-03-02.md", "a/b/c/deep.md"))
BLOCKS = st.sampled_from(("one", "two")).flatmap(lambda key: st.tuples(st.just(key), strategies.blocks(key)))
HEADER = "# Daily Memory: 2026-03-01\n"


def agree(machine: type[Machine], factory: str, examples: int) -> None:
    """Let the backend and the model make the same calls, 25 in each example. A loaded Hypothesis profile that asks for
    more examples decides how many."""
    loaded, usual = settings().max_examples, settings.get_profile("default").max_examples
    count = loaded if loaded > usual else examples
    run_state_machine_as_test(
        type(machine.__name__, (machine,), {"factory": factory}),
        # Hypothesis would run a failing example many times more to explain it, which takes minutes on a store
        settings=settings(
            max_examples=count, stateful_step_count=25, deadline=None, phases=set(Phase) - {Phase.explain}
        ),
    )


class Machine(RuleBasedStateMachine):
    """Two openings of one store, used in turns."""

    factory: ClassVar[str] = ""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="store-machine-"))
        self.stores = [open_store(self.factory, self.folder) for _ in range(2)]

    def teardown(self) -> None:
        """Close and remove everything."""
        for store in self.stores:
            store.close()
        shutil.rmtree(self.folder)

    @rule(which=WHICH)
    def reopen(self, which: int) -> None:
        """Close one opening and open the store again."""
        self.stores[which].close()
        self.stores[which] = open_store(self.factory, self.folder)


class DocumentMachine(Machine):
    """The model is each document's text by its name."""

    def __init__(self) -> None:
        super().__init__()
        self.model: dict[str, str] = {}

    def _revision(self, store: StorageBackend, name: str) -> str:
        document = store.read(name)
        return document.revision if document else ABSENT

    @rule(which=WHICH, name=NAMES, text=strategies.documents(), wanted=st.sampled_from(("any", "now", ABSENT, "other")))
    def write(self, which: int, name: str, text: str, wanted: str) -> None:
        """Write a document, unless another revision is expected than the stored one."""
        store, now = self.stores[which], self._revision(self.stores[which], name)
        expected = {"any": None, "now": now}.get(wanted, wanted)
        if expected in (None, now):
            self.model[name] = text
            assert store.write(name, text, expected) == self._revision(self.stores[not which], name)
        else:
            with pytest.raises(Conflict):
                store.write(name, text, expected)

    @rule(which=WHICH, name=NAMES, id_and_block=BLOCKS)
    def append(self, which: int, name: str, id_and_block: tuple[str, str]) -> None:
        """Append a block, which may be there already."""
        block_id, block = id_and_block
        if block_id not in block_ids(self.model.get(name, "")):
            before = self.model.get(name) or HEADER
            self.model[name] = before + ("" if before.endswith("\n") else "\n") + block
        revision = self.stores[which].append(name, block, HEADER, block_id)
        assert revision == self._revision(self.stores[not which], name)

    @rule(which=WHICH, name=NAMES)
    def delete(self, which: int, name: str) -> None:
        """Remove a document, if there is one."""
        if self.model.pop(name, None) is not None:
            self.stores[which].delete(name)
        else:
            with pytest.raises(NotFound):
                self.stores[which].delete(name)

    @invariant()
    def agrees(self) -> None:
        """Both openings show the model's documents. Revisions are equal when texts are."""
        for store in self.stores:
            assert store.names() == sorted(self.model)
            documents = [document for name in self.model if (document := store.read(name))]
            assert {document.name: document.text for document in documents} == self.model
            assert len({document.revision for document in documents}) == len(set(self.model.values()))


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

    def add(self, fact: Fact, limit: int) -> AddResult | None:
        """The result; None when another fact has its id. The weakest leave until ``limit`` are left."""
        if twin := self.twin(fact.content):
            return AddResult(outcome=AddOutcome.DUPLICATE, fact=self.facts[twin], duplicate_of=twin)
        if fact.id in self.facts:
            return None
        ranked = sorted(self.facts.values(), key=lambda f: (f.confidence, f.created_at))  # stable: then by insertion
        gone = tuple(fact.id for fact in ranked[: max(len(ranked) + 1 - limit, 0)])
        for fact_id in gone:
            del self.facts[fact_id]
        self.facts[fact.id] = fact
        return AddResult(outcome=AddOutcome.ADDED, fact=fact, evicted=gone)


class FactMachine(Machine):
    """Each run has its own pace, so the facts' times rise, fall, stay equal, or have no order."""

    def __init__(self) -> None:
        super().__init__()
        self.model = FactModel()
        self.pace: timedelta | None = None
        self.count = 0

    @initialize(limit=st.integers(1, 8), pace=strategies.paces())
    def start(self, limit: int, pace: timedelta | None) -> None:
        self.limit, self.pace = limit, pace

    @rule(which=WHICH, fact=strategies.facts())
    def create(self, which: int, fact: Fact) -> None:
        """Add a fact, which may be a duplicate, be a conflict, or cause evictions."""
        fact = self._timed(fact)
        result = self.model.add(fact, self.limit)
        if result is not None:
            assert self.stores[which].add_fact(fact, self.limit) == result
        else:
            with pytest.raises(Conflict):
                self.stores[which].add_fact(fact, self.limit)

    def _timed(self, fact: Fact) -> Fact:
        """The fact with the next time of this run, or as it is when the run has no pace."""
        if self.pace is None:
            return fact
        self.count += 1
        return attrs.evolve(fact, created_at=strategies.START + self.count * self.pace)

    @rule(which=WHICH, known=st.integers(0, 7), form=strategies.forms(), fact=strategies.facts())
    def create_like(self, which: int, known: int, form: Callable[[str], str], fact: Fact) -> None:
        """Add a known fact's content in another form, which may or may not make it a duplicate."""
        if known < len(self.model.facts):
            content = form(list(self.model.facts.values())[known].content).strip()
            self.create(which, attrs.evolve(fact, content=content or fact.content))

    @rule(which=WHICH, facts=st.lists(strategies.facts(), max_size=3), known=st.sets(st.integers(0, 7), max_size=2))
    def commit(self, which: int, facts: list[Fact], known: set[int]) -> None:
        """Add and remove several at once, one of them unknown."""
        added = [Add(self._timed(fact), self.limit) for fact in facts]
        ids = [fact_id for place, fact_id in enumerate(self.model.facts) if place in known]
        removed = [Remove(fact_id) for fact_id in (*ids, "fact_ffffffff")]
        made = self.stores[which].commit([*added, *removed])
        assert made.added == [self.model.add(change.fact, change.limit) for change in added]
        assert made.removed == [self.model.facts.pop(change.fact_id, None) for change in removed]

    @rule(which=WHICH, fact_id=strategies.ids(), known=st.integers(0, 7), changes=strategies.changes())
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

    @rule(which=WHICH, fact_id=strategies.ids(), known=st.integers(0, 12))
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
