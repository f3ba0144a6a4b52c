"""Clauses F1-F12, F14, C9 and the error clauses that concern facts."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import pytest

from holdfast.errors import Corrupt, NotFound, Refused, Unavailable
from holdfast.models import AddOutcome
from holdfast.storage import StorageBackend, delete_fact, get_fact, update_fact
from holdfast.testing.base import LONG, ContractBase, Open, fails, make_block, make_fact
from holdfast.testing.machine import FactMachine, agree

LIMIT = 500


def ids(store: StorageBackend) -> list[str]:
    """The stored facts in order of insertion."""
    return [fact.id for fact in store.facts()]


class FactContract(ContractBase):
    """Facts."""

    def test_f1_add__time_of_another_zone__same_instant_in_utc(self, store: StorageBackend, reopen: Open) -> None:
        """F1"""
        at = datetime(2026, 10, 25, 2, 30, 0, 1, tzinfo=timezone(timedelta(hours=-7)))
        store.add_fact(attrs.evolve(make_fact(1), created_at=at), LIMIT)
        stored = get_fact(reopen(), "fact_00000001").created_at
        assert stored == at
        assert stored.utcoffset() == timedelta(0)

    @pytest.mark.parametrize(
        ("first", "second"),
        [
            ("User prefers Python", "USER PREFERS PYTHON"),
            ("Stra\u00dfe", "STRASSE"),
            ("\u03bf\u03b4\u03bf\u03c2", "\u039f\u0394\u039f\u03a3"),
            ("caf\u00e9", "CAFE\u0301"),
            ("two  words", " two  words\n"),
        ],
    )
    def test_f2_add__same_key__duplicate_and_first_unchanged(
        self, store: StorageBackend, reopen: Open, first: str, second: str
    ) -> None:
        """F2"""
        old = make_fact(1, first, confidence=0.5)
        new = make_fact(2, second, confidence=1.0, category="goal")
        store.add_fact(old, LIMIT)
        for view in (store, reopen()):
            result = view.add_fact(new, LIMIT)
            assert (result.outcome, result.fact, result.duplicate_of) == (AddOutcome.DUPLICATE, old, old.id)
            assert list(view.facts()) == [old]
        # also at the limit, because duplicates evict nothing
        assert store.add_fact(new, 1).outcome is AddOutcome.DUPLICATE
        assert list(store.facts()) == [old]

    def test_f4_facts__calls_in_any_order__agree_with_a_model(self) -> None:
        """F1, F2, F3, F4, F5, F6, F7, F8, F10, F11, F12, F14, F15, F16, C2: see
        :class:`holdfast.testing.machine.FactMachine`."""
        agree(FactMachine, self.factory, self.machine_examples)

    def test_f12_text__long__comes_back_as_given(self, store: StorageBackend, reopen: Open) -> None:
        """F1, F2, F12"""
        facts = [make_fact(number, f"{LONG[:4_000]}{number}", source=LONG[:4_000]) for number in (2, 3)]
        for fact in facts:
            store.add_fact(fact, LIMIT)
        assert list(reopen().facts()) == facts

    @pytest.mark.parametrize("unknown", ["fact_ffffffff", "", "' OR 1=1", "../x"])
    def test_f9_fact__unknown_id__key_error_with_the_id(self, store: StorageBackend, unknown: str) -> None:
        """F9"""
        store.add_fact(make_fact(1), LIMIT)
        raised = fails(
            NotFound,
            lambda: get_fact(store, unknown),
            lambda: update_fact(store, unknown, content="x"),
            lambda: delete_fact(store, unknown),
        )
        assert all(isinstance(error, KeyError) and repr(unknown)[1:-1] in str(error) for error in raised)
        assert list(store.facts()) == [make_fact(1)]

    @pytest.mark.parametrize("field", ["content", "source"])
    def test_f12_text__lone_surrogate__refused(self, store: StorageBackend, reopen: Open, field: str) -> None:
        """F12, E3"""
        store.add_fact(make_fact(1), LIMIT)
        half: dict[str, Any] = {field: "half \ud800 of it"}
        fails(
            Refused,
            lambda: store.add_fact(attrs.evolve(make_fact(2), **half), LIMIT),
            lambda: update_fact(store, "fact_00000001", **half),
        )
        for view in (store, reopen()):
            assert list(view.facts()) == [make_fact(1)]

    # --- errors

    def test_e1_facts__corrupt__never_empty(self, store: StorageBackend, reopen: Open, root: Path) -> None:
        """E1, E3"""
        for number in (1, 2, 3):
            store.add_fact(make_fact(number), LIMIT)
        self.corrupt_facts(root)
        for view in (store, reopen()):
            add = partial(view.add_fact, make_fact(4), LIMIT)
            fails(Corrupt, partial(ids, view), add, partial(delete_fact, view, "fact_00000001"))

    def test_e2_facts__store_unwritable__unavailable_and_unchanged(
        self, store: StorageBackend, reopen: Open, root: Path
    ) -> None:
        """E2, E3"""
        for number in (1, 2):
            store.add_fact(make_fact(number), LIMIT)
        with self.unwritable(root):
            fails(
                Unavailable,
                lambda: store.add_fact(make_fact(3), LIMIT),
                lambda: store.add_fact(make_fact(3), 2),
                lambda: update_fact(store, "fact_00000001", confidence=0.1),
                lambda: delete_fact(store, "fact_00000001"),
            )
        for view in (store, reopen()):
            assert list(view.facts()) == [make_fact(1), make_fact(2)]
        assert store.add_fact(make_fact(3), LIMIT).outcome is AddOutcome.ADDED
        assert ids(reopen()) == ["fact_00000001", "fact_00000002", "fact_00000003"]

    def test_c9_compact__deleted_and_overwritten__in_no_file_and_the_rest_reads_the_same(
        self, store: StorageBackend, reopen: Open, root: Path
    ) -> None:
        """C9, F7"""
        store.add_fact(make_fact(1, "stays"), LIMIT)
        store.add_fact(make_fact(2, "Zaubernuss one"), LIMIT)
        delete_fact(store, "fact_00000002")
        store.add_fact(make_fact(3, "Zaubernuss two", source="Zaubernuss"), LIMIT)
        update_fact(store, "fact_00000003", content="changed", source="")
        store.add_fact(make_fact(4, "Zaubernuss three", confidence=0.1), LIMIT)
        store.add_fact(make_fact(5, "newcomer"), limit=3)
        store.write("MEMORY.md", "- Zaubernuss\n")
        store.write("MEMORY.md", "- kept\n")
        store.append("memory/2026-03-01.md", make_block("b1", "Zaubernuss"), "", "b1")
        store.delete("memory/2026-03-01.md")
        store.compact()
        store.compact()
        for view in (store, reopen()):
            assert [fact.content for fact in view.facts()] == ["stays", "changed", "newcomer"]
            assert get_fact(view, "fact_00000003").source == ""
            assert (document := view.read("MEMORY.md")) is not None
            assert document.text == "- kept\n"
            assert view.names() == ["MEMORY.md"]
        assert [p for p in root.rglob("*") if p.is_file() and b"zaubernuss" in p.read_bytes().lower()] == []
