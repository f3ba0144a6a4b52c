"""One connection, used from any thread. Each call is one transaction in one round trip, and is safe to repeat.

Nothing depends on the state of a connection (no prepared statements, no session settings), so PgBouncer in transaction
mode may stand between.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import urlsplit, urlunsplit

from holdfast.errors import ConfigError, HoldfastError, PluginLoadFailed, Unsupported
from holdfast_postgres import faults, schema

if TYPE_CHECKING:
    import psycopg

T = TypeVar("T")
Statement = tuple[str, Sequence[object]]
Row = tuple[Any, ...]

#: How often a call is repeated after a lost connection or a deadlock.
_TRIES: Final = 3
#: No such table, no such schema; and a row that its own writer could not see, since its namespace is not there.
_MISSING: Final = ("42P01", "3F000", "42501", "22012")
_DENIED, _UNLOCKED = "42501", "22012"
#: Locks the namespace's row. Without that row it fails (by dividing by zero), so that nothing after it takes effect.
_LOCK: Final = """SELECT 1 / count(*) FROM (
    SELECT 1 FROM holdfast.namespaces WHERE namespace = %s FOR UPDATE) AS locked"""


class Database:
    """The server, and the namespace of one project. Opened by the first call."""

    def __init__(self, server: str, namespace: str, *, password: str = "", timeout_s: float = 10.0) -> None:
        """Raises: ConfigError for an address that cannot be one."""
        parts = urlsplit(server)
        if parts.scheme not in ("postgresql", "postgres") or (not parts.hostname and "host=" not in parts.query):
            raise ConfigError(
                "storage.server is not the address of a PostgreSQL server.",
                next_step='Write it like "postgresql://user@db.example/database".',
            )
        if parts.password or "password=" in parts.query:
            raise ConfigError(
                "storage.server holds a password, which does not belong in a file.",
                next_step="Remove it there, and set HOLDFAST_POSTGRES_PASSWORD or use a password file (~/.pgpass).",
            )
        self.server = urlunsplit((parts.scheme, parts.netloc, parts.path, "", ""))
        self.namespace = namespace
        self._address, self._password, self._timeout_s = server, password, timeout_s
        self._lock = threading.RLock()
        self._connection: psycopg.Connection[Row] | None = None
        self._pid = os.getpid()
        self._local = threading.local()

    @property
    def was_repeated(self) -> bool:
        """Whether this thread's last call was sent more than once, because an answer was lost."""
        return getattr(self._local, "tries", 1) > 1

    def run(self, *statements: Statement) -> list[list[Row]]:
        """The rows of each statement, all in one transaction. Raises: Unavailable, Refused."""
        return self._repeated(lambda connection: self._sent(connection, statements))

    def change(self, work: Callable[[Callable[..., list[Row]]], T]) -> T:
        """Call ``work`` with a function that runs one statement, inside of a transaction that holds the namespace's
        lock. ``work`` may be called again after a lost connection. Raises: as :meth:`run`, and what ``work`` raises."""

        def locked(connection: psycopg.Connection[Row]) -> T:
            with connection.transaction():

                def execute(query: str, values: Sequence[object] = ()) -> list[Row]:
                    cursor = connection.execute(query, values)
                    return cursor.fetchall() if cursor.description else []

                self._limit(execute)
                execute(*self.lock_statement())
                return work(execute)

        return self._repeated(locked)

    def lock_statement(self) -> Statement:
        """Locks the namespace's row until the transaction ends."""
        return _LOCK, (self.namespace,)

    def prepare(self) -> None:
        """Create or upgrade the tables, and the namespace's row. Raises: Unavailable, Unsupported, Refused."""
        self._repeated(self._prepared, tables=False)

    def vacuum(self) -> None:
        """Return the space of deleted rows. Raises: Unavailable."""

        def full(connection: psycopg.Connection[Row]) -> None:
            connection.execute("VACUUM holdfast.documents, holdfast.facts")

        reading(lambda: self._repeated(full))

    @property
    def is_local(self) -> bool:
        """Whether the server's address is on this machine: a socket, or the loopback."""
        host = urlsplit(self.server).hostname or ""
        return host in ("", "localhost", "::1") or host.startswith("127.")

    def is_encrypted(self) -> bool:
        """Whether the connection uses TLS. Raises: Unavailable."""
        return self._repeated(lambda connection: connection.pgconn.ssl_in_use, tables=False)

    def close(self) -> None:
        with self._lock:
            if self._connection is not None and self._pid == os.getpid():
                self._connection.close()
            self._connection = None

    # one call

    def _sent(self, connection: psycopg.Connection[Row], statements: Sequence[Statement]) -> list[list[Row]]:
        # Without BEGIN: the server commits a pipeline as one transaction at its end, and answers only then.
        with connection.pipeline():
            self._limit(connection.execute)
            cursors = [connection.execute(query, values) for query, values in statements]
        return [cursor.fetchall() if cursor.description else [] for cursor in cursors]

    def _limit(self, execute: Callable[..., object]) -> None:
        """Limits for this transaction alone: a setting of the session would outlive it behind PgBouncer."""
        ms = str(int(self._timeout_s * 1000))
        execute("SELECT set_config('statement_timeout', %s, true), set_config('lock_timeout', %s, true)", (ms, ms))

    def _repeated(self, call: Callable[[psycopg.Connection[Row]], T], *, tables: bool = True) -> T:
        """``call`` with the open connection, again after a lost one or a deadlock: every call is safe to repeat."""
        psycopg = _driver()
        with self._lock:
            for number in range(_TRIES):
                self._local.tries = number + 1
                try:
                    return call(self._open())
                except psycopg.Error as error:
                    state = error.sqlstate or ""
                    lost = self._connection is not None and self._connection.closed
                    if tables and state in _MISSING:
                        if state not in (_DENIED, _UNLOCKED) and self._has_version():
                            raise faults.damaged(self.server) from error
                        raise _NoTables(self, error) from error
                    again = lost or state.startswith("40")
                    if lost or isinstance(error, psycopg.OperationalError):
                        self._drop()
                    if number + 1 == _TRIES or not again:
                        raise faults.translated(error, self.server) from error
        raise AssertionError("unreachable")

    def _open(self) -> psycopg.Connection[Row]:
        if self._pid != os.getpid():  # a fork must not use its parent's connection
            self._connection, self._pid = None, os.getpid()
        if self._connection is None or self._connection.closed:
            psycopg = _driver()
            given: dict[str, Any] = {"password": self._password} if self._password else {}
            self._connection = psycopg.connect(
                self._address,
                autocommit=True,
                prepare_threshold=None,
                connect_timeout=max(2, int(self._timeout_s)),
                application_name="holdfast",
                tcp_user_timeout=int(self._timeout_s * 1000),
                **encryption(self._address),
                **given,
            )
            # Under a stricter default of the server a snapshot would be older than the lock that it waited for.
            self._connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
        return self._connection

    def _has_version(self) -> bool:
        found = self._open().execute("SELECT to_regclass('holdfast.version') IS NOT NULL").fetchone()
        return bool(found and found[0])

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _prepared(self, connection: psycopg.Connection[Row]) -> None:
        known = connection.execute("SELECT to_regclass('holdfast.version') IS NOT NULL").fetchone()
        version = 0
        if known and known[0]:
            found = connection.execute(schema.VERSION).fetchone()
            version = int(found[0] or 0) if found else 0
        if version > schema.LATEST:
            raise Unsupported(
                f"{self.server} has schema {version}, and this version of holdfast knows none above {schema.LATEST}.",
                next_step="Upgrade holdfast; nothing was changed.",
            )
        if version < schema.LATEST:
            with connection.transaction():
                connection.execute("SELECT pg_advisory_xact_lock(%s)", (schema.LOCK,))
                for statement in schema.BEGIN:
                    connection.execute(statement)
                found = connection.execute(schema.VERSION).fetchone()  # another process may have been quicker
                for number in range(int(found[0] or 0) if found else 0, schema.LATEST):
                    for statement in schema.STEPS[number]:
                        connection.execute(statement)
                    connection.execute("INSERT INTO holdfast.version VALUES (%s)", (number + 1,))
        connection.execute(
            "INSERT INTO holdfast.namespaces (namespace) VALUES (%s) ON CONFLICT (namespace) DO NOTHING",
            (self.namespace,),
        )
        own = connection.execute("SELECT 1 FROM holdfast.namespaces WHERE namespace = %s", (self.namespace,))
        if not own.fetchall():
            raise faults.foreign(self.namespace, self.server)


