"""The schema of a store: counts kept in it, and every database that is not one of this user's on this machine."""

import contextlib
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.api import AddOutcome, Corrupt, NotFound, Refused
from holdfast.storage import delete_fact, get_fact, update_fact
from holdfast.testing.base import make_fact
from holdfast_sqlite.backend import SqliteBackend


@pytest.mark.req("R048")
def test_delete__evicted_before__leaves_no_text_in_the_file(project):
    with contextlib.closing(SqliteBackend(project)) as store:
        store.add_fact(make_fact(1, "the secret hobby", confidence=0.1), 70)
        for number in range(2, 80):
            store.add_fact(make_fact(number), 70)
        delete_fact(store, make_fact(40).id)
    content = (project / ".holdfast" / "holdfast.db").read_bytes()
    assert b"secret hobby" not in content


@pytest.fixture
def database(project) -> Path:
    """A store with three facts and a document."""
    with contextlib.closing(SqliteBackend(project)) as store:
        for number in range(3):
            store.add_fact(make_fact(number), 10)
        store.write("MEMORY.md", "- Tea\n")
    return project / ".holdfast" / "holdfast.db"


def change(database: Path, *statements: str) -> None:
    with contextlib.closing(sqlite3.connect(database)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


ATTACKS = {
    "trigger": ["CREATE TRIGGER t AFTER INSERT ON facts BEGIN DELETE FROM facts; END"],
    "view": ["CREATE VIEW v AS SELECT * FROM facts"],
    "table": ["CREATE TABLE more (x)"],
    "index": ["CREATE INDEX facts_i ON facts (abs(confidence))"],
    "virtual table": ["CREATE VIRTUAL TABLE t USING fts5 (x)"],
    "generated column": ["ALTER TABLE facts ADD COLUMN x TEXT AS (upper(content)) VIRTUAL"],
    "check": ["ALTER TABLE facts ADD COLUMN x TEXT CHECK (length(x) < 9)"],
    "view in a table's place": ["ALTER TABLE facts RENAME TO f", "CREATE VIEW facts AS SELECT * FROM f"],
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_open__schema_has_more_or_other_things__corrupt_and_untouched(project, database, attack):
    change(database, *ATTACKS[attack])
    before = database.read_bytes()
    with contextlib.closing(SqliteBackend(project)) as store:
        for call in (lambda: list(store.facts()), lambda: store.add_fact(make_fact(9), 10), lambda: store.names()):
            with pytest.raises(Corrupt, match="not opened") as caught:
                call()
            assert "holdfast import .holdfast/holdfast.db" in caught.value.next_step
    assert database.read_bytes() == before


def test_add__trigger_since_the_store_was_opened__corrupt(project, database):
    with contextlib.closing(SqliteBackend(project)) as store:
        store.add_fact(make_fact(8), 10)
        change(database, *ATTACKS["trigger"])
        with pytest.raises(Corrupt, match="trigger 't'"):
            store.add_fact(make_fact(9), 10)


def test_open__trigger_is_only_in_the_log__corrupt_and_the_log_is_not_merged(project, database, tmp_path):
    copy = tmp_path / "copy.db"
    shutil.copy(database, copy)
    code = "import os, sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute(sys.argv[2]); c.commit(); os._exit(0)"
    subprocess.run([sys.executable, "-c", code, str(copy), ATTACKS["trigger"][0]], check=True)
    shutil.copy(f"{copy}-wal", f"{database}-wal")
    before = database.read_bytes()
    with contextlib.closing(SqliteBackend(project)) as store, pytest.raises(Corrupt, match="trigger 't'"):
        store.add_fact(make_fact(9), 10)
    assert database.read_bytes() == before
    os.unlink(f"{database}-wal")
    with contextlib.closing(SqliteBackend(project)) as store:
        assert len(list(store.facts())) == 3


def test_open__rollback_journal_beside_it__refused_and_untouched(project, database):
    database.with_name("holdfast.db-journal").write_bytes(b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + b"x" * 4096)
    before = database.read_bytes()
    with contextlib.closing(SqliteBackend(project)) as store, pytest.raises(Refused, match="-journal"):
        len(list(store.facts()))
    assert database.read_bytes() == before


@pytest.mark.parametrize("seal", ["", "0 0", None], ids=["empty", "forged", "of another user"])
def test_open__seal_is_not_this_users__refused_with_the_import(project, database, seal, tmp_path, monkeypatch):
    if seal is None:
        monkeypatch.setenv("HOME", str(tmp_path / "another"))
        monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    else:
        change(database, f"UPDATE state SET seal = '{seal}'")
    with contextlib.closing(SqliteBackend(project)) as store:
        for call in (lambda: list(store.facts()), lambda: store.add_fact(make_fact(9), 10)):
            with pytest.raises(Refused, match="not made by this user") as caught:
                call()
            assert "`holdfast import .holdfast/holdfast.db`" in caught.value.next_step


@pytest.mark.req("R045", "R058")
def test_add__more_than_the_log_holds__merged_and_gone_on_with(project):
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
        assert len(list(store.facts())) == number + 2
        assert [fact.id for fact in store.facts()] == [make_fact(n).id for n in range(number + 2)]


@pytest.mark.req("R048")
def test_fact__id_with_half_of_a_character__is_unknown(project):
    with contextlib.closing(SqliteBackend(project)) as store:
        store.add_fact(make_fact(1), 10)
        for touch in (get_fact, update_fact, delete_fact):
            with pytest.raises(NotFound):
                touch(store, "\ud800")
