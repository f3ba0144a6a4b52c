"""The index, an SQLite file derived from the store and updated by each search.

It remembers a stamp of each source and how far it has read a journal, so an unchanged source costs one comparison. A
file with another version, or a file that SQLite cannot read, is rebuilt, the newest sources first. A search adds a
part of what is new, and a process in the background the rest. Where nothing can be written, a search makes the whole
index in memory.

An entry is a turn, a line or a fact. Its text is indexed as passages. An entry's id is its source's id and its number
there, and a passage's id is its entry's id and its number there, so neighbours need no lookup.
"""

from __future__ import annotations

import os
import re
import sqlite3
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack, closing, suppress
from itertools import islice
from typing import Final, NamedTuple, TypeVar

from holdfast import Holdfast
from holdfast.errors import Corrupt, HoldfastError, Unavailable
from holdfast.fs import durable, private, safeopen
from holdfast.text.lazy import Lazy
from holdfast_app.progress import each
from holdfast_app.search import dates, records, words
from holdfast_app.search.records import Source

T = TypeVar("T")

#: The file, in the private folder. A purge leaves no removed word in it, see :func:`renew`.
FILE: Final = os.path.join(private.DERIVED, "search.sqlite")
#: Changes with the tables, the indexed text and its tokens. Files of other versions are rebuilt.
VERSION: Final = 15
#: Bits for an entry's number in its source, and for a passage's number in its entry.
SOURCE: Final = 32
PASSAGE: Final = 10
_TABLES: Final = f"""
CREATE TABLE source (
    id INTEGER PRIMARY KEY, kind TEXT, name TEXT, stamp TEXT, origin TEXT, place INTEGER, texts INTEGER,
    UNIQUE (kind, name)
);
CREATE TABLE entry (
    id INTEGER PRIMARY KEY, kind TEXT, place TEXT, at REAL, role TEXT, length INTEGER, asks INTEGER, rule INTEGER,
    dated INTEGER, speaker TEXT
);
CREATE INDEX rule ON entry (id) WHERE rule;
CREATE VIRTUAL TABLE text USING fts5(body, pairs, {words.TOKENS});
CREATE TABLE vector (id INTEGER PRIMARY KEY, data BLOB);
CREATE TABLE vector_of (identity TEXT);
"""
_WAIT_S: Final = 60.0
#: Entries added in one transaction, and about how many in a part in the background, and while a question waits.
_STEP, _PART, MOST = 500, 2_000, 10_000
#: Between two parts added in the background, so that a question gets its turn.
_PAUSE_S: Final = 0.05
_DAMAGE: Final = Lazy("malformed|no such table|no such column")
#: The name before what someone says, where several people talk in one session.
_SPEAKER: Final = Lazy(r"([^\W\d_]{2,24}): ")
#: An order or a preference. A question that it answers often shares no word with it.
_RULE: Final = Lazy(
    r"\bprefer\w*\b|(?:^|[.!?]\s)(?:please )?"
    r"(?:always|never|don['’]t|do not|avoid|make sure (?:to|you)|from now on|when(?:ever)? i)\b",
    re.IGNORECASE,
)


class Index(NamedTuple):
    """The open index.

    ``texts`` is the number of indexed entries. ``unread`` names damaged sources that could not be read completely.
    The next search tries them again. ``left`` is the number of sources that are not in it yet, or not all of them.
    """

    db: sqlite3.Connection
    texts: int
    unread: tuple[str, ...] = ()
    left: int = 0


def complete(memory: Holdfast) -> None:
    """Add everything that is new. Of several processes one works. Raises: Unavailable when a source cannot be read."""
    folder = private.make(memory.services.state, private.DERIVED)
    with ExitStack() as working:
        try:
            working.enter_context(private.lock(os.path.join(folder, "building"), timeout_s=0.0))
        except Unavailable:
            return
        while search(memory, lambda open_index: open_index.left, _PART):
            time.sleep(_PAUSE_S)


