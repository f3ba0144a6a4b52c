"""The tables, as a list of migration steps. A new store takes all steps, an older one the missing ones.

Step N turns schema N - 1 into schema N (``PRAGMA user_version``). A released step never changes again.
"""

from __future__ import annotations

import sqlite3
from typing import Final

from holdfast.errors import Corrupt, Unsupported
from holdfast_sqlite.faults import RESTORE

#: ``PRAGMA application_id``: "hold" in ASCII. It distinguishes a store from other SQLite files.
APPLICATION_ID: Final = 0x686F6C64

STEPS: Final[tuple[tuple[str, ...], ...]] = (
    (
        # A document is its pieces joined in order, so an append adds a row and rewrites nothing.
        "CREATE TABLE documents (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, revision TEXT NOT NULL)",
        """CREATE TABLE pieces (
            id INTEGER PRIMARY KEY, document INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
            text TEXT NOT NULL)""",
        "CREATE INDEX pieces_of_document ON pieces (document)",
        """CREATE TABLE blocks (
            document INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE, block_id TEXT NOT NULL,
            PRIMARY KEY (document, block_id)) WITHOUT ROWID""",
        # seq is the order of insertion; duplicate is a digest of the duplicate key; created_us counts from 1970, UTC.
        """CREATE TABLE facts (
            seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, duplicate BLOB NOT NULL UNIQUE, content TEXT NOT NULL,
            category TEXT NOT NULL, confidence REAL NOT NULL, created_us INTEGER NOT NULL, source TEXT NOT NULL)""",
        "CREATE INDEX facts_weakest ON facts (confidence, created_us)",
        # One row. facts: how many there are, since counting takes longer the more there are.
        "CREATE TABLE state (one INTEGER PRIMARY KEY CHECK (one = 1), facts INTEGER NOT NULL)",
        "INSERT INTO state VALUES (1, 0)",
    ),
    (
        "CREATE INDEX facts_strongest ON facts (confidence DESC)",
        # The last seq in the full-text index, -1 when the index is missing or untrusted.
        "ALTER TABLE state ADD COLUMN indexed INTEGER NOT NULL DEFAULT -1",
        # Evicted facts still in the full-text index.
        "CREATE TABLE unindexed (seq INTEGER PRIMARY KEY, content TEXT NOT NULL)",
    ),
    (
        # gone: how many seqs up to the highest have no fact. Unlike the number of facts it stays as it is when one is
        # added, so that an addition has one page less to write.
        "ALTER TABLE state RENAME COLUMN facts TO gone",
        "UPDATE state SET gone = (SELECT ifnull(max(seq), 0) FROM facts) - gone",
    ),
    (
        # ordered: used by versions 4 and 5 only.
        "ALTER TABLE state ADD COLUMN ordered INTEGER NOT NULL DEFAULT 1",
        "DROP INDEX facts_weakest",
    ),
    (
        # removed: how many facts ever left by a call. With it the number of facts that were ever stored is known.
        "ALTER TABLE state ADD COLUMN removed INTEGER NOT NULL DEFAULT 0",
    ),
    (
        # The order of eviction. An older version made the index only while a fact's time was out of order.
        "CREATE INDEX IF NOT EXISTS facts_weakest ON facts (confidence, created_us)",
        "ALTER TABLE state RENAME TO old_state",
        """CREATE TABLE state (
            one INTEGER PRIMARY KEY CHECK (one = 1), gone INTEGER NOT NULL, indexed INTEGER NOT NULL,
            removed INTEGER NOT NULL)""",
        "INSERT INTO state SELECT one, gone, indexed, removed FROM old_state",
        "DROP TABLE old_state",
    ),
)
LATEST: Final = len(STEPS)


def create(connection: sqlite3.Connection) -> None:
    """Make all tables in an empty database, in one transaction."""
    connection.execute("BEGIN IMMEDIATE")
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    _take(connection, 0)
    connection.execute("COMMIT")


def count_facts(connection: sqlite3.Connection) -> int:
    """How many facts there are. In a store that no write has upgraded yet it takes the longer the more there are."""
    if _number(connection, "user_version") < 3:
        query = "SELECT count(*) FROM facts"
    else:
        query = "SELECT (SELECT ifnull(max(seq), 0) FROM facts) - gone FROM state"
    return int(connection.execute(query).fetchone()[0])


def totals(connection: sqlite3.Connection) -> tuple[int, int, int]:
    """How many facts were ever stored and how many of them left by a call, as ``state`` has it, and how many rows there
    are. Takes the longer the more there are."""
    rows = connection.execute("SELECT count(*) FROM facts").fetchone()[0]
    if _number(connection, "user_version") < 5:  # state.removed does not exist
        return rows, 0, rows
    query = "SELECT (SELECT ifnull(max(seq), 0) FROM facts) - gone + removed, removed FROM state"
    return (*connection.execute(query).fetchone(), rows)


def upgrade(connection: sqlite3.Connection) -> None:
    """Take the steps that this store lacks, in the caller's open transaction."""
    version = _number(connection, "user_version")
    if version < LATEST:
        _take(connection, version)


def check(connection: sqlite3.Connection, file: str) -> int:
    """The store's schema version. Older ones can be read unchanged, and the first write upgrades them.

    Raises: Corrupt when it is not a store; Unsupported when it is newer than this code.
    """
    version = _number(connection, "user_version")
    if _number(connection, "application_id") != APPLICATION_ID or version < 1:
        raise Corrupt(f"{file!r} is not a holdfast store.", next_step=RESTORE)
    if version > LATEST:
        raise Unsupported(
            f"{file!r} has schema {version}, and this version of holdfast knows none above {LATEST}.",
            next_step="Upgrade holdfast. It changed nothing.",
        )
    return version


def _take(connection: sqlite3.Connection, version: int) -> None:
    for statements in STEPS[version:]:
        for statement in statements:
            connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {LATEST}")


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    return int(connection.execute(f"PRAGMA {pragma}").fetchone()[0])
