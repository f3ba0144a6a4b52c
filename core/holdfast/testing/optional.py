"""Clauses D10, F15 to F17, T1 to T4, H1 and H2: methods that the base class derives or capabilities add."""

from __future__ import annotations

from pathlib import Path

import pytest
from attrs import evolve

from holdfast.errors import Conflict, Corrupt, NotFound, Refused, Unsupported
from holdfast.models import AddOutcome
from holdfast.storage import ABSENT, Add, Append, Capability, Remove, StorageBackend, Write, sha256
from holdfast.testing.base import ContractBase, Open, make_block, make_fact

NOTE = "memory/2026-03-01.md"


class OptionalContract(ContractBase):
    """Several documents or facts at once."""

    @pytest.fixture
    def together(self, store: StorageBackend) -> StorageBackend:
        """The store, when it changes several documents in one step."""
        if Capability.TRANSACTIONS not in store.capabilities:
            pytest.skip("this backend changes one document at a time")
        return store

    def test_d10_commit__names_alone__as_read_gives_them(self, store: StorageBackend, reopen: Open) -> None:
        """D10"""
        assert dict(store.commit(names=["MEMORY.md", NOTE]).documents) == {"MEMORY.md": None, NOTE: None}
        store.write("MEMORY.md", "- One\n")
        for view in (store, reopen()):
            names = ["MEMORY.md", NOTE, "MEMORY.md"]
            assert dict(view.commit(names=names).documents) == {"MEMORY.md": view.read("MEMORY.md"), NOTE: None}
        store.add_fact(make_fact(1), 10)
        documents, facts, _ = store.commit(names=[NOTE, "MEMORY.md"], listing=True)
        assert (dict(documents), facts) == ({NOTE: None, "MEMORY.md": store.read("MEMORY.md")}, list(store.facts()))
        with pytest.raises(Refused):
            store.commit(names=["MEMORY.md", "../x.md"])

    def test_d10_last__deeper_folders_beside_it__the_last_of_this_folder(
        self, store: StorageBackend, reopen: Open
    ) -> None:
        """D10"""
        assert store.last("memory/") is None
        for name in ("memory/a.md", "memory/b.md", "memory/z/later.md", "other.md"):
            store.write(name, name)
        for view in (store, reopen()):
            assert view.last("memory/") == view.read("memory/b.md")
            assert view.last("nothing/") is None

    def test_f15_commit__duplicates_and_a_taken_id__each_result_in_order(
        self, store: StorageBackend, reopen: Open
    ) -> None:
        """F15"""
        store.add_fact(make_fact(1, "taken"), 10)
        given = [make_fact(2, "two"), make_fact(3, "TWO"), make_fact(1, "another"), make_fact(4, "four")]
        results = store.commit([Add(fact, 10) for fact in given]).added
        assert results[2] is None
        outcomes = [result.outcome if result else None for result in results]
        assert outcomes == [AddOutcome.ADDED, AddOutcome.DUPLICATE, None, AddOutcome.ADDED]
        assert [fact.content for fact in reopen().facts()] == ["taken", "two", "four"]
        full = store.commit([Add(make_fact(5, "five"), 3), Add(make_fact(6, "six"), 3)]).added
        assert [len(result.evicted) if result else -1 for result in full] == [1, 1]
        assert store.commit([]).added == []

    def test_f16_commit__older_and_missing_ids__added_and_deleted(self, store: StorageBackend, reopen: Open) -> None:
        """F16"""
        for number, content in enumerate(("one", "two", "three")):
            store.add_fact(make_fact(number, content), 10)
        older = [make_fact(0).id, make_fact(2).id, make_fact(99).id]
        results = store.commit([Add(make_fact(5, "five"), 10), Add(make_fact(6, "TWO"), 10), *map(Remove, older)]).added
        outcomes = [result.outcome if result else None for result in results]
        assert outcomes == [AddOutcome.ADDED, AddOutcome.DUPLICATE]
        for view in (store, reopen()):
            assert [fact.content for fact in view.facts()] == ["two", "five"]
            assert view.count_facts() == 2

    def test_f17_update_source__a_function_of_it__only_the_source_changes(
        self, store: StorageBackend, reopen: Open
    ) -> None:
        """F17"""
        old = make_fact(0, "one")
        store.add_fact(old, 10)
        new = store.update_fact(old.id, source=lambda source: f"{source}, and more")
        assert new == evolve(old, source=f"{old.source}, and more")
        assert store.update_fact(old.id, source=lambda source: source) == new
        assert list(reopen().facts()) == [new]
        with pytest.raises(NotFound):
            store.update_fact(make_fact(99).id, source=str.upper)

    def test_t4_commit__a_change__documents_and_all_facts(self, together: StorageBackend) -> None:
        """T4"""
        for number in range(3):
            together.add_fact(make_fact(number), 10)
        change = Write(name="MEMORY.md", text="- One\n", expected=ABSENT)
        documents, facts, _ = together.commit([change], listing=True)
        assert documents["MEMORY.md"] == together.read("MEMORY.md")
        assert facts == list(together.facts())

    def test_t1_commit__appends_and_writes__all_made_and_read_back(
        self, together: StorageBackend, reopen: Open
    ) -> None:
        """T1"""
        first = together.write("USER.md", "- Tabs\n")
        changes: list[Append | Write] = [
            Append(name=NOTE, block=make_block("b1"), header="# Day\n", block_id="b1"),
            Append(name=NOTE, block=make_block("b2"), header="# Day\n", block_id="b2"),
            Write(name="MEMORY.md", text="- One\n", expected=ABSENT),
            Write(name="USER.md", text="- Spaces\n", expected=first),
        ]
        found = together.commit(changes).documents
        assert set(found) == {NOTE, "MEMORY.md", "USER.md"}
        for view in (together, reopen()):
            assert {name: view.read(name) for name in found} == dict(found)
        note = found[NOTE]
        assert note is not None
        assert note.text == "# Day\n" + make_block("b1") + make_block("b2")
        assert together.commit(changes[:2]).documents[NOTE] == note
        assert dict(together.commit().documents) == {}

    @pytest.mark.parametrize("fault", ["conflict", "surrogate", "name", "marker", "corrupt"])
    def test_t2_commit__last_change_fails__nothing_is_changed(
        self, together: StorageBackend, reopen: Open, root: Path, fault: str
    ) -> None:
        """T2, E1"""
        together.write("USER.md", "- Tabs\n")
        if fault == "corrupt":
            self.corrupt_document(root, "USER.md")
        bad: dict[str, tuple[Append | Write, type[Exception]]] = {
            "conflict": (Write(name="USER.md", text="x", expected=sha256("another")), Conflict),
            "surrogate": (Write(name="USER.md", text="\ud800"), Refused),
            "name": (Write(name="../x.md", text="x"), Refused),
            "marker": (Append(name=NOTE, block="no marker\n", header="", block_id="b9"), ValueError),
            "corrupt": (Write(name="USER.md", text="x"), Corrupt),
        }
        change, error = bad[fault]
        block = Append(name=NOTE, block=make_block("b1"), header="# Day\n", block_id="b1")
        with pytest.raises(error):
            together.commit([block, Write(name="MEMORY.md", text="- One\n", expected=ABSENT), change])
        view = reopen()
        assert view.read(NOTE) is None
        assert view.read("MEMORY.md") is None

    def test_t3_commit__capability_missing__unsupported(self, store: StorageBackend) -> None:
        """T3, E3"""
        if Capability.TRANSACTIONS in store.capabilities:
            pytest.skip("this backend changes several documents in one step")
        with pytest.raises(Unsupported) as caught:
            store.commit([Write(name="MEMORY.md", text="x")])
        assert caught.value.next_step
