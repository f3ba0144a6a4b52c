"""Copying stores between backends."""

import contextlib
from datetime import UTC, datetime

import attrs
import pytest

from holdfast.api import Add, Conflict, StorageBackend
from holdfast.testing.base import make_block, make_fact
from holdfast_app.progress import watched
from holdfast_app.transfer.migrate import migrate
from holdfast_file.backend import FileBackend
from holdfast_sqlite.backend import SqliteBackend

pytestmark = pytest.mark.req("R042", "R045", "R050")

DAY = "memory/2026-03-01.md"


@contextlib.contextmanager
def opened(kind, folder):
    folder.mkdir(exist_ok=True)
    store: StorageBackend = FileBackend(folder) if kind == "file" else SqliteBackend(folder)
    with contextlib.closing(store):
        yield store


def fill(store, facts=5):
    store.write("MEMORY.md", "\ufeff- caf\u00e9\r\n- no newline")
    store.write("empty.md", "")
    store.append(DAY, make_block("one"), "# Day\n", "one")
    store.append(DAY, make_block("two"), "# Day\n", "two")
    at = [datetime(2020, 1, 1 + number % 28, 3, 4, 5, number, tzinfo=UTC) for number in range(facts)]
    store.commit([Add(attrs.evolve(make_fact(n, source="s"), created_at=at[n]), facts) for n in range(facts)])


def contents(store):
    documents = {}
    for name in store.names():
        document = store.read(name)
        documents[name] = document.text
    return documents, list(store.facts())


def files(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def copy(a, b):
    with opened(*a) as source, opened(*b) as target:
        return migrate(source, target)


def test_migrate__there_and_back__equal_and_source_untouched(tmp_path):
    first, middle, last = ("file", tmp_path / "a"), ("sqlite", tmp_path / "b"), ("file", tmp_path / "c")
    with opened(*first) as store:
        fill(store)
        wanted = contents(store)
    before = files(first[1])
    told: list[tuple[int, int]] = []
    with opened(*first) as source, opened(*middle) as target:
        with watched(lambda done, total, _: told.append((done, total))):
            there = migrate(source, target)
        assert contents(target) == wanted
        assert target.append(DAY, make_block("two"), "", "two") == source.append(DAY, make_block("two"), "", "two")
    assert files(first[1]) == before
    assert told[-1] == (8, 8)
    assert told == sorted(told)
    back = copy(middle, last)
    with opened(*last) as store:
        assert contents(store) == wanted
    assert (there.documents, there.facts, there.unchanged) == (back.documents, back.facts, False) == (3, 5, False)
    assert there.sha256 == back.sha256
    assert copy(first, middle) == attrs.evolve(there, unchanged=True), "equal stores are left as they are"


@pytest.mark.parametrize("held", ["document", "fact"])
def test_migrate__target_holds_something_else__refused_and_unchanged(tmp_path, held):
    with opened("file", tmp_path / "a") as source, opened("sqlite", tmp_path / "b") as target:
        fill(source)
        if held == "document":
            target.write("MEMORY.md", "somebody's")
        else:
            target.add_fact(make_fact(77), 10)
        before = contents(target)
        with pytest.raises(Conflict, match="already holds") as caught:
            migrate(source, target)
        assert caught.value.next_step
        assert contents(target) == before


class Interrupted(Exception):
    pass


def interrupting(left):
    """What :func:`watched` calls, and that raises after so many reports."""

    def stop(done, total, activity):
        nonlocal left
        left -= 1
        if left < 0:
            raise Interrupted

    return stop


@pytest.mark.parametrize(("kind", "other"), [("file", "sqlite"), ("sqlite", "file")])
def test_migrate__interrupted_anywhere_and_source_changed__goes_on(tmp_path, kind, other):
    """Each run stops one call later; in between the source gets another fact."""
    with opened(kind, tmp_path / "a") as source:
        fill(source)
    for number in range(30):
        with opened(kind, tmp_path / "a") as source, opened(other, tmp_path / "b") as target:
            try:
                with watched(interrupting(number)):
                    migrate(source, target)
            except Interrupted:
                source.append(DAY, make_block(f"n{number}"), "", f"n{number}")
                continue
            assert contents(target) == contents(source)
            break
    else:
        pytest.fail("it never got to its end")
