"""What the SQLite store does with a file that is not as it left it."""

import contextlib
import os
import shutil
import sqlite3
from pathlib import Path

import pytest

from holdfast.errors import Corrupt, HoldfastError, Refused, Unavailable, Unsupported
from holdfast.storage import Add, FactOrder, delete_fact, get_fact, update_fact
from holdfast.testing.base import make_block, make_fact
from holdfast_sqlite.backend import SqliteBackend

pytestmark = pytest.mark.req("R045", "R096")

DAY = "memory/2026-03-01.md"


@pytest.fixture
def database(project) -> Path:
    """A closed store with a document and forty facts: one file, all merged."""
    with contextlib.closing(SqliteBackend(project)) as store:
        store.append(DAY, make_block("one"), "# Day\n", "one")
        store.commit([Add(make_fact(number), 100) for number in range(40)])
    path = project / ".holdfast" / "holdfast.db"
    assert sorted(p.name for p in path.parent.iterdir()) == ["holdfast.db"]
    return path


def check_refused(project: Path, database: Path, kind: type[HoldfastError], words: str) -> None:
    """Every kind of call raises ``kind``, and the file stays as it is."""
    before = database.read_bytes() if database.is_file() else None
    with contextlib.closing(SqliteBackend(project)) as store:
        for call in (
            lambda: store.read(DAY),
            lambda: store.write("MEMORY.md", "text"),
            lambda: store.append(DAY, make_block("two"), "# Day\n", "two"),
            lambda: store.delete(DAY),
            lambda: store.names(),
            lambda: store.add_fact(make_fact(90), 100),
            lambda: store.add_fact(make_fact(1), 100),
            lambda: get_fact(store, "fact_00000001"),
            lambda: update_fact(store, "fact_00000001", confidence=0.1),
            lambda: delete_fact(store, "fact_00000001"),
            lambda: list(store.facts(FactOrder.CONFIDENCE)),
            lambda: len(list(store.facts())),
        ):
            with pytest.raises(kind, match=words) as caught:
                call()
            assert caught.value.next_step
    if before is not None:
        assert database.read_bytes() == before


@pytest.mark.parametrize("content", [b"", b"SQLite", b"garbage " * 5000, b"\0" * 8192])
def test_open__not_a_database__corrupt_and_untouched(project, database, content):
    database.write_bytes(content)
    check_refused(project, database, Corrupt, "holdfast.db")


def test_open__newer_schema__says_so_and_changes_nothing(project, database):
    with contextlib.closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("PRAGMA user_version = 99")
    with contextlib.closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
    check_refused(project, database, Unsupported, "schema 99")


def test_open__database_gone_and_log_left__corrupt_not_empty(project, database):
    database.unlink()
    database.with_name("holdfast.db-wal").write_bytes(b"what was acknowledged")
    check_refused(project, database, Corrupt, "is missing")


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("content", "x'ff'"),
        ("source", "CAST(x'ff' AS TEXT)"),
        ("category", "'junk'"),
        ("confidence", "'high'"),
        ("confidence", "7.0"),
        ("created_us", "1.5"),
        ("created_us", str(2**62)),  # the year 148,000
    ],
)
def test_fact__value_that_no_fact_has__corrupt_for_whoever_meets_it(project, database, column, value):
    with contextlib.closing(sqlite3.connect(database)) as connection, connection:
        connection.execute(f"UPDATE facts SET {column} = {value} WHERE id = 'fact_00000003'")
    with contextlib.closing(SqliteBackend(project)) as store:
        for call in (lambda: list(store.facts()), lambda: update_fact(store, "fact_00000003", source="")):
            with pytest.raises(Corrupt) as caught:
                call()
            assert make_fact(3).content not in str(caught.value)
        assert update_fact(store, "fact_00000002", confidence=0.7).confidence == 0.7
        if column != "source":  # text that is not UTF-8 ends every listing
            assert get_fact(store, "fact_00000004") == delete_fact(store, "fact_00000004") == make_fact(4)


def test_open_store__file_restored_from_a_copy__follows_it(project, database, tmp_path):
    shutil.copy(database, tmp_path / "copy.db")
    with contextlib.closing(SqliteBackend(project)) as store:
        delete_fact(store, "fact_00000001")
        for path in database.parent.glob("holdfast.db-*"):  # a log that stays would be applied to the copy
            path.unlink()
        os.replace(tmp_path / "copy.db", database)
        assert get_fact(store, "fact_00000001") == make_fact(1)
        store.add_fact(make_fact(50), 100)
        with contextlib.closing(SqliteBackend(project)) as other:
            assert len(list(other.facts())) == 41


def test_open__folder_is_a_link_out_of_the_root__refused(project, database, tmp_path):
    outside = tmp_path / "outside"
    database.parent.rename(outside)
    database.parent.symlink_to(outside)
    check_refused(project, database, Refused, "link")
    assert sorted(p.name for p in outside.iterdir()) == ["holdfast.db"]


def test_commit__disk_full_in_the_middle__all_of_it_undone_and_counted_right(project, database):
    with contextlib.closing(SqliteBackend(project)) as store:
        assert len(list(store.facts())) == 40
        sql = store._database._connection
        most = sql.execute("PRAGMA page_count").fetchone()[0] + 1
        sql.execute(f"PRAGMA max_page_count = {most}")
        with pytest.raises(Unavailable):
            store.commit([Add(make_fact(n, f"{n} " + "long " * 100), 1000) for n in range(100, 200)])
        sql.execute("PRAGMA max_page_count = 1000000")
        assert len(list(store.facts())) == 40
        assert store.add_fact(make_fact(90), 41).evicted == ()
