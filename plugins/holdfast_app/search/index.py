"""The index, an SQLite file derived from the store and updated by each search.

It remembers a stamp of each source and how far it has read a journal, so an unchanged source costs one comparison. A
file with another version, or a file that SQLite cannot read, is rebuilt.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from holdfast.errors import Corrupt, Unavailable
from holdfast.fs import durable, private, safeopen
from holdfast_app.progress import report
from holdfast_app.search import dates, records, words

if TYPE_CHECKING:
    from holdfast import Holdfast
    from holdfast_app.search.records import Source

T = TypeVar("T")

#: The file, in the private folder. Every purge removes that folder's ``derived``.
FILE: Final = os.path.join(private.DERIVED, "search.sqlite")
#: Changes with the tables, the indexed text and its tokens. Files of other versions are rebuilt.
VERSION: Final = 10
_TABLES: Final = f"""
CREATE TABLE source (
    id INTEGER PRIMARY KEY, kind TEXT, name TEXT, stamp TEXT, origin TEXT, place INTEGER, texts INTEGER,
    UNIQUE (kind, name)
);
CREATE VIRTUAL TABLE text USING fts5(
    body, pairs, dated, kind UNINDEXED, place UNINDEXED, at UNINDEXED, role UNINDEXED, {words.TOKENS}
);
CREATE TABLE vector (id INTEGER PRIMARY KEY, data BLOB);
CREATE TABLE vector_of (identity TEXT);
"""
_COLUMNS: Final = "body, pairs, dated, kind, place, at, role"
_WAIT_S: Final = 60.0
_ACTIVITY: Final = "Updating the search index"
#: Bits for an entry's number in its source. Its row id is the source's id and that number, so neighbours need no
#: lookup.
SOURCE: Final = 32


class Index(NamedTuple):
    """The open index.

    ``texts`` is the number of indexed entries. ``unread`` names damaged sources that could not be read completely.
    The next search tries them again.
    """

    db: sqlite3.Connection
    texts: int
    unread: tuple[str, ...] = ()


def search(memory: Holdfast, work: Callable[[Index], T]) -> T:
    """The result of ``work`` on the index, brought up to date. A damaged file is made again once.

    Reports its progress through :mod:`holdfast_app.progress`. Raises: Unavailable when the file cannot be written (a
    full disk), when another process holds it for a minute, or when a source cannot be read.
    """
    state = memory.services.state
    if not os.path.isdir(state) and not memory.services.store.names() and not memory.facts.count():
        with closing(_connect(":memory:")) as db:  # nothing is stored, and a search makes no folder
            return work(Index(db, 0))
    private.make(state, private.DERIVED)
    path = os.path.join(state, FILE)
    # Even while reading, because a reader of a removed file would mistake the new file's journal for its own.
    with private.lock(path, timeout_s=_WAIT_S):
        try:
            return _searched(path, memory, work)
        except sqlite3.DatabaseError as error:
            if not _is_damage(error):
                raise _unavailable(error) from error
        for one in (path, path + "-journal"):
            durable.remove(one)
        try:
            return _searched(path, memory, work)
        except sqlite3.DatabaseError as error:
            raise _unavailable(error) from error


def _searched(path: str, memory: Holdfast, work: Callable[[Index], T]) -> T:
    with closing(_connect(path)) as db:
        if db.execute("PRAGMA user_version").fetchone()[0] != VERSION:
            raise sqlite3.DatabaseError("another version")
        unread = _update(db, memory)
        return work(Index(db, size(db), unread))


def _connect(path: str) -> sqlite3.Connection:
    """Raises: sqlite3.DatabaseError; Unavailable when the file cannot be made."""
    if path != ":memory:":
        with durable.reporting(path, "write"):
            os.close(safeopen.open_fd(path, os.O_RDWR | os.O_CREAT))
    db = sqlite3.connect(path, timeout=_WAIT_S, isolation_level=None, check_same_thread=False)
    try:
        # Derived, so a crash that spoils it costs only time.
        db.execute("PRAGMA synchronous=OFF")
        db.execute("PRAGMA secure_delete=ON")
        db.execute("PRAGMA locking_mode=EXCLUSIVE")  # one lock for all statements; other searches wait anyway
        if not db.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone():
            db.executescript(f"BEGIN; {_TABLES} PRAGMA user_version={VERSION}; COMMIT;")
    except BaseException:
        db.close()
        raise
    return db


def _is_damage(error: sqlite3.DatabaseError) -> bool:
    """Whether the file is at fault, and not the disk or another process. A table that is missing is damage, too."""
    said = str(error)
    return not isinstance(error, sqlite3.OperationalError) or "malformed" in said or "no such" in said


def _unavailable(error: sqlite3.DatabaseError) -> Unavailable:
    return Unavailable(
        f"The search index cannot be used: {error}. Nothing was searched.",
        next_step=f"Free disk space, or delete {FILE} in the private folder. The next search rebuilds it.",
    )


def size(db: sqlite3.Connection) -> int:
    """The number of indexed entries."""
    texts_: int = db.execute("SELECT coalesce(sum(texts), 0) FROM source").fetchone()[0]
    return texts_


# bringing it up to date


def _update(db: sqlite3.Connection, memory: Holdfast) -> tuple[str, ...]:
    """Returns the names of damaged sources."""
    known: set[tuple[str, str, str]] = set(db.execute("SELECT kind, name, stamp FROM source"))
    current = list(records.sources(memory))
    if known == set(current):
        return ()
    changed = [one for one in current if one not in known]
    names = {(one.kind, one.name) for one in current}
    unread = []
    with _transaction(db):
        before = db.total_changes
        for source_id, kind, name in db.execute("SELECT id, kind, name FROM source").fetchall():
            if (kind, name) not in names:
                _forget(db, source_id)
                db.execute("DELETE FROM source WHERE id = ?", (source_id,))
        forgot = db.total_changes > before
        for done, one in enumerate(changed):
            report(done, len(changed), _ACTIVITY)
            row = db.execute(
                "SELECT id, origin, place, texts FROM source WHERE kind = ? AND name = ?", (one.kind, one.name)
            ).fetchone()
            origin = records.origin(memory, one)
            if row is None:
                cursor = db.execute("INSERT INTO source (kind, name) VALUES (?, ?)", (one.kind, one.name))
                row = (cursor.lastrowid, "", 0, 0)
            elif not origin or origin != row[1]:
                _forget(db, row[0])
                forgot, row = True, (row[0], "", 0, 0)
            if not _read(db, memory, one, origin, row):
                unread.append(one.name or one.kind)
        if forgot:  # merge FTS5's segments, so that no word of a deleted entry is left in the file
            db.execute("INSERT INTO text (text) VALUES ('optimize')")
    report(len(changed), len(changed), _ACTIVITY)
    return tuple(unread)


@contextmanager
def _transaction(db: sqlite3.Connection) -> Iterator[None]:
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def _read(
    db: sqlite3.Connection, memory: Holdfast, source: Source, origin: str, row: tuple[int, str, int, int]
) -> bool:
    """Index a source's new content. ``row`` has its id, and where the last update ended in a journal that only grew.

    Returns whether all of it could be read. What came before damage is found all the same.
    """
    source_id, _, place, number = row
    is_whole = True
    try:
        for text in records.read(memory, source, place):
            place = text.after or place
            if text.body:
                dated = dates.in_words(dates.local(text.at, memory.config.tz)) if text.at else ""
                entry = (text.body, words.pairs(text.body), dated, text.kind, text.place, text.at, text.role)
                db.execute(f"INSERT INTO text (rowid, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608
                           (source_id << SOURCE | number, *entry))  # fmt: skip
                number += 1
    except Corrupt:
        is_whole = False
    # The stamp is from before the reading, so the next search reads later additions, and damage again.
    db.execute(
        "UPDATE source SET stamp = ?, origin = ?, place = ?, texts = ? WHERE id = ?",
        (source.stamp if is_whole else "", origin, place, number, source_id),
    )
    return is_whole


def _forget(db: sqlite3.Connection, source_id: int) -> None:
    """Remove a source's entries."""
    span = (source_id << SOURCE, (source_id + 1) << SOURCE)
    db.execute("DELETE FROM text WHERE rowid >= ? AND rowid < ?", span)
    db.execute("DELETE FROM vector WHERE id >= ? AND id < ?", span)
