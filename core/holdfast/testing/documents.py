"""Clauses D1-D9, A1-A6 and the error clauses that concern documents."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast.errors import Conflict, Corrupt, NotFound, Refused, StorageError, Unavailable
from holdfast.storage import ABSENT, StorageBackend, block_marker
from holdfast.testing import strategies
from holdfast.testing.base import ContractBase, Open, make_block, make_fact

DAY = "memory/2026-03-01.md"
HEADER = "# Daily Memory: 2026-03-01\n"

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
        assert len(list(store.facts())) == 0
        assert sorted(root.rglob("*")) == before

    @hard
    @given(name=strategies.names(), text=strategies.documents())
    def test_d2_write__hard_text__reads_the_same(
        self, store: StorageBackend, reopen: Open, name: str, text: str
    ) -> None:
        """D2, D5, C2"""
        try:
            revision = store.write(name, text)
        except StorageError:
            # an earlier example may have made a document where this one wants a folder, or the other way round
            assert any(n.startswith(name + "/") or name.startswith(n + "/") for n in store.names())
            return
        for view in (store, reopen()):
            document = view.read(name)
            assert document is not None
            assert (document.text, document.revision) == (text, revision)

    def test_d3_write__missing_folders_and_empty_text__made(self, store: StorageBackend) -> None:
        """D3"""
        store.write("a/b/c/deep.md", "")
        assert text_of(store, "a/b/c/deep.md") == ""
        assert store.names("a/") == ["a/b/c/deep.md"]

    def test_d4_write__expected_revision__conflict_unless_it_is_stored(self, store: StorageBackend) -> None:
        """D4"""
        with pytest.raises(Conflict):
            store.write("MEMORY.md", "one", expected="something")
        assert store.read("MEMORY.md") is None
        first = store.write("MEMORY.md", "one", expected=ABSENT)
        with pytest.raises(Conflict):
            store.write("MEMORY.md", "two", expected=ABSENT)
        second = store.write("MEMORY.md", "two", expected=first)
        with pytest.raises(Conflict):
            store.write("MEMORY.md", "three", expected=first)
        assert text_of(store, "MEMORY.md") == "two"
        store.delete("MEMORY.md")
        with pytest.raises(Conflict):
            store.write("MEMORY.md", "four", expected=second)
        assert store.read("MEMORY.md") is None

    def test_d5_revision__texts_compared__equal_when_they_are(self, store: StorageBackend) -> None:
        """D5"""
        first = store.write("MEMORY.md", "one\n")
        assert store.write("MEMORY.md", "one\r\n") != first
        assert store.write("MEMORY.md", "\ufeffone\n") != first
        document = store.read("MEMORY.md")
        assert document is not None
        assert document.revision != first

    @pytest.mark.parametrize("bad", ["a\0b", "a\ud800b"])
    def test_d6_text__nul_or_surrogate__refused(self, store: StorageBackend, bad: str) -> None:
        """D6"""
        store.append(DAY, make_block("one"), HEADER, "one")
        before = text_of(store, DAY)
        with pytest.raises(Refused):
            store.write(DAY, bad)
        with pytest.raises(Refused):
            store.append(DAY, make_block("two", bad), HEADER, "two")
        with pytest.raises(Refused):
            store.write("new.md", bad)
        assert text_of(store, DAY) == before
        assert store.names() == [DAY]

    def test_d7_delete__known_and_unknown__removed_or_not_found(self, store: StorageBackend, reopen: Open) -> None:
        """D7"""
        store.write("a.md", "a")
        store.write("b.md", "b")
        store.delete("a.md")
        assert store.read("a.md") is None
        assert reopen().read("a.md") is None
        assert text_of(store, "b.md") == "b"
        with pytest.raises(NotFound):
            store.delete("a.md")
        assert store.names() == ["b.md"]

    @hard
    @given(names=st.sets(strategies.names(), max_size=4), cut=st.integers(0, 12))
    def test_d8_names__any_prefix__exactly_those_sorted(self, store: StorageBackend, names: set[str], cut: int) -> None:
        """D8"""
        for name in store.names():
            store.delete(name)
        wanted = {n for n in names if not any(o.startswith(n + "/") for o in names)}
        for name in wanted:
            store.write(name, "text")
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
        for touch in (
            lambda: store.read(name),
            lambda: store.write(name, "text"),
            lambda: store.append(name, make_block("one"), HEADER, "one"),
            lambda: store.delete(name),
        ):
            with pytest.raises(Refused):
                touch()
        assert sorted(root.parent.rglob("*")) == before

    # --- appends

    def test_a1_append__first_and_later__header_once_at_the_top(self, store: StorageBackend, reopen: Open) -> None:
        """A1"""
        store.append(DAY, make_block("one"), HEADER, "one")
        assert text_of(store, DAY) == HEADER + make_block("one")
        reopen().append(DAY, make_block("two"), HEADER, "two")
        assert text_of(store, DAY) == HEADER + make_block("one") + make_block("two")
        store.write("empty.md", "")
        store.append("empty.md", make_block("one"), HEADER, "one")
        assert text_of(store, "empty.md") == HEADER + make_block("one")

    @hard
    @given(data=st.data(), before=strategies.documents())
    def test_a2_append__hard_text__earlier_text_is_a_prefix(
        self, store: StorageBackend, reopen: Open, data: st.DataObject, before: str
    ) -> None:
        """A2, A3, D5"""
        store.write(DAY, before)
        for block_id in ("one", "two"):
            old = text_of(store, DAY)
            block = data.draw(strategies.blocks(block_id))
            revision = store.append(DAY, block, HEADER, block_id)
            document = reopen().read(DAY)
            assert document is not None
            start = old or HEADER
            assert document.text == start + ("" if start.endswith("\n") else "\n") + block
            assert document.revision == revision

    def test_a4_append__same_id_again__nothing_written(self, store: StorageBackend, reopen: Open) -> None:
        """A4"""
        store.append(DAY, make_block("one"), HEADER, "one")
        revision = store.append(DAY, make_block("two"), HEADER, "two")
        before = text_of(store, DAY)
        assert store.append(DAY, make_block("one"), HEADER, "one") == revision
        assert reopen().append(DAY, make_block("two", "- said otherwise"), HEADER, "two") == revision
        assert text_of(store, DAY) == before

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
        for touch in (
            lambda: store.read(DAY),
            lambda: store.write(DAY, "text"),
            lambda: store.write(DAY, "text", ABSENT),
            lambda: store.append(DAY, make_block("two"), HEADER, "two"),
        ):
            with pytest.raises(Corrupt) as caught:
                touch()
            assert caught.value.next_step

    def test_e2_document__store_unwritable__unavailable_and_unchanged(self, store: StorageBackend, root: Path) -> None:
        """E2, E3"""
        store.append(DAY, make_block("one"), HEADER, "one")
        store.write("MEMORY.md", "old")
        with self.unwritable(root):
            for touch in (
                lambda: store.write("MEMORY.md", "new"),
                lambda: store.write("new.md", "new"),
                lambda: store.append(DAY, make_block("two"), HEADER, "two"),
                lambda: store.delete("MEMORY.md"),
            ):
                with pytest.raises(Unavailable) as caught:
                    touch()
                assert caught.value.next_step
        assert text_of(store, DAY) == HEADER + make_block("one")
        assert text_of(store, "MEMORY.md") == "old"
        assert store.names() == ["MEMORY.md", DAY]
        store.append(DAY, make_block("two"), HEADER, "two")
        assert text_of(store, DAY) == HEADER + make_block("one") + make_block("two")
