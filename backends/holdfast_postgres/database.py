"""The server and one namespace in it. Each call is one transaction in one round trip, and is safe to repeat.

Nothing depends on connection state (no prepared statements, no session settings), so the connection may go through
PgBouncer in transaction mode.
"""

from __future__ import annotations

import ipaddress
import os
import random
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import parse_qsl, urlsplit

from holdfast.errors import ConfigError, Corrupt, PluginLoadFailed, Unsupported
from holdfast.storage import time_left
from holdfast_keys.faults import within
from holdfast_memory import extra
from holdfast_postgres import faults, schema

if TYPE_CHECKING:
    import psycopg

    from holdfast_postgres.pool import Connection, Pool

T = TypeVar("T")
Statement = tuple[str, Sequence[object]]
Row = tuple[Any, ...]

#: How often a call is sent after a lost connection, and after a deadlock or a serialization failure.
_TRIES: Final = 3
_TRIES_AGAINST_OTHERS: Final = 30
_SHORTEST_S: Final = 0.05
#: Access denied. If the namespace's row is missing, nothing was written yet or another role owns the namespace.
_DENIED, _NO_ROW = "42501", "HF001"
#: Missing schema, table, column or function. It was never created, or is damaged.
_MISSING: Final = ("3F000", "42P01", "42703", "42883")
_CHECK: Final = "SELECT holdfast.check_access(%s)"
_CLAIM: Final = "INSERT INTO holdfast.namespaces (namespace) VALUES (%s) ON CONFLICT (namespace) DO NOTHING"


class Address:
    """``url`` is an address as libpq reads it, with one or several hosts, and without a password."""

    def __init__(self, url: str) -> None:
        """Raises: ConfigError."""
        parts = urlsplit(url)
        self._options = dict(parse_qsl(parts.query))
        _, _, places = parts.netloc.rpartition("@")
        self._hosts = [_host(place) for place in (self._options.get("host") or places).split(",")]
        if parts.scheme not in ("postgresql", "postgres") or (not places and "host" not in self._options):
            raise ConfigError(
                "storage.server is not a PostgreSQL server address.",
                next_step='Write it like "postgresql://user@db.example/database".',
            )
        if parts.password or "password" in self._options:
            raise ConfigError(
                "storage.server holds a password, which does not belong in a file.",
                next_step="Remove it there, and store it with `holdfast auth set postgres`, in"
                " HOLDFAST_POSTGRES_PASSWORD or in a password file (~/.pgpass).",
            )
        self.url = url
        #: For people, receipts and error messages.
        self.shown = f"{parts.scheme}://{places}{parts.path}"

    @property
    def is_local(self) -> bool:
        """Whether every host is this machine, through a socket or the loopback."""
        return all(map(_is_local, self._hosts))

    def encryption(self) -> dict[str, str]:
        """TLS parameters for an address that names none: another machine's server must prove its name, by the system's
        certificates. libpq alone would fall back to plain text."""
        if self.is_local or "sslmode" in self._options or "PGSSLMODE" in os.environ:
            return {}
        has_root = "sslrootcert" in self._options or "PGSSLROOTCERT" in os.environ
        return {"sslmode": "verify-full", **({} if has_root else {"sslrootcert": "system"})}


def _host(place: str) -> str:
    if place.startswith("["):
        return place[1:].partition("]")[0]
    return place.partition(":")[0] if place.count(":") == 1 else place


