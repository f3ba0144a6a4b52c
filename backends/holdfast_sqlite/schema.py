"""The tables, and the check that a database has exactly these and was made by this user on this machine.

A schema is a program: triggers, views, generated columns and CHECK constraints run while a store is used. So a database
with any other schema is not opened.
"""

import os
import sqlite3
from contextlib import closing
from functools import cache
from typing import Final

from holdfast.errors import Corrupt, Refused, Unsupported
from holdfast.fs import ownership_mark
from holdfast_sqlite.faults import RESTORE

#: ``PRAGMA application_id``: "hold" in ASCII. It distinguishes a store from other SQLite files.
APPLICATION_ID: Final = 0x686F6C64
#: ``PRAGMA user_version``.
VERSION: Final = 7
#: SQLite stores the exact text of each. No foreign key has an action, because actions count as triggers, and
#: connections run none.
STATEMENTS: Final = (
    # A document is its pieces joined in order, so an append adds a row and rewrites nothing.
    "CREATE TABLE documents (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, revision TEXT NOT NULL)",
    """CREATE TABLE pieces (
        id INTEGER PRIMARY KEY, document INTEGER NOT NULL REFERENCES documents,
        text TEXT NOT NULL)""",
    "CREATE INDEX pieces_of_document ON pieces (document)",
    """CREATE TABLE blocks (
        document INTEGER NOT NULL REFERENCES documents, block_id TEXT NOT NULL,
        PRIMARY KEY (document, block_id)) WITHOUT ROWID""",
    # seq is the order of insertion; duplicate is a digest of the duplicate key; created_us counts from 1970, UTC.
    """CREATE TABLE facts (
        seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, duplicate BLOB NOT NULL UNIQUE, content TEXT NOT NULL,
        category TEXT NOT NULL, confidence REAL NOT NULL, created_us INTEGER NOT NULL, source TEXT NOT NULL)""",
    "CREATE INDEX facts_strongest ON facts (confidence DESC)",
    "CREATE INDEX facts_weakest ON facts (confidence, created_us)",
    # One row. gone: how many seqs up to the highest have no fact; unlike the number of facts it stays as it is when one
    # is added, so that an addition has one page less to write. removed: how many facts ever left by a call. seal: proof
    # that this user made the store on this machine.
    """CREATE TABLE state (
        one INTEGER PRIMARY KEY CHECK (one = 1), gone INTEGER NOT NULL, removed INTEGER NOT NULL,
        seal TEXT NOT NULL)""",
)
_SCHEMA: Final = "SELECT type, name, tbl_name, sql FROM sqlite_schema"


def create(connection: sqlite3.Connection) -> None:
    """Make all tables in an empty database, in one transaction. Raises: ConfigError; Unavailable."""
    nonce = os.urandom(16).hex()
    seal = f"{nonce} {_proof(nonce, make=True)}"
    connection.execute("BEGIN IMMEDIATE")
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    for statement in STATEMENTS:
        connection.execute(statement)
    connection.execute("INSERT INTO state VALUES (1, 0, 0, ?)", (seal,))
    connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")


def totals(connection: sqlite3.Connection) -> tuple[int, int, int]:
    """How many facts were ever stored and how many of them left by a call, as ``state`` has it, and how many rows there
    are. Takes the longer the more there are."""
    rows = connection.execute("SELECT count(*) FROM facts").fetchone()[0]
    query = "SELECT (SELECT ifnull(max(seq), 0) FROM facts) - gone + removed, removed FROM state"
    return (*connection.execute(query).fetchone(), rows)


def number(connection: sqlite3.Connection, pragma: str) -> int:
    return int(connection.execute(f"PRAGMA {pragma}").fetchone()[0])


def check(connection: sqlite3.Connection, shown: str) -> None:
    """Check that the database ``shown`` is a store that this user made on this machine.

    Raises: Corrupt when it is not a store, or when its schema has anything more or different; Unsupported for a schema
    of another version; Refused for a store of another origin; ConfigError for a key that cannot be used; Unavailable.
    """
    check_tables(connection, shown)
    seal = connection.execute("SELECT seal FROM state").fetchone()
    nonce, _, proof = seal[0].partition(" ") if seal is not None and isinstance(seal[0], str) else ("", "", "")
    if not proof or proof != _proof(nonce, make=False):
        raise Refused(
            f"{shown} was not made by this user on this machine, so it is data and not opened as a store.",
            next_step=_importing(shown),
        )


def _proof(nonce: str, *, make: bool) -> str:
    """What only this user's key makes of the number, on this machine; empty without the key, unless it is to be made.
    Raises: ConfigError; Unavailable."""
    key = ownership_mark.secret(make=make)
    return ownership_mark.digest(f"holdfast-store-1 {nonce}".encode("utf-8", "replace"), key=key) if key else ""


def check_tables(connection: sqlite3.Connection, shown: str, *, lenient: bool = False) -> None:
    """Check the schema alone. ``lenient`` accepts triggers and views, which do nothing while tables are only read."""
    version = number(connection, "user_version")
    if number(connection, "application_id") != APPLICATION_ID or version < 1:
        raise Corrupt(f"{shown} is not a holdfast store.", next_step=RESTORE)
    if version != VERSION:
        raise Unsupported(
            f"{shown} has schema {version}, and this version of holdfast knows only {VERSION}.",
            next_step="Use the version of holdfast that wrote it. This one changed nothing.",
        )
    objects = set(connection.execute(_SCHEMA))
    if extra := [row for row in objects - _expected() if not (lenient and row[0] in ("trigger", "view"))]:
        kind, name = min((str(row[0]), str(row[1])) for row in extra)
        raise Corrupt(
            f"{shown} has the {_plain(kind)} {_plain(name)!r}, which holdfast did not make in this form. It may hold a"
            " program, so the database is not opened.",
            next_step=RESTORE if lenient else f"Restore the file from a copy. Or: {_importing(shown)}",
        )
    if missing := _expected() - objects:
        raise Corrupt(f"{shown} lacks {min(str(row[1]) for row in missing)!r}.", next_step=RESTORE)


def _importing(shown: str) -> str:
    return f"`holdfast import {shown}` shows the facts and documents in it, and adds them to a new store."


@cache
def _expected() -> frozenset[tuple[object, ...]]:
    """How SQLite itself describes the schema of a new store."""
    with closing(sqlite3.connect(":memory:")) as new:
        for statement in STATEMENTS:
            new.execute(statement)
        return frozenset(new.execute(_SCHEMA))


def _plain(name: str) -> str:
    """A name that an attacker may have chosen, for a message that an agent reads."""
    return "".join(c if c.isascii() and (c.isalnum() or c == "_") else "?" for c in name[:24])
