"""Clauses D10, F13 to F17, T1 to T4, S1 and S2: ``commit``, and what capabilities add."""

from __future__ import annotations

from pathlib import Path

import pytest
from attrs import evolve
from hypothesis import given

from holdfast.errors import Conflict, Corrupt, DuplicateFact, NotFound, Refused, Unsupported
from holdfast.storage import (
    ABSENT,
    Add,
    Append,
    Capability,
    HitKind,
    Remove,
    StorageBackend,
    Update,
    Write,
    delete_fact,
    sha256,
    update_fact,
)
from holdfast.testing import strategies
from holdfast.testing.base import ContractBase, Open, fails, make_block, make_fact
from holdfast.testing.documents import hard

NOTE = "memory/2026-03-01.md"


def contents(store: StorageBackend) -> list[str]:
    """The stored facts' content, in order of insertion."""
    return [fact.content for fact in store.facts()]


def found(store: StorageBackend, *words: str, limit: int = 20) -> list[str]:
    """The hits' names, in order."""
    return [hit.name for hit in store.search(words, limit)]


class OptionalContract(ContractBase):
    """Several changes at once, and search or the refusal to."""

    @pytest.fixture
    def together(self, store: StorageBackend) -> StorageBackend:
        """The store, when it changes several documents in one step."""
        if Capability.TRANSACTIONS not in store.capabilities:
            pytest.skip("this backend changes one document at a time")
        return store

    @pytest.fixture
    def searching(self, store: StorageBackend) -> StorageBackend:
        """The store, when it can search."""
        if Capability.SEARCH not in store.capabilities:
            pytest.skip("this backend has no search")
        return store

    def test_d10_commit__names_alone__as_read_gives_them(self, store: StorageBackend, reopen: Open) -> None:
        """D10"""
        assert dict(store.commit(names=["MEMORY.md", NOTE]).documents) == {"MEMORY.md": None, NOTE: None}
        store.write("MEMORY.md", "- One\n")
        store.add_fact(make_fact(1), 10)
        for view in (store, reopen()):
            read = view.commit(names=["MEMORY.md", NOTE, "MEMORY.md"], listing=True)
            assert dict(read.documents) == {"MEMORY.md": view.read("MEMORY.md"), NOTE: None}
            assert read.facts == list(view.facts()) == [make_fact(1)]
        with pytest.raises(Refused):
            store.commit(names=["MEMORY.md", "../x.md"])

    def test_f13_commit__error_in_the_middle__the_first_ones_or_none_are_there(
        self, store: StorageBackend, reopen: Open
    ) -> None:
        """F13"""
        store.add_fact(make_fact(1), 10)
        with pytest.raises(NotFound):
            store.commit([Add(make_fact(2), 10), Add(make_fact(3), 10), Update("fact_ffffffff", source="s")])
        left = contents(store)
        assert left == contents(reopen())
        assert left in ([make_fact(1).content], [make_fact(number).content for number in (1, 2, 3)])
        store.add_fact(make_fact(5), 10)
        assert contents(reopen()) == [*left, make_fact(5).content]

    def test_f17_commit__updates__the_new_facts_and_a_source_by_a_function(
        self, store: StorageBackend, reopen: Open
    ) -> None:
        """F17, F16"""
        old, other = make_fact(0, "one"), make_fact(1, "two")
        store.commit([Add(old, 10), Add(other, 10)])
        new = update_fact(store, old.id, source=lambda source: f"{source}, and more")
        assert new == evolve(old, source=f"{old.source}, and more")
        made = store.commit([Update(old.id, confidence=0.1), Add(make_fact(2, "three"), 10), Remove(other.id)])
        assert (made.updated, made.removed) == ([evolve(new, confidence=0.1)], [other])
        assert store.commit([Remove(old.id, "another source")]).removed == [None]
        assert contents(reopen()) == ["one", "three"]
        with pytest.raises(NotFound):
            update_fact(store, make_fact(99).id, source=str.upper)
        with pytest.raises(DuplicateFact):
            store.commit([Update(old.id, content="THREE")])

    def test_t1_commit__appends_and_writes__all_made_and_read_back(
        self, together: StorageBackend, reopen: Open
    ) -> None:
        """T1, T4"""
        together.add_fact(make_fact(1), 10)
        first = together.write("USER.md", "- Tabs\n")
        changes: list[Append | Write] = [
            Append(name=NOTE, block=make_block("b1"), header="# Day\n", block_id="b1"),
            Append(name=NOTE, block=make_block("b2"), header="# Day\n", block_id="b2"),
            Write(name="MEMORY.md", text="- One\n", expected=ABSENT),
            Write(name="USER.md", text="- Spaces\n", expected=first),
        ]
        made, facts, *_ = together.commit(changes, listing=True)
        assert facts == list(together.facts())
        assert set(made) == {NOTE, "MEMORY.md", "USER.md"}
        for view in (together, reopen()):
            assert {name: view.read(name) for name in made} == dict(made)
        note = made[NOTE]
        assert note is not None
        assert note.text == "# Day\n" + make_block("b1") + make_block("b2")
        assert together.commit(changes[:2]).documents[NOTE] == note

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
        fails(Unsupported, lambda: store.commit([Write(name="MEMORY.md", text="x")]))

    def test_s1_search__several_words__content_with_more_of_them_first_and_once(
        self, searching: StorageBackend, reopen: Open
    ) -> None:
        """S1"""
        assert found(searching, "harbour") == []
        searching.write("MEMORY.md", "- The harbour opens at nine\n")
        searching.append(NOTE, make_block("b1", "- Harbour fees were paid"), "", "b1")
        searching.add_fact(make_fact(1, "Sails from the old harbour"), 10)
        searching.add_fact(make_fact(2, "Prefers tabs"), 10)
        for view in (searching, reopen()):
            hits = view.search(["harbour"])
            assert [hit.kind for hit in hits] == [HitKind.FACT, HitKind.DOCUMENT, HitKind.DOCUMENT]
            assert {hit.name for hit in hits} == {"fact_00000001", "MEMORY.md", NOTE}
            assert all("harbour" in hit.text.lower() for hit in hits)
            assert found(view, "nine", "HARB", "nine")[0] == "MEMORY.md"
            assert len(found(view, "nine", "HARB", "nine")) == 3
            assert len(found(view, "harbour", "tabs", limit=2)) == 2
            assert found(view, "quay") == found(view) == found(view, "  ") == found(view, "harbour", limit=0) == []

    def test_s1_search__deleted_evicted_or_overwritten__not_found_any_more(
        self, searching: StorageBackend, reopen: Open
    ) -> None:
        """S1"""
        searching.add_fact(make_fact(1, "harbour one", confidence=0.1), 10)
        searching.add_fact(make_fact(2, "harbour two"), 10)
        searching.add_fact(make_fact(3, "harbour three"), 10)
        for name in ("a.md", "b.md"):
            searching.write(name, "harbour\n")
        assert len(found(searching, "harbour")) == 5
        searching.add_fact(make_fact(4, "newcomer"), 3)
        delete_fact(searching, "fact_00000002")
        update_fact(searching, "fact_00000003", content="quay three")
        searching.delete("a.md")
        searching.write("b.md", "quay\n")
        for view in (searching, reopen()):
            assert found(view, "harbour") == []
            assert found(view, "quay") == ["fact_00000003", "b.md"]

    @hard
    @given(query=strategies.texts())
    def test_s1_search__hard_text__is_no_error(self, searching: StorageBackend, query: str) -> None:
        """S1"""
        for word in (query, '"', "a OR", "NEAR(", "-x", "*", "a:b", "(", "'; --", "{x}", "^", "%", "\\"):
            searching.search([word])

    def test_s2_search__capability_missing__unsupported(self, store: StorageBackend) -> None:
        """S2, E3"""
        if Capability.SEARCH in store.capabilities:
            pytest.skip("this backend can search")
        fails(Unsupported, lambda: store.search(["anything"]))
