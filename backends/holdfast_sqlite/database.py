"""One connection to the database file, opened on first use, shared by threads under a mutex, never by a fork.

Every commit is flushed (write-ahead log, ``synchronous=FULL``) before it returns. A write holds SQLite's write lock
from its first read on, so its decisions still hold when they are stored.
"""

import contextlib
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from typing import Final

from attrs import define

from holdfast.errors import Conflict, DuplicateFact, NotFound, Unavailable
from holdfast.fs import durable
from holdfast.fs.safeopen import Identity
from holdfast_sqlite import faults, opening, schema
from holdfast_sqlite.place import Mark, Place, note_mark, read_mark, remove_mark

_STATE: Final = "SELECT gone, removed, (SELECT ifnull(max(seq), 0) FROM facts) FROM state"


@define
class Change:
    """A write transaction. At its end the row in ``state`` is written if it changed."""

    sql: sqlite3.Connection
    facts: int  # how many there are
    removed: int  # how many facts ever left by a call
    last: int  # the highest seq of a fact, 0 when there is none


class Database:
    """The store's connection. Errors are raised as :mod:`holdfast.errors`, with the file unchanged."""

    def __init__(self, place: Place, *, timeout_s: float) -> None:
        self.place = place
        self._timeout_s = timeout_s
        self._pid = os.getpid()
        self._mutex = threading.RLock()
        self._inherited: list[sqlite3.Connection] = []
        self._mark = os.path.join(place.state, f"{place.file}.mark")
        self._before: Mark | None = None  # the mark's surplus when this process first looked
        self._wrote = False
        self._forget()

    def _forget(self) -> None:
        self._connection: sqlite3.Connection | None = None
        self._identity: Identity | None = None
        self._immutable = False  # opened as a file without writers
        self._schema = -1  # the schema's stamp when it was last checked for writing, -1 when it was not
        self._flushed = False  # whether all that can be read is known to be durable
        self._change: Change | None = None  # the transaction under way
        self._changes_before = 0  # of the connection, as the transaction began
        self._stored_state = (0, 0)  # gone and removed, as the table has them

    # --- for the other modules of the backend

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection | None]:
        """The connection for a read outside a transaction. None when the store does not exist yet.

        Other threads wait until the block ends. SQLite errors are raised as storage errors.
        """
        if os.getpid() != self._pid:
            self._begin_anew()
        with self._mutex:
            try:
                yield self._current()
            except (sqlite3.Error, UnicodeEncodeError) as error:
                raise faults.translate(error, self.place.file, self._timeout_s) from error
            except Exception:
                raise
            except BaseException:  # Ctrl-C, perhaps right after a transaction began
                if self._connection is not None and self._change is None:
                    self._undo(self._connection)
                raise

    @contextlib.contextmanager
    def changing(self) -> Iterator[Change]:
        """A write transaction, durable when the block ends; inside of another one a part of that. An error that leaves
        the outer block undoes all of it. Other threads and other writers wait meanwhile."""
        with self.reading() as sql:
            if self._change is not None:
                yield self._change
                return
            change = self._change = self._start(sql)
            try:
                yield change
                self._commit(change)
            except BaseException as error:
                self._undo(change.sql)
                self._change = None
                if isinstance(error, Conflict | NotFound | DuplicateFact):
                    self.confirm()  # callers act on such an answer, so its data must be durable
                raise
            finally:
                self._change = None

    def compact(self) -> None:
        """Rewrite the file without free pages, and empty its log.

        Raises: Unavailable when another process keeps reading the store.
        """
        with self.reading() as sql:
            if sql is None:
                return
            sql.execute("VACUUM")
            if sql.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:  # busy
                raise Unavailable(
                    f"The log of {self.place.file!r} could not be emptied: another process is reading.",
                    next_step="End the other process, then try again.",
                )

    def missing(self) -> bool:
        """Whether the store is yet to be created. Raises: Corrupt, Refused, Unavailable."""
        return self.place.look() is None

    def confirm(self) -> None:
        """Make sure that the data just read would survive a power cut, before answering "already there".

        Another process may have written it and been killed before flushing the log.
        """
        if not self._flushed and self._change is None:
            with self.reading():
                if self.place.unmerged():
                    durable.sync(self.place.log)
                self._flushed = True

    def lost(self) -> int:
        noted = read_mark(self._mark)  # read before the store, which then has at least the facts in the mark
        with self.reading() as sql:
            if sql is None:
                return noted.stored - noted.removed
            stored, removed, rows = schema.totals(sql)
            known = self._known(stored, removed).highest(noted)
            return max(0, known.stored - known.removed - rows)

    def accept(self, recount: Callable[[Change], None]) -> None:
        """Take the facts as they are: none is missing from here on. ``recount`` counts them for ``state``."""
        lost = self.lost()
        remove_mark(self._mark)
        self._before = Mark()
        if lost and not self.missing():
            with self.changing() as change:
                recount(change)
            self._note()

    def _known(self, stored: int, removed: int) -> Mark:
        """This store's mark, including facts from before it was replaced or lost rows."""
        before = self._before or Mark()
        return Mark(stored + before.stored, removed + before.removed)

    def _note(self) -> None:
        if self._wrote and self._connection is not None:
            with contextlib.suppress(sqlite3.Error):
                note_mark(self._mark, self._known(*schema.totals(self._connection)[:2]))
                self._wrote = False

    def close(self) -> None:
        """Close the file. Its log is merged into it when no other process has it open."""
        if os.getpid() != self._pid:
            self._begin_anew()
        with self._mutex:
            self._note()
            self._drop()

    # --- transactions (the caller holds the mutex)

    def _start(self, sql: sqlite3.Connection | None) -> Change:
        """Begin a write transaction. A connection that turns out to be read-only is opened again, once."""
        sql = sql or self._create()
        try:
            self._begin(sql)
        except sqlite3.Error as error:
            if not faults.cannot_open(error):
                raise
            self._drop()
            sql = self._current() or self._create()
            self._begin(sql)
        try:
            gone, removed, last = sql.execute(_STATE).fetchone()
        except BaseException:
            self._undo(sql)
            raise
        self._changes_before, self._stored_state = sql.total_changes, (gone, removed)
        return Change(sql, last - gone, removed, last)

    def _begin(self, sql: sqlite3.Connection) -> None:
        if self._schema < 0:
            sql.execute("PRAGMA journal_mode = WAL")  # a copy made by VACUUM INTO, say, has another one
        sql.execute("BEGIN IMMEDIATE")
        try:
            if self._schema < 0:
                sql.execute("DELETE FROM facts WHERE 0")  # changes nothing, and fails when the connection is read-only
            stamp = schema.number(sql, "schema_version")
            if stamp != self._schema:  # another program may just have added a trigger
                schema.check(sql, self.place.path)
                self._schema = stamp
        except BaseException:
            self._undo(sql)
            raise

    def _commit(self, change: Change) -> None:
        state = (change.last - change.facts, change.removed)
        if state != self._stored_state:
            change.sql.execute("UPDATE state SET gone = ?, removed = ?", state)
        written = change.sql.total_changes > self._changes_before
        if not self._is_same_file():  # it can still be undone; in a file without a name nothing lasts
            raise Conflict(
                f"{self.place.file!r} was removed or replaced meanwhile. None of the change was kept.",
                next_step="Try again.",
            )
        change.sql.execute("COMMIT")
        self._flushed = self._flushed or written  # the log, with all that others wrote to it before
        self._wrote = self._wrote or written
        if not self._is_same_file():
            self._drop()

    def _is_same_file(self) -> bool:
        """Whether the open file is still the file at its path. Merging the log changes the file and is allowed for."""
        known = self._identity
        if known is None or self.place.still(known):
            return known is not None
        identity = self.place.look()
        if identity is None or identity[:2] != known[:2]:
            return False
        self._identity = identity
        return True

    def _undo(self, sql: sqlite3.Connection) -> None:
        try:
            if sql.in_transaction:
                sql.execute("ROLLBACK")
        except sqlite3.Error:
            self._drop()  # which undoes it, too

    # --- the connection (the caller holds the mutex)

    def _begin_anew(self) -> None:
        """Prepare a forked child, because SQLite's locks belong to the process that took them.

        The parent's connection is kept, because closing it here would affect the parent's files. The mutex may be held
        by a thread of the parent. Source: https://www.sqlite.org/howtocorrupt.html, section 2.6.
        """
        self._pid = os.getpid()
        self._mutex = threading.RLock()
        if self._connection is not None:
            self._inherited.append(self._connection)
        self._forget()

    def _current(self) -> sqlite3.Connection | None:
        """The connection to the current file, opened again when the file was replaced or changed."""
        known = self._identity
        if self._change is not None:
            return self._change.sql
        if known is not None and self.place.still(known) and not (self._immutable and self.place.unmerged()):
            return self._connection
        identity = self.place.look()
        if identity is None or known is None or identity[:2] != known[:2]:
            self._drop()
        if identity is None:
            return None
        # Merging the log changes the file, and so does damage, so cached data is not trusted.
        connection, immutable = opening.connect(self.place, self._timeout_s)
        self._drop()
        self._connection, self._identity, self._immutable = connection, identity, immutable
        if self._before is None:
            self._before = self._unknown(connection)
        return connection

    def _unknown(self, connection: sqlite3.Connection) -> Mark | None:
        """The difference between the mark and the store's own counts, as found by this process."""
        noted = read_mark(self._mark)  # before the store, otherwise concurrent additions would look like a loss
        if noted == Mark():
            return noted
        try:
            stored, removed, _ = schema.totals(connection)
        except sqlite3.Error:
            return None  # its users report the error
        return Mark(max(0, noted.stored - stored), max(0, noted.removed - removed))

    def _create(self) -> sqlite3.Connection:
        opening.create(self.place)
        made = self._current()
        if made is None:
            raise Unavailable(f"{self.place.file!r} vanished while it was made.", next_step="Try again.")
        return made

    def _drop(self) -> None:
        connection = self._connection
        self._forget()
        if connection is not None:
            with contextlib.suppress(sqlite3.Error):
                connection.close()