def search(memory: Holdfast, work: Callable[[Index], T], most: int) -> T:
    """The result of ``work`` on the index, after about ``most`` new entries were added. A damaged file is made again
    once.

    Without a place to write, or when another process holds the file for a minute, ``work`` gets one in memory.
    Reports its progress through :mod:`holdfast_app.progress`. Raises: Unavailable when a source cannot be read.
    """
    state = memory.services.state
    path = os.path.join(state, FILE)
    if os.path.isdir(state) or memory.services.store.names() or memory.facts.count():
        with suppress(Unavailable, sqlite3.DatabaseError):
            private.make(state, private.DERIVED)
            # Even while reading, because a reader of a removed file would mistake the new file's journal for its own.
            with private.lock(path, timeout_s=_WAIT_S):
                try:
                    return _searched(path, memory, work, most)
                except (sqlite3.DatabaseError, KeyError, TypeError, ValueError) as error:
                    # Not the disk or another process; a missing table and an impossible value are damage, too.
                    is_busy = isinstance(error, sqlite3.OperationalError) and not _DAMAGE.search(str(error))
                    if is_busy or isinstance(error, HoldfastError):
                        raise
                _remove(path)
                return _searched(path, memory, work, most)
    return _searched(":memory:", memory, work, sys.maxsize)


def renew(memory: Holdfast) -> None:
    """Remove from the file what was removed from the store, and read again what changed. A file that cannot be updated
    is removed. Raises: Unavailable when that fails, too."""
    path = os.path.join(memory.services.state, FILE)
    if not os.path.exists(path):
        return
    with private.lock(path, timeout_s=_WAIT_S):
        try:
            _searched(path, memory, lambda _: None, MOST, edited=True)
        except (Unavailable, sqlite3.DatabaseError):
            _remove(path)


def _remove(path: str) -> None:
    """Raises: Unavailable."""
    for file in (path, path + "-journal"):
        durable.remove(file)


def _searched(path: str, memory: Holdfast, work: Callable[[Index], T], most: int, *, edited: bool = False) -> T:
    if path != ":memory:":
        with durable.reporting(path, "write"):
            os.close(safeopen.open_fd(path, os.O_RDWR | os.O_CREAT))
    with closing(sqlite3.connect(path, timeout=_WAIT_S, isolation_level=None, check_same_thread=False)) as db:
        # Derived, so a crash that spoils it costs only time.
        db.execute("PRAGMA synchronous=OFF")
        db.execute("PRAGMA secure_delete=ON")
        db.execute("PRAGMA locking_mode=EXCLUSIVE")  # one lock for all statements; other searches wait anyway
        if not db.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone():
            db.executescript(f"BEGIN; {_TABLES} PRAGMA user_version={VERSION}; COMMIT;")
        if db.execute("PRAGMA user_version").fetchone()[0] != VERSION:
            raise sqlite3.DatabaseError("another version")
        unread, left = _update(db, memory, most, edited=edited)
        return work(Index(db, size(db), unread, left))


def size(db: sqlite3.Connection) -> int:
    """The number of indexed entries."""
    return int(db.execute("SELECT coalesce(sum(texts), 0) FROM source").fetchone()[0])


class Entry(NamedTuple):
    """An indexed entry."""

    id: int
    kind: str
    place: str
    at: float
    role: str
    length: int
    asks: int
    rule: int
    dated: int
    speaker: str


def entries(db: sqlite3.Connection, ids: Iterable[int], where: str = "") -> dict[int, Entry]:
    """The existing ones of these entries, by id, under a condition of ours."""
    rows = db.execute(f"SELECT * FROM entry WHERE id IN ({listed(ids)}) AND {where or 1}")  # noqa: S608
    return {row[0]: Entry._make(row) for row in rows}


def listed(ids: Iterable[int]) -> str:
    """Numbers as SQL lists them."""
    return ",".join(map(str, ids))


def bodies(db: sqlite3.Connection, ids: Iterable[int]) -> dict[int, str]:
    """The whole text of each of these entries, which is its passages joined."""
    read = "SELECT group_concat(body, '') FROM (SELECT body FROM text WHERE rowid >= ? AND rowid < ? ORDER BY rowid)"
    return {number: db.execute(read, (number << PASSAGE, (number + 1) << PASSAGE)).fetchone()[0] for number in ids}


# bringing it up to date


