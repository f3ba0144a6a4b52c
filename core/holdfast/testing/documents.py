"""Clauses D1-D9, A1-A6 and the error clauses that concern documents."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from holdfast.errors import Corrupt, Refused, Unavailable
from holdfast.storage import ABSENT, Document, StorageBackend, block_marker
from holdfast.testing import strategies
from holdfast.testing.base import LONG, ContractBase, Open, fails, make_block, make_fact
from holdfast.testing.machine import HEADER, DocumentMachine, agree

DAY = "memory/2026-03-01.md"

# All examples share one store on purpose, because they must not disturb each other. Each backend subclasses the suite,
# and `differing_executors` warns about that.
hard = settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.differing_executors],
)


def text_of(store: StorageBackend, name: str) -> str:
    """An existing document's content."""
    document = store.read(name)
    assert document is not None, f"{name} is not there"
    assert document.name == name
    return document.text


class DocumentContract(ContractBase):
    """Documents and appends."""

    def test_d1_read__nothing_stored__none_and_nothing_made(self, store: StorageBackend, root: Path) -> None:
        """D1"""
        before = sorted(root.rglob("*"))
        assert store.read("MEMORY.md") is None
        assert store.read(DAY) is None
        assert store.names() == []
        assert store.names("memory/") == []
        assert list(store.facts()) == []
        assert sorted(root.rglob("*")) == before

    def test_d2_write__text_over_64_kib__reads_the_same(self, store: StorageBackend, reopen: Open) -> None:
        """D2, D5, A2"""
        store.write(DAY, LONG)
        revision = store.append(DAY, make_block("one"), HEADER, "one")
        assert reopen().read(DAY) == Document(DAY, f"{LONG}\n{make_block('one')}", revision)

    def test_d4_documents__calls_in_any_order__agree_with_a_model(self) -> None:
        """D2, D3, D4, D5, D7, D8, A1, A2, A3, A4, C2: see :class:`holdfast.testing.machine.DocumentMachine`."""
        agree(DocumentMachine, self.factory, self.machine_examples)

    @pytest.mark.parametrize("bad", ["a\0b", "a\ud800b"])
    def test_d6_text__nul_or_surrogate__refused(self, store: StorageBackend, bad: str) -> None:
        """D6"""
        store.append(DAY, make_block("one"), HEADER, "one")
        before = text_of(store, DAY)
        fails(
            Refused,
            lambda: store.write(DAY, bad),
            lambda: store.append(DAY, make_block("two", bad), HEADER, "two"),
            lambda: store.write("new.md", bad),
        )
        assert text_of(store, DAY) == before
        assert store.names() == [DAY]

    @hard
    @example(names={"d-\uff5e.md", "d-\U0001f600.md"}, cut=2)  # in the other order in UTF-16
    @given(names=st.sets(strategies.names(), max_size=4), cut=st.integers(0, 12))
    def test_d8_names__any_prefix__exactly_those_sorted(self, store: StorageBackend, names: set[str], cut: int) -> None:
        """D8, D2"""
        for name in store.names():
            store.delete(name)
        wanted = {n for n in names if not any(o.startswith(n + "/") for o in names)}
        for name in wanted:
            store.write(name, f"text of {name}")
        assert [text_of(store, name) for name in wanted] == [f"text of {name}" for name in wanted]
        store.add_fact(make_fact(1), 10)
        assert store.names() == sorted(wanted)
        for prefix in {name[:cut] for name in wanted} | {"d", "d-", "nothing/"}:
            assert store.names(prefix) == sorted(n for n in wanted if n.startswith(prefix))

    @pytest.mark.parametrize(
        "name",
        ["", "/etc/x.md", "../x.md", "a/../../x.md", "a//b.md", "a\\b.md", "./a.md", "a/", "con.md", "a\0.md",
         "state/x.md", "a\nb.md", "x" * 300, "a./b.md", "C:x.md"],
    )  # fmt: skip
    def test_d9_name__not_allowed__refused(self, store: StorageBackend, root: Path, name: str) -> None:
        """D9"""
        before = sorted(root.parent.rglob("*"))
        fails(
            Refused,
            lambda: store.read(name),
            lambda: store.write(name, "text"),
            lambda: store.append(name, make_block("one"), HEADER, "one"),
            lambda: store.delete(name),
        )
        assert sorted(root.parent.rglob("*")) == before

    # --- appends

    def test_a5_append__marker_inside_a_line__is_not_the_block(self, store: StorageBackend) -> None:
        """A5"""
        marker = block_marker("one")
        store.write(DAY, f"see {marker}\n{marker} there\n`{marker}`\n{block_marker('onetwo')}\n")
        before = text_of(store, DAY)
        store.append(DAY, make_block("one"), HEADER, "one")
        assert text_of(store, DAY) == before + make_block("one")
        store.write("crlf.md", f"a\r\n{marker}\r\n- saved by another editor\r\n")
        before = text_of(store, "crlf.md")
        store.append("crlf.md", make_block("one"), HEADER, "one")
        assert text_of(store, "crlf.md") == before

    def test_a6_append__marker_missing_in_block__value_error(self, store: StorageBackend) -> None:
        """A6"""
        with pytest.raises(ValueError, match="marker"):
            store.append(DAY, "no marker\n", HEADER, "one")
        with pytest.raises(ValueError, match="marker"):
            store.append(DAY, make_block("two"), HEADER, "one")
        assert store.read(DAY) is None

    # --- errors

    def test_e1_document__corrupt__never_empty_nor_overwritten(self, store: StorageBackend, root: Path) -> None:
        """E1, E3"""
        store.append(DAY, make_block("one"), HEADER, "one")
        self.corrupt_document(root, DAY)
        fails(
            Corrupt,
            lambda: store.read(DAY),
            lambda: store.write(DAY, "text"),
            lambda: store.write(DAY, "text", ABSENT),
            lambda: store.append(DAY, make_block("two"), HEADER, "two"),
        )

    def test_e2_document__store_unwritable__unavailable_and_unchanged(self, store: StorageBackend, root: Path) -> None:
        """E2, E3"""
        store.append(DAY, make_block("one"), HEADER, "one")
        store.write("MEMORY.md", "old")
        with self.unwritable(root):
            fails(
                Unavailable,
                lambda: store.write("MEMORY.md", "new"),
                lambda: store.write("new.md", "new"),
                lambda: store.append(DAY, make_block("two"), HEADER, "two"),
                lambda: store.delete("MEMORY.md"),
            )
        assert text_of(store, DAY) == HEADER + make_block("one")
        assert text_of(store, "MEMORY.md") == "old"
        assert store.names() == ["MEMORY.md", DAY]
        store.append(DAY, make_block("two"), HEADER, "two")
        assert text_of(store, DAY) == HEADER + make_block("one") + make_block("two")
