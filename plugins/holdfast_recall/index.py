"""The index: one SQLite file, derived from what is stored, brought up to date when somebody searches.

It remembers a stamp of each source and how far it has read a journal, so what did not change costs a comparison. A file
of another version, or one that SQLite cannot read, is made anew.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING, Any, Final

from holdfast import durable, private
from holdfast.errors import Unavailable
from holdfast_recall import dates, texts, words

if TYPE_CHECKING:
    from holdfast import Holdfast
    from holdfast_recall.texts import Source, Text

#: The file, in the private folder. What is in that folder's ``derived`` goes with every purge.
FILE: Final = os.path.join("derived", "search.sqlite")
#: Changes with the tables, the tokens and the marks: a file of another version is made anew.
VERSION: Final = 1
TOKENS: Final = "tokenize='porter unicode61 remove_diacritics 2'"
_TABLES: Final = f"""
CREATE TABLE source (
    id INTEGER PRIMARY KEY, kind TEXT, name TEXT, stamp TEXT, origin TEXT, place INTEGER, texts INTEGER,
    UNIQUE (kind, name)
);
CREATE TABLE text (
    id INTEGER PRIMARY KEY, source INTEGER, number INTEGER, kind TEXT, place TEXT, at REAL, dated TEXT, role TEXT,
    marks INTEGER, stems TEXT, body TEXT
);
CREATE UNIQUE INDEX text_number ON text (source, number);
CREATE VIRTUAL TABLE found USING fts5(body, dated, content='', {TOKENS});
CREATE VIRTUAL TABLE term USING fts5vocab(found, row);
"""
#: Bits of ``marks``.
QUESTION, SELF, TIME = 1, 2, 4
_WAIT_S: Final = 60.0
#: Texts that are inserted with one call.
_BATCH: Final = 5_000

Progress = Callable[[int, int], object]


@contextmanager
def opened(memory: Holdfast, progress: Progress | None = None) -> Iterator[sqlite3.Connection]:
    """The index, up to date, for reading. ``progress`` is called with the sources done and the number of them.

    Raises: Unavailable when the file cannot be written (a full disk), or another process holds it for a minute;
    Corrupt naming a journal or document that cannot be read.
    """
    state = memory.services.state
    if not os.path.isdir(state) and not memory.services.store.names():
        with closing(_connect(":memory:")) as db:
            yield db
        return
    private.make(state, "derived")
    path = os.path.join(state, FILE)
    with private.lock(path, timeout_s=_WAIT_S):
        db = _current(path)
        try:
            _update(db, memory, progress)
        except sqlite3.DatabaseError as error:
            db.close()
            if not _is_damage(error):
                raise _unavailable(error) from error
            _remove(path)
            db = _current(path)
            _update(db, memory, progress)
    with closing(db):
        try:
            yield db
        except sqlite3.DatabaseError as error:
            if _is_damage(error):
                with private.lock(path, timeout_s=_WAIT_S):
                    _remove(path)
            raise _unavailable(error) from error


def _current(path: str) -> sqlite3.Connection:
    """A connection to a file of this version. Raises: Unavailable."""
    try:
        db = _connect(path)
        try:
            if db.execute("PRAGMA user_version").fetchone()[0] == VERSION:
                return db
        except sqlite3.DatabaseError as error:
            if not _is_damage(error):
                db.close()
                raise
        db.close()
        _remove(path)
        db = _connect(path)
    except sqlite3.DatabaseError as error:
        raise _unavailable(error) from error
    return db


def _connect(path: str) -> sqlite3.Connection:
    if path != ":memory:" and not os.path.exists(path):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600))
    db = sqlite3.connect(path, timeout=_WAIT_S, isolation_level=None, check_same_thread=False)
    db.execute("PRAGMA journal_mode=TRUNCATE")
    db.execute("PRAGMA synchronous=OFF")  # derived: what a crash spoils is made anew
    db.execute("PRAGMA secure_delete=ON")
    if not db.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone():
        db.executescript(f"BEGIN; {_TABLES} PRAGMA user_version={VERSION}; COMMIT;")
    return db


def _remove(path: str) -> None:
    for one in (path, path + "-journal"):
        durable.remove(one)


def _is_damage(error: sqlite3.DatabaseError) -> bool:
    return not isinstance(error, sqlite3.OperationalError) or "malformed" in str(error)


def _unavailable(error: sqlite3.DatabaseError) -> Unavailable:
    return Unavailable(
        f"The index of the search cannot be used: {error}.",
        next_step=f"Free disk space, or delete {FILE} in the private folder; it is made anew.",
    )


# bringing it up to date


def _update(db: sqlite3.Connection, memory: Holdfast, progress: Progress | None) -> None:
    known = {(kind, name): row for kind, name, *row in db.execute("SELECT kind, name, id, stamp FROM source")}
    found = list(texts.sources(memory))
    gone = known.keys() - {(one.kind, one.name) for one in found}
    changed = [one for one in found if (row := known.get((one.kind, one.name))) is None or row[1] != one.stamp]
    if gone:
        db.execute("BEGIN IMMEDIATE")
        for key in gone:
            _forget(db, known[key][0])
            db.execute("DELETE FROM source WHERE id = ?", (known[key][0],))
        db.execute("COMMIT")
    for done, one in enumerate(changed):
        if progress:
            progress(done, len(changed))
        _read(db, memory, one)
    if changed and progress:
        progress(len(changed), len(changed))


def _read(db: sqlite3.Connection, memory: Holdfast, source: Source) -> None:
    """Index what is new in one source. A journal that only grew is read from where the last reading ended."""
    row = db.execute(
        "SELECT id, origin, place, texts FROM source WHERE kind = ? AND name = ?", (source.kind, source.name)
    ).fetchone()
    db.execute("BEGIN IMMEDIATE")
    try:
        if row is None:
            place = number = 0
            cursor = db.execute("INSERT INTO source (kind, name) VALUES (?, ?)", (source.kind, source.name))
            source_id = cursor.lastrowid or 0
        else:
            source_id, origin, place, number = row
            if source.kind != texts.TURN or origin != source.origin:
                _forget(db, source_id)
                place = number = 0
        # The stamp is of before the reading: what is added meanwhile is read the next time.
        rows = texts.read(memory, source, place)
        place, number = _add(db, memory.config.tz or UTC, source_id, rows, place, number)
        db.execute(
            "UPDATE source SET stamp = ?, origin = ?, place = ?, texts = ? WHERE id = ?",
            (source.stamp, source.origin, place, number, source_id),
        )
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def _add(
    db: sqlite3.Connection, zone: tzinfo, source_id: int, rows: Iterable[Text], place: int, number: int
) -> tuple[int, int]:
    next_id = db.execute("SELECT coalesce(max(id), 0) FROM text").fetchone()[0] + 1
    pending: list[Any] = []
    tokens: list[Any] = []
    for text in rows:
        place = text.after or place
        if not text.body:
            continue
        dated = dates.in_words(datetime.fromtimestamp(text.at, zone)) if text.at else ""
        spoken = words.SPEAKER.match(text.body)
        role = spoken[1] if spoken else text.role
        marks = (
            QUESTION * words.is_question(text.body)
            + SELF * words.speaks_of_self(text.body)
            + TIME * words.speaks_of_time(text.body)
        )
        stems = f" {' '.join(words.stems(text.body[spoken.end() if spoken else 0 :]))} "
        pending.append(
            (next_id, source_id, number, text.kind, text.place, text.at, dated, role, marks, stems, text.body)
        )
        tokens.append((next_id, words.spread(text.body), dated))
        next_id, number = next_id + 1, number + 1
        if len(pending) == _BATCH:
            _insert(db, pending, tokens)
    _insert(db, pending, tokens)
    return place, number


def _insert(db: sqlite3.Connection, rows: list[Any], tokens: list[Any]) -> None:
    db.executemany("INSERT INTO text VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
    db.executemany("INSERT INTO found (rowid, body, dated) VALUES (?, ?, ?)", tokens)
    rows.clear()
    tokens.clear()


def _forget(db: sqlite3.Connection, source_id: int) -> None:
    """Remove the texts of a source. A table without content has to be given what it holds."""
    rows = db.execute("SELECT id, body, dated FROM text WHERE source = ?", (source_id,)).fetchall()
    db.executemany(
        "INSERT INTO found (found, rowid, body, dated) VALUES ('delete', ?, ?, ?)",
        ((i, words.spread(body), dated) for i, body, dated in rows),
    )
    db.execute("DELETE FROM text WHERE source = ?", (source_id,))
