"""Opening the database file, making it, and the settings that every connection gets."""

import contextlib
import os
import sqlite3
import sys
from collections.abc import Callable
from typing import Final

from holdfast.errors import Corrupt, Unavailable
from holdfast.fs import durable, safeopen
from holdfast.fs.safeopen import Folder
from holdfast_sqlite import faults, schema
from holdfast_sqlite.place import Place

#: Of a new store. Adding a fact changes a page in the table and in each of its indexes, so smaller pages mean less to
#: write and to flush; even smaller ones gain nothing more.
PAGE_BYTES: Final = 2048
#: Pages in the log before it is merged into the database: 8 MiB. A larger log means fewer extra flushes.
CHECKPOINT_PAGES: Final = 4000
#: Maximum wait for another process, in seconds.
WAIT_S: Final = 10.0
#: Of a database of another origin: bytes of a value, and of the file.
_LONGEST: Final = 64 << 20
_LARGEST: Final = 8 << 30
#: Steps of SQLite's machine for reading a schema. A store's schema takes a few hundred. Pages that name each other
#: could make it endless.
_STEPS: Final = 1_000_000
_PRAGMAS: Final = (
    "PRAGMA synchronous = FULL",
    "PRAGMA foreign_keys = ON",
    "PRAGMA trusted_schema = OFF",
    "PRAGMA cell_size_check = ON",
    "PRAGMA secure_delete = ON",  # deleted data does not stay in free pages
    "PRAGMA temp_store = MEMORY",
    "PRAGMA cache_size = -8000",  # KiB: memory does not grow with the store
    "PRAGMA journal_size_limit = 33554432",
    f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}",
    # On macOS an fsync leaves the data in the drive's cache.
    *(("PRAGMA fullfsync = ON", "PRAGMA checkpoint_fullfsync = ON") if sys.platform == "darwin" else ()),
)


def connect(place: Place, timeout_s: float) -> tuple[sqlite3.Connection, bool]:
    """A connection to the existing store, and whether it treats the file as immutable.

    Raises: sqlite3.Error; Corrupt, Refused and Unsupported when this code cannot use the store.
    """
    place.check_inside(place.folder)
    before = place.node()

    def check(sql: sqlite3.Connection) -> None:
        schema.check(sql, place.path)
        if place.node() != before:
            raise Unavailable(
                f"{place.file!r} was replaced while it was being opened.", next_step="Try again. Nothing changed."
            )

    if place.unmerged():
        # The schema with the log, read-only, because the last writable connection merges the log into the database when
        # it is closed. A log that came with a pull could bring a trigger.
        with contextlib.suppress(sqlite3.Error):
            _opened(place.database, "mode=ro", timeout_s, check).close()
    try:
        return _opened(place.database, "mode=rw", timeout_s, check), False
    except sqlite3.Error as error:
        # On a read-only file system SQLite cannot create its companion files. Without a log none is needed. With one,
        # ignoring it would show an older store.
        if not faults.cannot_open(error) or place.unmerged():
            raise
    return _opened(place.database, "mode=ro&immutable=1", timeout_s, check), True


def _opened(path: str, mode: str, timeout_s: float, check: Callable[[sqlite3.Connection], None]) -> sqlite3.Connection:
    """A connection that passed the check. Until then a schema without end is an error, and a trigger no program."""
    connection = sqlite3.connect(
        f"{_uri(path)}?{mode}", uri=True, timeout=timeout_s, isolation_level=None, check_same_thread=False
    )
    try:
        connection.set_progress_handler(lambda: 1, _STEPS)
        connection.setlimit(sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH, 0)
        if sys.version_info >= (3, 12):
            connection.setconfig(sqlite3.SQLITE_DBCONFIG_DEFENSIVE, True)
            connection.setconfig(sqlite3.SQLITE_DBCONFIG_ENABLE_TRIGGER, False)
            connection.setconfig(sqlite3.SQLITE_DBCONFIG_ENABLE_VIEW, False)
        for pragma in _PRAGMAS:
            connection.execute(pragma)
        check(connection)
        connection.set_progress_handler(None, 0)
    except BaseException:
        connection.close()
        raise
    return connection


def foreign(path: str, shown: str) -> sqlite3.Connection:
    """A read-only connection to a database of any origin, whose tables are known to be a store's.

    It is trusted for nothing else. Raises: sqlite3.Error; Corrupt; Unsupported.
    """
    if os.stat(path).st_size > _LARGEST:
        raise Corrupt(f"{shown} is larger than 8 GiB.", next_step=faults.RESTORE)

    def check(sql: sqlite3.Connection) -> None:
        sql.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST)
        sql.execute("PRAGMA query_only = ON")
        schema.check_tables(sql, shown, lenient=True)
        sql.set_progress_handler(None, 0)
        if sql.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):  # each page is used once
            raise Corrupt(f"{shown} is damaged.", next_step=faults.RESTORE)

    return _opened(path, "mode=ro", WAIT_S, check)


def create(place: Place) -> None:
    """Create a complete, empty store atomically, because an existing empty file counts as damaged.

    Raises: sqlite3.Error; Refused; Unavailable.
    """
    place.check_inside(place.folder)
    place.make_folder(place.folder)
    name = f"{durable.TEMP_PREFIX}{os.getpid()}-{os.urandom(6).hex()}{durable.TEMP_SUFFIX}"
    temp = os.path.join(place.folder, name)
    with durable.reporting(place.database, "make"):
        os.close(safeopen.open_fd(temp, os.O_RDWR | os.O_CREAT | os.O_EXCL))
        try:
            # It makes no file: where the folder has just been replaced by a link, there is none of this name.
            made = sqlite3.connect(f"{_uri(temp)}?mode=rw", uri=True, isolation_level=None)
            with contextlib.closing(made) as connection:
                connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
                schema.create(connection)
                connection.execute("PRAGMA journal_mode = WAL")
            durable.sync(temp)
            # Not by a hard link, because a crash could leave both names, and a database with several names is refused.
            with durable.FolderLock(place.folder, WAIT_S), Folder(place.folder) as folder:
                if not os.path.lexists(place.database):  # else another process was first with an equal store
                    folder.take(place.file, folder, name)
        finally:
            for end in ("", "-wal", "-shm", "-journal"):
                with contextlib.suppress(OSError):
                    os.unlink(temp + end)
    durable.fsync_dir(place.folder)


def _uri(path: str) -> str:
    """Source: https://www.sqlite.org/uri.html, section 3.1."""
    path = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    if os.name == "nt":
        path = "/" + path.replace("\\", "/")
    return f"file:{path}"