def _update(db: sqlite3.Connection, memory: Holdfast, most: int, *, edited: bool) -> tuple[tuple[str, ...], int]:
    """Add new content, about ``most`` entries, the newest sources first. Returns the names of damaged sources and how
    many are left. ``edited``: a changed journal may have lost text, not only grown, and what is on a server may have
    changed within its stamp's minute."""
    unchanged = "SELECT kind, name, stamp FROM source WHERE kind = ? OR NOT ?"
    known: set[tuple[str, str, str]] = set(db.execute(unchanged, (records.TURN, edited)))
    current = list(records.sources(memory))
    if known == set(current):
        return (), 0
    changed = {source[:2]: source for source in reversed(current) if source not in known}
    names = {source[:2] for source in current}
    rows = db.execute("SELECT id, kind, name, origin FROM source").fetchall()
    gone = [row_id for row_id, kind, name, _ in rows if (kind, name) not in names]
    indexed = {(kind, name): (row_id, origin) for row_id, kind, name, origin in rows if (kind, name) in changed}
    origins = {name: records.origin(memory, changed[name]) for name in indexed}
    other = [row_id for name, (row_id, origin) in indexed.items() if edited or not origin or origin != origins[name]]
    if gone or other:
        with db:
            db.execute("BEGIN IMMEDIATE")
            _forget(db, gone, other)
    unread, left = [], len(changed)
    for name, source in each([*changed.items()], "Updating the search index"):
        if most <= 0:
            break
        db.execute(
            "INSERT OR IGNORE INTO source (kind, name, stamp, origin, place, texts) VALUES (?, ?, '', '', 0, 0)", name
        )
        row = db.execute("SELECT id, place, texts FROM source WHERE kind = ? AND name = ?", name).fetchone()
        origin = origins[name] if name in origins else records.origin(memory, source)
        added, is_whole, is_damaged = _read(db, memory, source, origin, row, most)
        most, left = most - added, left - is_whole
        if is_damaged:
            unread.append(source.name or source.kind)
    return tuple(unread), left


def _read(
    db: sqlite3.Connection, memory: Holdfast, source: Source, origin: str, row: tuple[int, int, int], most: int
) -> tuple[int, bool, bool]:
    """Index a source's new content, in steps that stay when the process is killed; returns how many entries, whether
    that is all of it, and whether it is damaged: what comes before the damage is indexed. A journal is left after
    ``most``. ``row`` has its id, and where the last update ended in a journal that only grew."""
    source_id, place, first = row
    number, rows = first, records.read(memory, source, place)
    is_done = is_damaged = False
    while not is_done and (number - first < most or not origin):
        step: list[records.Text] = []
        try:
            step += islice(rows, _STEP)
        except Corrupt:  # not kept, because its frames hold the document
            is_damaged = True
        is_done = len(step) < _STEP
        with db:
            db.execute("BEGIN IMMEDIATE")
            added = [text for text in step if text.body]
            _add(db, source_id << SOURCE | number, added)
            number += len(added)
            place = max([place, *(text.after for text in step)])
            # The stamp is from before the reading, so the next search reads later additions, and damage again.
            db.execute(
                "UPDATE source SET stamp = ?, origin = ?, place = ?, texts = ? WHERE id = ?",
                (source.stamp if is_done and not is_damaged else "", origin, place, number, source_id),
            )
    return number - first, is_done, is_damaged


def _add(db: sqlite3.Connection, first: int, added: list[records.Text]) -> None:
    """Add entries as they are stored; they are masked when they are shown."""
    for number, text in enumerate(added, first):
        body = text.body
        speaker = _SPEAKER.match(body)
        asks = body.rstrip().endswith(("?", "？"))
        rule = text.role == "user" and _RULE.search(body) is not None
        features = (asks, rule, dates.NAMED.search(body) is not None, speaker and speaker[1].lower())
        row = (number, text.kind, text.place, text.at, text.role, len(body), *features)
        db.execute("INSERT INTO entry VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        for part, passage in enumerate(words.passages(body, 1 << PASSAGE), number << PASSAGE):
            db.execute("INSERT INTO text (rowid, body, pairs) VALUES (?, ?, ?)", (part, passage, words.pairs(passage)))


def _forget(db: sqlite3.Connection, gone: list[int], other: list[int]) -> None:
    """Remove the entries of these and gone sources. Merging FTS5's segments leaves none of their words in the file."""
    for row_id in gone + other:
        first, end = row_id << SOURCE, (row_id + 1) << SOURCE
        db.execute("DELETE FROM text WHERE rowid >= ? AND rowid < ?", (first << PASSAGE, end << PASSAGE))
        db.execute("DELETE FROM entry WHERE id >= ? AND id < ?", (first, end))
        db.execute("DELETE FROM vector WHERE id >= ? AND id < ?", (first, end))
        db.execute("UPDATE source SET stamp = '', origin = '', place = 0, texts = 0 WHERE id = ?", (row_id,))
    db.executemany("DELETE FROM source WHERE id = ?", ((row_id,) for row_id in gone))
    db.execute("INSERT INTO text (text) VALUES ('optimize')")
