"""Clauses S1 and S2. The backend's capabilities decide which test applies. The other is skipped."""

from __future__ import annotations

import pytest
from hypothesis import given

from holdfast.errors import Unsupported
from holdfast.storage import Capability, HitKind, StorageBackend
from holdfast.testing import strategies
from holdfast.testing.base import ContractBase, Open, make_block, make_fact
from holdfast.testing.documents import hard


def found(store: StorageBackend, *words: str, limit: int = 20) -> list[str]:
    """The hits' names, in order."""
    return [hit.name for hit in store.search(words, limit)]


class SearchContract(ContractBase):
    """Search, or the refusal to."""

    @pytest.fixture
    def searching(self, store: StorageBackend) -> StorageBackend:
        """The store, when it can search."""
        if Capability.SEARCH not in store.capabilities:
            pytest.skip("this backend has no search")
        return store

    def test_s1_search__several_words__content_with_more_of_them_first_and_once(
        self, searching: StorageBackend, reopen: Open
    ) -> None:
        """S1"""
        assert found(searching, "harbour") == []
        searching.write("MEMORY.md", "- The harbour opens at nine\n")
        searching.append("memory/2026-03-01.md", make_block("b1", "- Harbour fees were paid"), "", "b1")
        searching.add_fact(make_fact(1, "Sails from the old harbour"), 10)
        searching.add_fact(make_fact(2, "Prefers tabs"), 10)
        for view in (searching, reopen()):
            hits = view.search(["harbour"])
            assert [hit.kind for hit in hits] == [HitKind.FACT, HitKind.DOCUMENT, HitKind.DOCUMENT]
            assert {hit.name for hit in hits} == {"fact_00000001", "MEMORY.md", "memory/2026-03-01.md"}
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
        searching.delete_fact("fact_00000002")
        searching.update_fact("fact_00000003", content="quay three")
        searching.delete("a.md")
        searching.write("b.md", "quay\n")
        for view in (searching, reopen()):
            assert found(view, "harbour") == []
            assert found(view, "quay") == ["fact_00000003", "b.md"]

    @pytest.mark.parametrize("query", ['"', "a OR", "NEAR(", "-x", "*", "a:b", "(", "'; --", "{x}", "^", "%", "\\"])
    def test_s1_search__signs_of_query_languages__are_no_error(self, searching: StorageBackend, query: str) -> None:
        """S1"""
        searching.add_fact(make_fact(1), 10)
        searching.search([query])

    @hard
    @given(query=strategies.texts())
    def test_s1_search__hard_text__is_no_error(self, searching: StorageBackend, query: str) -> None:
        """S1"""
        searching.search([query])

    def test_s2_search__capability_missing__unsupported(self, store: StorageBackend) -> None:
        """S2, E3"""
        if Capability.SEARCH in store.capabilities:
            pytest.skip("this backend can search")
        with pytest.raises(Unsupported) as caught:
            store.search(["anything"])
        assert caught.value.next_step
