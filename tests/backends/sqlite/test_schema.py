"""Stores of earlier schemas, and of a SQLite without full-text search."""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
from pathlib import Path

import pytest

from holdfast.errors import ConfigError, Unavailable, Unsupported
from holdfast.models import AddOutcome
from holdfast.storage import Capability, FactOrder, Hit, HitKind, sha256
from holdfast.testing.base import make_block, make_fact
from holdfast_sqlite import schema
from holdfast_sqlite.backend import SqliteBackend, from_options

#: Schema 1 as it was, with a document of two pieces and three facts.
VERSION_1 = """
    PRAGMA application_id = 1752132708; PRAGMA user_version = 1; PRAGMA journal_mode = WAL;
    CREATE TABLE documents (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, revision TEXT NOT NULL);
    CREATE TABLE pieces (id INTEGER PRIMARY KEY, document INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
        text TEXT NOT NULL);
    CREATE INDEX pieces_of_document ON pieces (document);
    CREATE TABLE blocks (document INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE, block_id TEXT NOT NULL,
        PRIMARY KEY (document, block_id)) WITHOUT ROWID;
    CREATE TABLE facts (seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, duplicate BLOB NOT NULL UNIQUE,
        content TEXT NOT NULL, category TEXT NOT NULL, confidence REAL NOT NULL, created_us INTEGER NOT NULL,
        source TEXT NOT NULL);
    CREATE INDEX facts_weakest ON facts (confidence, created_us);
    CREATE TABLE state (one INTEGER PRIMARY KEY CHECK (one = 1), facts INTEGER NOT NULL);
    INSERT INTO state VALUES (1, 3);
"""
#: What schema 2 added, and a fact that left from the middle.
VERSION_2 = """
    CREATE INDEX facts_strongest ON facts (confidence DESC);
    ALTER TABLE state ADD COLUMN indexed INTEGER NOT NULL DEFAULT -1;
    CREATE TABLE unindexed (seq INTEGER PRIMARY KEY, content TEXT NOT NULL);
    DELETE FROM facts WHERE seq = 2;
    UPDATE state SET facts = 2;
    PRAGMA user_version = 2;
"""
TEXT = "# Day\n" + make_block("one")


@pytest.fixture
def version_1(project: Path) -> Path:
    """A store as schema 1 left it."""
    path = project / ".holdfast" / "holdfast.db"
    path.parent.mkdir()
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript(VERSION_1)
        connection.execute("INSERT INTO documents VALUES (1, 'day.md', ?)", (sha256(TEXT),))
        connection.execute("INSERT INTO pieces VALUES (1, 1, '# Day\n'), (2, 1, ?)", (make_block("one"),))
        connection.execute("INSERT INTO blocks VALUES (1, 'one')")
        for number in range(3):
            fact = make_fact(number, confidence=(5 - number) / 10)
            digest = hashlib.blake2b(fact.content.casefold().encode(), digest_size=20).digest()
            moment = int(fact.created_at.timestamp()) * 10**6 + fact.created_at.microsecond
            row = (number + 1, fact.id, digest, fact.content, fact.category, fact.confidence, moment, fact.source)
            connection.execute(f"INSERT INTO facts VALUES ({', '.join('?' * len(row))})", row)
        connection.commit()
    return path


def version_of(path: Path) -> int:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])


@pytest.mark.req("R045")
def test_version_1__read__as_it_is_and_not_changed(project: Path, version_1: Path) -> None:
    before = version_1.read_bytes()
    with contextlib.closing(SqliteBackend(project)) as store:
        document = store.read("day.md")
        assert document is not None
        assert document.text == TEXT
        assert [fact.id for fact in store.facts(FactOrder.CONFIDENCE)] == [make_fact(n).id for n in range(3)]
        assert store.get_fact("fact_00000001") == make_fact(1, confidence=0.4)
        assert store.count_facts() == 3
        with pytest.raises(Unavailable, match="not built"):
            store.search("build")
    assert version_1.read_bytes() == before


@pytest.mark.req("R045", "R052", "R060")
def test_version_1__first_write__upgraded_with_all_it_held(project: Path, version_1: Path) -> None:
    with contextlib.closing(SqliteBackend(project)) as store:
        assert store.add_fact(make_fact(9, "the BUILD needs step 1"), 3).duplicate_of == "fact_00000001"
        result = store.add_fact(make_fact(3), 3)
        assert (result.outcome, result.evicted) == (AddOutcome.ADDED, ("fact_00000002",))
        assert store.append("day.md", make_block("one"), "# Day\n", "one") == sha256(TEXT)
        assert [hit.name for hit in store.search("build 1")] == ["fact_00000001"]
        assert [hit.name for hit in store.search("decided")] == ["day.md"]
    assert version_of(version_1) == schema.LATEST
    with contextlib.closing(SqliteBackend(project)) as store:
        assert [fact.id for fact in store.facts()] == ["fact_00000000", "fact_00000001", "fact_00000003"]


