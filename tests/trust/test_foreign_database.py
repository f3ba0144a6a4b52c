"""A SQLite store that came with a clone is data: never opened as a store, and imported only when a person agrees."""

import contextlib
import json
import sqlite3
from pathlib import Path

import pytest

from holdfast.storage import sha256
from holdfast_sqlite import schema

DATABASE = ".holdfast/holdfast.db"
TRIGGER = "CREATE TRIGGER t AFTER INSERT ON facts BEGIN DELETE FROM facts; END"


def build(source: Path, *statements: str) -> None:
    """A project that keeps its memory in SQLite, as its author committed it."""
    (source / "holdfast.toml").write_text('[storage]\nbackend = "sqlite"\n')
    (source / ".holdfast").mkdir()
    with contextlib.closing(sqlite3.connect(source / DATABASE, isolation_level=None)) as sql:
        schema.create(sql)
        row = ("fact_0a0a0a0a", b"x", "The port is 8443", "context", 0.9, 1, "test")
        sql.execute("INSERT INTO facts VALUES (1, ?, ?, ?, ?, ?, ?, ?)", row)
        sql.execute("INSERT INTO documents VALUES (1, 'MEMORY.md', ?)", (sha256("- Tea\n"),))
        sql.execute("INSERT INTO pieces VALUES (1, 1, '- Tea\n')")
        for statement in statements:
            sql.execute(statement)


def test_clone__with_a_database_and_a_trigger__refused_then_shown_then_imported(victim):
    victim.clone(lambda source: build(source, TRIGGER))
    before = (victim.project / DATABASE).read_bytes()
    for words in (("remember", "Use tabs"), ("status",), ("load",), ("migrate", "--to", "file")):
        ran = victim.run(*words)
        assert ran.code == 1, ran.text
        assert f"holdfast import {DATABASE}" in " ".join(ran.text.split()), ran.text
        assert "8443" not in ran.text
    assert "holdfast keeps the context" in victim.work().text
    assert (victim.project / DATABASE).read_bytes() == before

    shown = victim.run("import", DATABASE)
    assert (shown.code, "The port is 8443" in shown.out) == (1, True)
    assert "MEMORY.md" in shown.out
    assert (victim.project / DATABASE).read_bytes() == before
    refused = json.loads(victim.run("import", DATABASE, "--json").out)
    assert (refused["ok"], refused["facts"]) == (False, ["The port is 8443"])

    assert victim.run("import", DATABASE, "--yes").code == 0
    assert victim.run("remember", "Use tabs").code == 0
    found = json.loads(victim.run("facts", "list", "--json").out)["facts"]
    assert [fact["content"] for fact in found] == ["The port is 8443", "Use tabs"]
    assert victim.run("show", "MEMORY.md").out == "- Tea\n"
    with contextlib.closing(sqlite3.connect(victim.project / DATABASE)) as sql:
        assert sql.execute("SELECT count(*) FROM sqlite_schema WHERE type = 'trigger'").fetchone() == (0,)
    [aside] = (victim.project / ".holdfast").glob("holdfast.db.foreign-*[0-9a-f]")
    assert aside.read_bytes() == before
    again = victim.run("import", DATABASE, "--yes")
    assert "is this project's store" in again.text


def test_import__pages_are_used_many_times__refused_at_once(victim):
    """A few pages could otherwise hold rows without end."""

    def bomb(source: Path) -> None:
        numbers = "WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 500)"
        row = "i, 'fact_' || i, CAST(i AS BLOB), 'x' || i, 'context', 0.5, 1, ''"
        build(source, f"INSERT INTO facts {numbers} SELECT {row} FROM n")
        with contextlib.closing(sqlite3.connect(source / DATABASE)) as sql:
            (root,) = sql.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'facts'").fetchone()
            (size,) = sql.execute("PRAGMA page_size").fetchone()
        data = bytearray((source / DATABASE).read_bytes())
        page = (root - 1) * size
        assert data[page] == 5  # an inner page of a table; source: https://www.sqlite.org/fileformat2.html, section 1.6
        for number in range(int.from_bytes(data[page + 3 : page + 5], "big")):
            at = page + int.from_bytes(data[page + 12 + 2 * number : page + 14 + 2 * number], "big")
            data[at : at + 4] = data[page + 8 : page + 12]
        (source / DATABASE).write_bytes(data)

    victim.clone(bomb)
    ran = victim.run("import", DATABASE, "--yes")
    assert ran.code == 1
    assert "is damaged" in ran.text


@pytest.mark.parametrize(
    "attack",
    ["CREATE INDEX i ON facts (abs(confidence))", "PRAGMA user_version = 3", "UPDATE pieces SET text = 'other'"],
)
def test_import__database_with_anything_else__refused_and_nothing_written(victim, attack):
    victim.clone(lambda source: build(source, attack))
    before = victim.inside()
    ran = victim.run("import", DATABASE, "--yes")
    assert ran.code == 1, ran.text
    assert "next:" in ran.text
    assert victim.inside() == before