def encryption(address: str) -> dict[str, str]:
    """TLS parameters for an address that names none: another machine's server must prove its name, by the system's
    certificates. libpq alone would fall back to plain text."""
    parts = urlsplit(address)
    named = "sslmode=" in parts.query or "PGSSLMODE" in os.environ
    is_local = parts.hostname in (None, "localhost", "127.0.0.1", "::1")
    return {} if named or is_local else {"sslmode": "verify-full", "sslrootcert": "system"}


def _driver() -> ModuleType:
    """psycopg. Raises: PluginLoadFailed without it."""
    try:
        import psycopg
    except ImportError as error:
        raise PluginLoadFailed(
            "The PostgreSQL backend needs psycopg.", next_step="Install it: `pip install 'holdfast[postgres]'`."
        ) from error
    return psycopg


class _NoTables(Exception):
    """The tables or the namespace's row are missing, or the server denies access to them."""

    def __init__(self, database: Database, error: psycopg.Error | None = None) -> None:
        super().__init__()
        self.database = database
        self.error = error

    @property
    def is_denied(self) -> bool:
        return self.error is not None and self.error.sqlstate == _DENIED

    def told(self) -> HoldfastError:
        """The error for a user."""
        if self.error is not None and self.error.sqlstate != _UNLOCKED:
            return faults.translated(self.error, self.database.server)
        return faults.foreign(self.database.namespace, self.database.server)


def writing(database: Database, call: Callable[[], T]) -> T:
    """``call``, which writes. Tables and namespace are made when they are missing."""
    try:
        return call()
    except _NoTables:
        database.prepare()
    try:
        return call()
    except _NoTables as missing:
        raise missing.told() from missing


def reading(call: Callable[[], T]) -> T | None:
    """``call``, or None for a store that was never written to."""
    try:
        return call()
    except _NoTables as missing:
        if missing.is_denied:
            raise missing.told() from missing
        return None
