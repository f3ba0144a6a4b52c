"""The index, an SQLite file derived from the store and updated by each search.

It remembers a stamp of each source and how far it has read a journal, so an unchanged source costs one comparison. A
file with another version, or a file that SQLite cannot read, is rebuilt.
"""

from __future__ import annotations

import functools
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import tzinfo
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from holdfast.errors import Corrupt, Unavailable
from holdfast.fs import durable, private, safeopen
from holdfast.plugin.progress import report
from holdfast_app.search import dates, texts, words

if TYPE_CHECKING:
    from holdfast import Holdfast
    from holdfast_app.search.texts import Source, Text

#: The file, in the private folder. Every purge removes that folder's ``derived``.
FILE: Final = os.path.join(private.DERIVED, "search.sqlite")
#: Changes with the tables, the indexed text, its tokens and marks, and the size of a page. Files of other versions are
#: rebuilt.
VERSION: Final = 9
_TABLES: Final = f"""
CREATE TABLE source (
    id INTEGER PRIMARY KEY, kind TEXT, name TEXT, stamp TEXT, origin TEXT, place INTEGER, texts INTEGER,
    UNIQUE (kind, name)
);
CREATE TABLE text (
    id INTEGER PRIMARY KEY, kind TEXT, place TEXT, at REAL, dated TEXT, role TEXT, speaker TEXT, marks INTEGER,
    size INTEGER, stems TEXT, body TEXT
);
CREATE TABLE vector (id INTEGER PRIMARY KEY, data BLOB);
CREATE TABLE vector_of (identity TEXT);
CREATE VIRTUAL TABLE found USING fts5(body, dated, content='', {words.TOKENS});
CREATE VIRTUAL TABLE term USING fts5vocab(found, row);
"""
#: Bits of ``marks``.
QUESTION, SELF, TIME, NUMBER = 1, 2, 4, 8
_WAIT_S: Final = 60.0
#: Bytes per page. A search opens the file anew, and reads less than half as often as with SQLite's 4,096.
_PAGE: Final = 16_384
#: Number of rows inserted per call.
_BATCH: Final = 1_000
#: Sources that are read in one transaction.
_TOGETHER: Final = 64
_ACTIVITY: Final = "Updating the search index"
#: Where a row of ``text`` has the date in words.
_DATED: Final = 4
#: Seconds that are of one day in every zone, where they begin at a multiple of it.
_SAME_DAY: Final = 900
#: Bits for an entry's number in its source. Its id is the source's id and that number, so neighbours need no lookup.
SOURCE: Final = 32


class Index(NamedTuple):
    """The open index.

    ``texts`` is the number of indexed entries. ``unread`` names damaged sources that could not be read completely.
    The next search tries them again.
    """

    db: sqlite3.Connection
    texts: int
    unread: tuple[str, ...] = ()


class Damaged(Unavailable):
    """The file was damaged, which only a question showed. It is removed, and the next opening makes it again."""


@contextmanager
def opened(memory: Holdfast) -> Iterator[Index]:
    """The index, up to date, for reading. Reports its progress through :mod:`holdfast.plugin.progress`.

    Raises: Unavailable when the file cannot be written (a full disk), when another process holds it for a minute, or
    when a source cannot be read; Damaged.
    """
    state = memory.services.state
    if not os.path.isdir(state) and not memory.services.store.names() and not memory.facts.count():
        with closing(_connect(":memory:")) as db:  # nothing is stored, and a search makes no folder
            yield Index(db, 0)
        return
    private.make(state, private.DERIVED)
    path = os.path.join(state, FILE)
    # Even while reading, because a reader of a removed file would mistake the new file's journal for its own.
    with private.lock(path, timeout_s=_WAIT_S):
        db, unread = _up_to_date(path, memory)
        with closing(db):
            try:
                yield Index(db, size(db), unread)
            except sqlite3.DatabaseError as error:
                if not _is_damage(error):
                    raise _unavailable(error) from error
                db.close()
                _remove(path)
                raise Damaged("The search index was damaged and is removed.", next_step="Search again.") from error


def _up_to_date(path: str, memory: Holdfast) -> tuple[sqlite3.Connection, tuple[str, ...]]:
    """A connection to a file of this version. A damaged file is made again once. Raises: Unavailable."""
    for last in (False, True):
        db = None
        try:
            db = _connect(path)
            if db.execute("PRAGMA user_version").fetchone()[0] != VERSION:
                db.close()
                _remove(path)
                db = _connect(path)
            return db, _update(db, memory)
        except BaseException as error:
            if db is not None:
                db.close()
            if not isinstance(error, sqlite3.DatabaseError):
                raise
            if last or not _is_damage(error):
                raise _unavailable(error) from error
            _remove(path)
    raise AssertionError("unreachable")


def _connect(path: str) -> sqlite3.Connection:
    """Raises: sqlite3.DatabaseError; Unavailable when the file cannot be made."""
    if path != ":memory:":
        try:
            os.close(safeopen.open_fd(path, os.O_RDWR | os.O_CREAT))
        except OSError as error:
            raise durable.unavailable(error, path, "write") from error
    db = sqlite3.connect(path, timeout=_WAIT_S, isolation_level=None, check_same_thread=False)
    try:
        # Derived, so a crash that spoils it costs only time.
        db.execute("PRAGMA synchronous=OFF")
        db.execute("PRAGMA secure_delete=ON")
        db.execute("PRAGMA locking_mode=EXCLUSIVE")  # one lock for all statements; other searches wait anyway
        if not db.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone():
            db.execute(f"PRAGMA page_size={_PAGE}")
            db.executescript(f"BEGIN; {_TABLES} PRAGMA user_version={VERSION}; COMMIT;")
    except BaseException:
        db.close()
        raise
    return db