def _is_local(host: str) -> bool:
    if host in ("", "localhost") or host.startswith(("/", "%2F", "%2f", "@")):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Database:
    """The server and a project's namespace. Opened by the first call, usable from any thread.

    ``connections`` is this process's maximum number of connections.
    """

    def __init__(
        self, server: str, namespace: str, *, password: Callable[[], str] | None, timeout_s: float, connections: int
    ) -> None:
        """Raises: ConfigError for an address that cannot be one."""
        self.address = Address(server)
        self.namespace = namespace
        self._password, self._timeout_s, self._size = password, timeout_s, connections
        self._pool: Pool | None = None
        self._making = threading.Lock()
        self._local = threading.local()

    @property
    def server(self) -> str:
        """Server and database for people, without a user: ``postgresql://host/database``."""
        return self.address.shown

    @property
    def was_repeated(self) -> bool:
        """Whether this thread's last call was sent more than once, because an answer was lost."""
        return getattr(self._local, "tries", 1) > 1

    def run(self, *statements: Statement, after: Sequence[Statement] = ()) -> list[list[Row]]:
        """The rows from each statement, all in one transaction, then those from ``after``.

        ``after`` runs in a second transaction, started after the first has committed. All in one round trip. Row
        security would only hide another role's rows, so access is checked first.
        Raises: Unavailable, Refused, Conflict, Corrupt.
        """
        checked = ((_CHECK, (self.namespace,)), *statements)
        return self._repeated(lambda connection: self._sent(connection, checked, after))[1:]

    def ask(self, *statements: Statement) -> list[list[Row]]:
        """Like :meth:`run`, without a check of the namespace. Raises: as :meth:`run`."""
        return self._repeated(lambda connection: self._sent(connection, statements, ()))

    def change(self, work: Callable[[Callable[..., list[Row]]], T]) -> T:
        """Call ``work`` with a function that runs one statement, inside of a transaction that holds the namespace's
        lock. ``work`` may be called again after a lost connection. Raises: as :meth:`run`, and what ``work`` raises."""

        def locked(connection: Connection) -> T:
            with connection.transaction():

                def execute(query: str, values: Sequence[object] = ()) -> list[Row]:
                    cursor = connection.execute(query, values)
                    return cursor.fetchall() if cursor.description else []

                self._limit(connection.execute)
                execute(f"{_CHECK}, holdfast.lock_namespace(%s)", (self.namespace, self.namespace))
                return work(execute)

        return self._repeated(locked)

    def commit(self, *made: Statement, after: Sequence[Statement] = ()) -> list[list[Row]]:
        """Like :meth:`run`. Tables and the namespace's row are made when they are missing. Raises: also Unsupported."""
        try:
            return self.run(*made, after=after)
        except NoTables:
            self._repeated(self._prepared, tables=False)
        try:
            return self.run(*made, after=after)
        except NoTables as missing:
            raise missing.error from missing

    def read(self, *statements: Statement) -> list[list[Row]]:
        """Like :meth:`run`. A store that was never written to has no rows."""
        rows = reading(lambda: self.run(*statements)) if statements else None
        return rows or [[] for _ in statements]

    def create(self) -> None:
        """Make the tables if there are none, one process at a time. Raises: Unavailable, Unsupported."""
        self._repeated(self._created, tables=False)

    def version(self) -> int:
        """The schema's version; 0 when there is none. Raises: Unavailable."""
        return self._repeated(_version, tables=False)

    def vacuum(self) -> None:
        """Return the space of deleted rows. Raises: Unavailable."""

        def full(connection: Connection) -> None:
            connection.execute(_CHECK, (self.namespace,))
            connection.execute("VACUUM holdfast.documents, holdfast.facts")

        reading(lambda: self._repeated(full))

    def is_encrypted(self) -> bool:
        """Whether the connection uses TLS. Raises: Unavailable."""
        return self._repeated(lambda connection: connection.pgconn.ssl_in_use, tables=False)

    def close(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.drop()

    # one call

    def _sent(
        self, connection: Connection, statements: Sequence[Statement], after: Sequence[Statement]
    ) -> list[list[Row]]:
        # At the server's own default, which may be serializable, writers that wait for one lock would fail each other.
        cursors: list[psycopg.Cursor[Row]] = []
        with connection.pipeline():
            if statements:
                connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED")
                self._limit(connection.execute)
                cursors += [connection.execute(query, values) for query, values in statements]
                connection.execute("COMMIT")
            if after:
                self._limit(connection.execute)
                cursors += [connection.execute(query, values) for query, values in after]
        return [cursor.fetchall() if cursor.description else [] for cursor in cursors]

    def _limit(self, execute: Callable[..., object]) -> None:
        """Limits for this transaction alone. With PgBouncer, a session setting would outlive the transaction."""
        ms = self.patience()
        execute("SELECT set_config('statement_timeout', %s, true), set_config('lock_timeout', %s, true)", (ms, ms))

    def patience(self) -> str:
        """The maximum time for one lock now, in milliseconds."""
        return str(max(1, int(self._left() * 1000)))

    def _left(self) -> float:
        return max(_SHORTEST_S, min(self._timeout_s, time_left()))

    def _repeated(self, call: Callable[[Connection], T], *, tables: bool = True) -> T:
        """``call`` with a connection, again after a lost one or a deadlock: every call is safe to repeat."""
        psycopg, pool = driver(), self._opened()
        from holdfast_postgres.pool import TimedOut

        for number in range(1, _TRIES_AGAINST_OTHERS + 1):
            self._local.tries = number
            lost = False
            try:
                with pool.connection(self._left()) as connection:
                    try:
                        return call(connection)
                    finally:
                        lost = connection.closed
            except psycopg.Error as error:
                state = error.sqlstate or ""
                if lost:
                    pool.drop()
                if tables and state in (_DENIED, _NO_ROW):
                    raise NoTables(self, error) from error
                if tables and state in _MISSING:
                    fault = faults.damaged(self.server) if self.version() else NoTables(self, error)
                    if number == 1 and isinstance(fault, Corrupt):
                        continue  # another process may have made the tables since
                    raise fault from error
                met = state.startswith("40")
                if not met and (number >= _TRIES or not lost or isinstance(error, TimedOut)):
                    raise faults.translated(error, self.server) from error
                if number == _TRIES_AGAINST_OTHERS or self._left() <= _SHORTEST_S:
                    raise faults.translated(error, self.server) from error
                if met:
                    time.sleep(random.random() * 0.01 * number)  # noqa: S311 - not a secret
        raise AssertionError("unreachable")

    def _opened(self) -> Pool:
        if self._pool is None:
            from holdfast_postgres.pool import Pool

            with self._making:
                self._pool = self._pool or Pool(self._connected, self._size)
        return self._pool

    def _connected(self, limit_s: float) -> Connection:
        from holdfast_postgres.pool import Connection, TimedOut

        limit_s, options = max(2, limit_s), dict[str, Any](self.address.encryption())  # libpq rounds 1 up to 2
        if self._password is not None and (password := self._password()):
            options["password"] = password
        connect = partial(
            Connection.connect,
            self.address.url,
            autocommit=True,
            prepare_threshold=None,
            connect_timeout=int(limit_s),
            application_name="holdfast",
            tcp_user_timeout=int(self._timeout_s * 1000),
            **options,
        )
        try:
            connection = within(limit_s, connect)  # libpq looks names up without a limit
        except TimeoutError as error:
            raise TimedOut("no connection") from error
        # Under a stricter default of the server a snapshot would be older than the lock that it waited for.
        connection.isolation_level = driver().IsolationLevel.READ_COMMITTED
        return connection

    # the tables

    def _prepared(self, connection: Connection) -> None:
        errors = driver().errors
        try:
            claim = connection.execute(_CLAIM, (self.namespace,))
        except (errors.UndefinedTable, errors.InvalidSchemaName):
            self._created(connection)
            claim = connection.execute(_CLAIM, (self.namespace,))
        if not claim.rowcount:
            connection.execute(_CHECK, (self.namespace,))

    def _created(self, connection: Connection) -> None:
        before, errors = _version(connection), driver().errors
        if not before:
            try:
                with connection.transaction():
                    connection.execute("SELECT pg_advisory_xact_lock(%s)", (schema.LOCK,))
                    for statement in schema.BEGIN:  # so that this connection sees another process's tables, too
                        connection.execute(statement)
                    before = _version(connection)
                    for statement in () if before else schema.TABLES:
                        connection.execute(statement)
            except errors.InsufficientPrivilege as error:  # a member may use tables, and make none
                raise errors.UndefinedTable from error
        if before not in (0, schema.LATEST):
            raise Unsupported(
                f"{self.server} has schema {before}, and this version of holdfast knows only {schema.LATEST}.",
                next_step="Use the version of holdfast that made it. This one changed nothing.",
            )


def _version(connection: Connection) -> int:
    known = connection.execute("SELECT to_regclass('holdfast.version') IS NOT NULL").fetchone()
    if not known or not known[0]:
        return 0
    row = connection.execute(schema.VERSION).fetchone()
    return int(row[0] or 0) if row else 0


def driver() -> ModuleType:
    """psycopg. Raises: PluginLoadFailed without it."""
    try:
        import psycopg
    except ImportError as error:
        raise PluginLoadFailed(
            "The PostgreSQL backend needs psycopg.", next_step=f"Install it: `{extra('postgres')}`."
        ) from error
    return psycopg


class NoTables(Exception):
    """The tables or the namespace's row are missing, or the server denies access to them. ``error`` is for the user."""

    def __init__(self, database: Database, error: psycopg.Error) -> None:
        super().__init__()
        self.is_denied, server = error.sqlstate == _DENIED, database.server
        is_row = error.sqlstate == _NO_ROW
        self.error = faults.foreign(database.namespace, server) if is_row else faults.translated(error, server)


def reading(call: Callable[[], T]) -> T | None:
    """``call``, or None for a store that was never written to."""
    try:
        return call()
    except NoTables as missing:
        if missing.is_denied:
            raise missing.error from missing
        return None