@pytest.mark.req("R045")
def test_upgrade__interrupted__is_as_before(project: Path, version_1: Path) -> None:
    with contextlib.closing(SqliteBackend(project)) as store:
        with pytest.raises(KeyError):
            store.delete_fact("fact_ffffffff")  # what upgraded the store is undone with the rest
        assert version_of(version_1) == 1
        assert store.delete_fact("fact_00000000").id == "fact_00000000"
    assert version_of(version_1) == schema.LATEST


@pytest.fixture
def version_2(version_1: Path) -> Path:
    """A store as schema 2 left it, with the first and the third fact."""
    with contextlib.closing(sqlite3.connect(version_1)) as connection:
        connection.executescript(VERSION_2)
    return version_1


@pytest.mark.req("R045", "R060")
def test_version_2__read_then_written__counts_the_same_facts(project: Path, version_2: Path) -> None:
    with contextlib.closing(SqliteBackend(project)) as store:
        assert store.count_facts() == 2
        assert version_of(version_2) == 2
        assert store.add_fact(make_fact(3, confidence=0.9), 3).evicted == ()
        assert version_of(version_2) == schema.LATEST
        assert store.count_facts() == 3
        assert store.add_fact(make_fact(4, confidence=0.9), 3).evicted == ("fact_00000002",)
        assert [fact.id for fact in store.facts()] == ["fact_00000000", "fact_00000003", "fact_00000004"]


@pytest.mark.req("R045", "R060")
def test_count__facts_leave_from_both_ends_and_the_middle__stays_right(project: Path) -> None:
    with contextlib.closing(SqliteBackend(project)) as store:
        for number in range(6):
            store.add_fact(make_fact(number), 10)
        expected = 6
        for number in (5, 0, 2, 4):  # the last of all, the first, one of the middle, the last of what is left
            store.delete_fact(make_fact(number).id)
            expected -= 1
            assert store.count_facts() == expected == len(list(store.facts()))
        with store.batch():
            store.add_fact(make_fact(7), 10)
            store.delete_fact(make_fact(7).id)
            store.add_fact(make_fact(8), 10)
        assert store.count_facts() == 3
        for fact in list(store.facts()):
            store.delete_fact(fact.id)
        assert store.count_facts() == 0
        assert store.add_fact(make_fact(9), 1).evicted == ()
        assert store.count_facts() == 1


@pytest.mark.req("R060")
def test_eviction__times_out_of_order__oldest_leaves(project: Path) -> None:
    with contextlib.closing(SqliteBackend(project)) as store:
        for number in range(4):  # each older than the one before
            store.add_fact(make_fact(number, age_s=2 * number), 4)
        assert store.add_fact(make_fact(5), 4).evicted == ("fact_00000003",)
        assert store.add_fact(make_fact(6), 3).evicted == ("fact_00000002", "fact_00000001")
        assert [fact.id for fact in store.facts(FactOrder.CONFIDENCE)] == [make_fact(n).id for n in (0, 5, 6)]
        assert store.add_fact(make_fact(7), 3).evicted == ("fact_00000000",)


@pytest.fixture
def version_5(version_2: Path) -> Path:
    with contextlib.closing(sqlite3.connect(version_2, isolation_level=None)) as connection:
        for step in schema.STEPS[2:5]:
            for statement in step:
                connection.execute(statement)
        connection.execute("PRAGMA user_version = 5")
    return version_2


@pytest.mark.req("R045", "R060")
def test_version_5__read_then_written__same_counts_and_order_of_eviction(project: Path, version_5: Path) -> None:
    with contextlib.closing(SqliteBackend(project)) as store:
        assert store.count_facts() == 2
        assert store.lost_facts() == 0
        assert store.add_fact(make_fact(3, confidence=0.9), 3).evicted == ()
        assert version_of(version_5) == schema.LATEST
        assert store.add_fact(make_fact(4, confidence=0.9), 3).evicted == ("fact_00000002",)
        assert store.count_facts() == 3


@pytest.mark.req("R060")
def test_upgrade__times_out_of_order__oldest_leaves(project: Path, version_2: Path) -> None:
    with contextlib.closing(sqlite3.connect(version_2)) as connection:
        connection.execute("UPDATE facts SET confidence = 0.5, created_us = 1000000 - seq")
        connection.commit()
    with contextlib.closing(SqliteBackend(project)) as store:
        assert store.add_fact(make_fact(3, confidence=0.9), 2).evicted == ("fact_00000002",)


