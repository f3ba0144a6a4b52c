"""The storage contract on PostgreSQL (docs/storage-contract.md)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import ClassVar, Final

from attrs import asdict, fields_dict, frozen

from holdfast.config import serde
from holdfast.errors import ConfigError, Conflict
from holdfast.storage import Add, Append, Capability, Change, Committed, Condition, Remove, Update, Write, no_fact
from holdfast_keys import origins, secrets
from holdfast_postgres.database import Database, Row, Statement, reading
from holdfast_postgres.documents import Documents, found, is_there
from holdfast_postgres.facts import Execute, Facts, fact_of
from holdfast_postgres.schema import LATEST

_MOST_CHARS: Final = 200


@frozen(kw_only=True)
class Options:
    """The keys of ``[storage]`` for this backend."""

    server: str
    namespace: str
    timeout_s: float = 10.0
    connections: int = 4


def from_options(
    root: str | os.PathLike[str], path: str, options: Mapping[str, object], env: Mapping[str, str] | None = None
) -> PostgresBackend:
    """The backend as ``[storage]`` describes it; keys of other backends are left alone. Raises: ConfigError."""
    given = {key: options[key] for key in fields_dict(Options) if key in options}
    made = serde.structure(given, Options, what="`[storage]`", next_step="See docs/teams.md.")
    find = partial(_password, dict(os.environ if env is None else env), made.server, root)
    return PostgresBackend(root, password=find, **asdict(made))


def _password(env: Mapping[str, str], server: str, root: str | os.PathLike[str]) -> str:
    """The password for the server, read when connecting, from the environment or otherwise the keyring. Empty when
    libpq should look for one (PGPASSWORD, a password file). Raises: KeyringUnusable; AddressNotTrusted."""
    own = env.get("HOLDFAST_POSTGRES_PASSWORD", "")
    usual = os.path.join(os.path.expanduser("~"), ".pgpass")
    if own or env.get("PGPASSWORD") or env.get("PGPASSFILE") or os.path.exists(usual):
        return own
    try:
        origin = origins.of(server, "storage.server")
    except ConfigError:
        return ""  # a socket has no origin
    try:
        return secrets.get("postgres", env, origin=origin, root=root, settings=("storage.server",)) or ""
    except secrets.AddressNotTrusted:
        raise
    except secrets.KeyNotSent:
        return ""  # the stored passwords are for other servers


class PostgresBackend(Documents, Facts):
    """Documents and facts of ``namespace`` in the database that ``server`` names.

    ``server`` is a URL without a password, which calling ``password`` supplies when connecting. ``timeout_s`` limits
    connecting and one call, in seconds. ``connections`` is this process's maximum number of connections, and further
    threads wait. No request is sent before the first call, and reading creates nothing.
    """

    name: ClassVar[str] = "postgres"
    capabilities: ClassVar[frozenset[Capability]] = frozenset(
        {Capability.REMOTE, Capability.SEARCH, Capability.TRANSACTIONS}
    )

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        server: str,
        namespace: str,
        password: Callable[[], str] | None = None,
        timeout_s: float = 10.0,
        connections: int = 4,
    ) -> None:
        """Raises: ConfigError."""
        if connections < 1 or timeout_s <= 0:
            raise ConfigError("storage.connections and storage.timeout_s must be above 0.", next_step="Correct them.")
        if not namespace.strip() or len(namespace) > _MOST_CHARS or not namespace.isprintable():
            raise ConfigError(
                "storage.namespace is not a usable name.", next_step='Write it like "team/project", in one line.'
            )
        self._database = Database(server, namespace, password=password, timeout_s=timeout_s, connections=connections)

    @property
    def database(self) -> Database:
        """The server and the namespace."""
        return self._database

    def __repr__(self) -> str:
        return f"PostgresBackend({self._database.server!r}, {self._database.namespace!r})"

    def commit(self, changes: Sequence[Change] = (), *, names: Iterable[str] = (), listing: bool = False) -> Committed:
        if len({isinstance(one, Append | Write) for one in changes}) > 1:
            raise ValueError("the changes are of documents and of facts")
        wanted = list(dict.fromkeys([*(one.name for one in changes if isinstance(one, Append | Write)), *names]))
        after = [self._asked(wanted)] if wanted else []
        after += [self._listing()] if listing else []
        if any(isinstance(one, Update) for one in changes):
            made = reading(lambda: self._database.change(lambda execute: self._in_turn(changes, execute)))
            if made is None:  # nothing was ever written, so the fact is missing
                raise no_fact(next(one.fact_id for one in changes if isinstance(one, Update)))
            read = self._database.commit([], after)
        else:
            made, read = self._at_once(changes, wanted, after)
        pairs = list(zip(changes, made, strict=True))
        return Committed(
            documents=found(wanted, read[0]) if wanted else {},
            facts=list(map(fact_of, read[-1])) if listing else [],
            added=[self._result(one, rows[0]) for one, rows in pairs if isinstance(one, Add)],
            updated=[fact_of(rows[0]) for one, rows in pairs if isinstance(one, Update)],
            removed=[fact_of(rows[0]) if rows else None for one, rows in pairs if isinstance(one, Remove)],
        )

    def _at_once(
        self, changes: Sequence[Change], wanted: Sequence[str], after: list[Statement]
    ) -> tuple[list[list[Row]], list[list[Row]]]:
        """Make the changes and read, in one round trip. The rows of both."""
        statements = list(map(self._statement, changes))
        try:
            rows = self._database.commit(statements, after)
        except Conflict:  # was this the lost answer of the first try?
            if not self._database.was_repeated:
                raise
            rows = [[] for _ in statements] + self._database.run(*after)
            stored = found(wanted, rows[len(statements)])
            if not all(is_there(one, stored[one.name]) for one in changes if isinstance(one, Append | Write)):
                raise
        return rows[: len(statements)], rows[len(statements) :]

    def _statement(self, one: Change) -> Statement:
        assert not isinstance(one, Update)
        return self._document_statement(one) if isinstance(one, Append | Write) else self._fact_statement(one)

    def _in_turn(self, changes: Sequence[Change], execute: Execute) -> list[list[Row]]:
        """Make the changes one after another inside of a transaction. The rows of each."""
        return [
            self._update(one, execute) if isinstance(one, Update) else execute(*self._statement(one)) for one in changes
        ]

    def check(self, *, thorough: bool = False) -> Condition:
        return Condition(version=(self._database.version(), LATEST)) if thorough else Condition()

    def repair(self) -> None:
        self._database.create()

    def compact(self) -> None:
        self._database.vacuum()

    def where(self, name: str = "") -> str:
        address = f"{self._database.server}#{self._database.namespace}"
        return f"{address}/{name}" if name else address

    def close(self) -> None:
        self._database.close()