def _remove(path: str) -> None:
    for one in (path, path + "-journal"):
        durable.remove(one)


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
    current = list(texts.sources(memory))
    if known == set(current):
        return ()
    changed = [one for one in current if one not in known]
    names = {(one.kind, one.name) for one in current}
    sources = db.execute("SELECT id, kind, name FROM source").fetchall()
    gone = [source for source, kind, name in sources if (kind, name) not in names]
    before = size(db)
    if gone:
        with _transaction(db):
            for source in gone:
                _forget(db, source)
                db.execute("DELETE FROM source WHERE id = ?", (source,))
            _merge(db)
    unread = []
    for start in range(0, len(changed), _TOGETHER):
        with _transaction(db):
            forgot = False
            for done, one in enumerate(changed[start : start + _TOGETHER], start):
                report(done, len(changed), _ACTIVITY)
                read = _read(db, memory, one)
                forgot = forgot or read.forgot
                if not read.whole:
                    unread.append(one.name or one.kind)
            if forgot:
                _merge(db)
    if changed:
        if size(db) - before >= _BATCH:
            _merge(db)
        report(len(changed), len(changed), _ACTIVITY)
    return tuple(unread)


def _merge(db: sqlite3.Connection) -> None:
    """Merge FTS5's segments into one, so that no word of a deleted entry is left in the file and a search reads less.

    Costs about 20 ms per 10,000 entries.
    """
    db.execute("INSERT INTO found (found) VALUES ('optimize')")


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


class _Read(NamedTuple):
    """Whether all of a source could be read, and whether entries of it were removed."""

    whole: bool
    forgot: bool


def _read(db: sqlite3.Connection, memory: Holdfast, source: Source) -> _Read:
    """Index new content from a source.

    A journal that only grew is read from the position reached last time.
    """
    row = db.execute(
        "SELECT id, origin, place, texts FROM source WHERE kind = ? AND name = ?", (source.kind, source.name)
    ).fetchone()
    origin = texts.origin(memory, source)
    if row is None:
        cursor = db.execute("INSERT INTO source (kind, name) VALUES (?, ?)", (source.kind, source.name))
        row = (cursor.lastrowid or 0, "", 0, 0)
    source_id, before, place, number = row
    forgot = False
    if not origin or origin != before:
        forgot = _forget(db, source_id)
        place = number = 0
    place, number, whole = _add(db, memory, source_id, source, place, number)
    # The stamp is from before the reading, so the next search reads later additions, and damage again.
    db.execute(
        "UPDATE source SET stamp = ?, origin = ?, place = ?, texts = ? WHERE id = ?",
        (source.stamp if whole else "", origin, place, number, source_id),
    )
    return _Read(whole, forgot)


def _add(
    db: sqlite3.Connection, memory: Holdfast, source_id: int, source: Source, place: int, number: int
) -> tuple[int, int, bool]:
    """Index a source's entries from ``place`` on.

    Returns the position to continue from, the number of entries, and whether all of them could be read.
    """
    zone = memory.config.tz
    pending: list[Any] = []
    tokens: list[Any] = []
    whole = True
    try:
        for text in texts.read(memory, source, place):
            place = text.after or place
            if not text.body:
                continue
            row = _row(source_id << SOURCE | number, text, zone)
            pending.append(row)
            tokens.append((row[0], words.spread(text.body), row[_DATED]))
            number += 1
            if len(pending) == _BATCH:
                _insert(db, pending, tokens)
    except Corrupt:
        whole = False  # what came before the damage is found all the same
    _insert(db, pending, tokens)
    return place, number, whole


def _row(one: int, text: Text, zone: tzinfo | None) -> tuple[Any, ...]:
    dated = _day(int(text.at) // _SAME_DAY, zone) if text.at else ""
    spoken = words.SPEAKER.match(text.body)
    speaker = spoken[1] if spoken else text.role
    found = words.traits(text.body[spoken.end() if spoken else 0 :])
    marks = QUESTION * words.is_question(text.body) + SELF * found.self + TIME * found.time + NUMBER * found.number
    stems = f" {' '.join(found.stems)} "
    return (one, text.kind, text.place, text.at, dated, text.role, speaker, marks, len(text.body), stems, text.body)


@functools.lru_cache
def _day(quarter: int, zone: tzinfo | None) -> str:
    """A quarter-hour's day, in words."""
    return dates.in_words(dates.local(quarter * _SAME_DAY, zone))


def _insert(db: sqlite3.Connection, rows: list[Any], tokens: list[Any]) -> None:
    db.executemany("INSERT INTO text VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
    db.executemany("INSERT INTO found (rowid, body, dated) VALUES (?, ?, ?)", tokens)
    rows.clear()
    tokens.clear()


def _forget(db: sqlite3.Connection, source_id: int) -> bool:
    """Remove a source's entries. Returns whether there were any. :func:`_merge` then removes their words.

    A contentless table needs the old values to delete a row.
    """
    span = (source_id << SOURCE, (source_id + 1) << SOURCE)
    rows = db.execute("SELECT id, body, dated FROM text WHERE id >= ? AND id < ?", span)
    db.executemany(
        "INSERT INTO found (found, rowid, body, dated) VALUES ('delete', ?, ?, ?)",
        ((i, words.spread(body), dated) for i, body, dated in rows),
    )
    forgot = db.execute("DELETE FROM text WHERE id >= ? AND id < ?", span).rowcount > 0
    db.execute("DELETE FROM vector WHERE id >= ? AND id < ?", span)
    return forgot
