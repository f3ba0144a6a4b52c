"""Adding facts one by one: the same rows as in a batch, and what is written to the log."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from pathlib import Path
from typing import Any

import attrs
import pytest

from holdfast.errors import Conflict, NotFound
from holdfast.models import AddOutcome
from holdfast.testing.base import make_fact
from holdfast_sqlite.backend import SqliteBackend
from holdfast_sqlite.opening import PAGE_BYTES

_FRAME = PAGE_BYTES + 24  # a page in the log; source: https://www.sqlite.org/fileformat2.html, section 4.1


def tables(project: Path) -> list[Any]:
    """All rows of facts, and what is known about them."""
    with contextlib.closing(sqlite3.connect(project / ".holdfast" / "holdfast.db")) as sql:
        return [
            sql.execute(f"SELECT {columns} FROM {table}").fetchall()
            for table, columns in (("facts", "*"), ("state", "gone, removed"))
        ]


@pytest.mark.req("R045", "R052", "R058")
def test_add__one_by_one_or_in_a_batch__same_rows(tmp_path: Path) -> None:
    seen = []
    for name, together in (("one", False), ("batch", True)):
        project = tmp_path / name
        project.mkdir()
        with contextlib.closing(SqliteBackend(project)) as store:
            store.add_fact(make_fact(0, "word0"), 300)
            with store.batch() if together else contextlib.nullcontext():
                answers = [
                    store.add_fact(make_fact(n, f"word{n % 170}", confidence=n % 7 / 10), 150) for n in range(1, 200)
                ]
                newest = next(answer.fact for answer in reversed(answers) if answer.outcome is AddOutcome.ADDED)
                assert newest is not None
                with pytest.raises(Conflict):
                    store.add_fact(attrs.evolve(newest, content="other words"), 150)
                store.delete_fact(newest.id)
                answers += [store.add_fact(make_fact(n, f"word{n}"), 2**80) for n in range(300, 370)]
            assert store.count_facts() == len(list(store.facts()))
        seen.append(([(a.outcome, a.evicted, a.duplicate_of) for a in answers], tables(project)))
    assert seen[0] == seen[1]
    outcomes = {outcome for outcome, _, _ in seen[0][0]}
    assert outcomes == {AddOutcome.ADDED, AddOutcome.DUPLICATE}
    assert any(evicted for _, evicted, _ in seen[0][0])


@pytest.mark.req("R045", "R058")
def test_add__more_than_the_log_holds__merged_and_gone_on_with(project: Path) -> None:
    database = project / ".holdfast" / "holdfast.db"
    with contextlib.closing(SqliteBackend(project)) as store:
        store.add_fact(make_fact(0), 5000)
        before = database.stat().st_size
        number = 0
        while database.stat().st_size == before:
            number += 1
            assert store.add_fact(make_fact(number), 5000).outcome is AddOutcome.ADDED
        assert store.add_fact(make_fact(number), 5000).outcome is AddOutcome.DUPLICATE
        assert store.add_fact(make_fact(number + 1), 5000).outcome is AddOutcome.ADDED
        assert store.count_facts() == number + 2
        assert [fact.id for fact in store.facts()] == [make_fact(n).id for n in range(number + 2)]


def test_add__among_many__writes_five_small_pages_and_a_duplicate_none(project: Path) -> None:
    log = project / ".holdfast" / "holdfast.db-wal"
    with contextlib.closing(SqliteBackend(project)) as store:
        with store.batch():
            for number in range(500):
                store.add_fact(make_fact(number, confidence=number % 50 / 50), 1000)
        written = []
        for number in range(500, 530):
            before = os.stat(log).st_size
            store.add_fact(make_fact(number, confidence=number % 50 / 50), 1000)
            written.append((os.stat(log).st_size - before) / _FRAME)
        assert sorted(written)[15] == 5  # of the table and of its four indexes; more when one is split
        before = os.stat(log).st_size
        assert store.add_fact(make_fact(99), 1000).outcome is AddOutcome.DUPLICATE
        assert os.stat(log).st_size == before


@pytest.mark.req("R048")
def test_fact__id_with_half_of_a_character__is_unknown(project: Path) -> None:
    with contextlib.closing(SqliteBackend(project)) as store:
        store.add_fact(make_fact(1), 10)
        for touch in (store.get_fact, store.update_fact, store.delete_fact):
            with pytest.raises(NotFound):
                touch("\ud800")