def names(store: SqliteBackend, query: str) -> list[str]:
    return [hit.name for hit in store.search(query, limit=100)]


def test_search__facts_and_documents__all_words_best_first(project: Path) -> None:
    with contextlib.closing(SqliteBackend(project)) as store:
        assert store.search("anything") == []
        assert Capability.SEARCH in store.capabilities
        with store.batch():
            for number in range(200):
                store.add_fact(make_fact(number, f"The caf\u00e9 serves dish {number}"), 1000)
        store.write("MEMORY.md", "- Tea at the Caf\u00e9\n- Milk\n")
        store.append("day.md", make_block("one", "- bought milk"), "# Day\n", "one")
        assert names(store, "CAFE 7") == [make_fact(n).id for n in (7, *range(70, 80))]
        assert names(store, "dish 199") == [make_fact(199).id]
        assert store.search("cafe tea") == [
            Hit(kind=HitKind.DOCUMENT, name="MEMORY.md", text="- Tea at the Caf\u00e9\n- Milk\n")
        ]
        assert set(names(store, "milk")) == {"MEMORY.md", "day.md"}
        assert len(store.search("cafe", limit=5)) == 5
        assert store.search("cafe", limit=0) == store.search("  ") == []
        for hostile in ('"', "' OR 1", "NEAR(", "a AND", "*", "-", "content:x", "\0", "\u202e"):
            store.search(hostile)


def test_search__changed_evicted_and_deleted__follows(project: Path) -> None:
    with contextlib.closing(SqliteBackend(project)) as store:
        with store.batch():
            for number in range(130):
                store.add_fact(make_fact(number, f"word{number}x", confidence=number / 200), 1000)
        for number in (3, 129):  # one that the index knows, one that it does not know yet
            store.update_fact(make_fact(number).id, content=f"changed{number}x")
            assert names(store, f"word{number}x") == []
            assert names(store, f"changed{number}x") == [make_fact(number).id]
        evicted = store.add_fact(make_fact(500, "newcomer"), 100).evicted
        assert len(evicted) == 31
        assert sorted(names(store, "word1")) == [make_fact(n).id for n in range(100, 129)]
        store.delete_fact(make_fact(100).id)
        store.delete_fact(make_fact(500).id)
        with store.batch():
            for number in range(600, 700):
                store.add_fact(make_fact(number, f"later{number}x"), 1000)
        assert names(store, "word100x") == names(store, "newcomer") == []
        assert names(store, "later699x") == [make_fact(699).id]
        store.write("a.md", "one apple")
        store.write("a.md", "one pear")
        assert (names(store, "apple"), names(store, "pear")) == ([], ["a.md"])
        store.delete("a.md")
        assert names(store, "pear") == []


@pytest.mark.req("R048")
def test_delete__evicted_before__leaves_no_text_in_the_file(project: Path) -> None:
    with contextlib.closing(SqliteBackend(project)) as store:
        store.add_fact(make_fact(1, "the secret hobby", confidence=0.1), 70)
        for number in range(2, 80):
            store.add_fact(make_fact(number), 70)
        store.delete_fact(make_fact(40).id)
    content = (project / ".holdfast" / "holdfast.db").read_bytes()
    assert b"secret hobby" not in content


def test_search__switched_off_and_on_again__index_is_rebuilt(project: Path) -> None:
    with contextlib.closing(SqliteBackend(project)) as store:
        store.add_fact(make_fact(1, "first"), 10)
    with contextlib.closing(SqliteBackend(project, search=False)) as plain:
        assert Capability.SEARCH not in plain.capabilities
        with pytest.raises(Unsupported):
            plain.search("first")
        plain.add_fact(make_fact(2, "second"), 10)
        plain.delete_fact(make_fact(1).id)
        plain.write("a.md", "third")
        with contextlib.closing(SqliteBackend(project)) as store:
            with pytest.raises(Unavailable):
                store.search("second")
            store.add_fact(make_fact(3, "fourth"), 10)
            assert names(store, "second") == [make_fact(2).id]
            assert names(store, "first") == []
            assert names(store, "third") == ["a.md"]


def test_options__of_a_wrong_kind__config_error_with_path(project: Path) -> None:
    for options in ({"file": 3}, {"lock_timeout_s": "10"}, {"lock_timeout_s": True}, {"search": 1}):
        with pytest.raises(ConfigError, match=f"storage.{next(iter(options))}"):
            from_options(project, ".holdfast", options)
    store = from_options(project, "store", {"file": "own.db", "lock_timeout_s": 1, "of_another_backend": "kept"})
    with contextlib.closing(store):
        store.write("a.md", "text")
        assert (project / "store" / "own.db").is_file()
        assert store.where("a.md") == "store/own.db#a.md"
