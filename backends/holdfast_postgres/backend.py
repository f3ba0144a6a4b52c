"""The storage contract on PostgreSQL (docs/storage-contract.md)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, ClassVar, Final

from holdfast.errors import ConfigError
from holdfast.models import AddResult, Fact
from holdfast.storage import Append, Capability, ComposedBackend, Document, Hit, Version, Write
from holdfast_postgres.database import Database
from holdfast_postgres.documents import Documents
from holdfast_postgres.facts import Facts

_KINDS: Final[Mapping[str, tuple[type, ...]]] = {
    "server": (str,),
    "namespace": (str,),
    "timeout_s": (int, float),
    "connections": (int,),
}
_MOST_CHARS: Final = 200


def from_options(
    root: str | os.PathLike[str], path: str, options: Mapping[str, object], env: Mapping[str, str] | None = None
) -> PostgresBackend:
    """The backend as ``[storage]`` describes it; keys of other backends are left alone. Raises: ConfigError."""
    from holdfast.config.no_secrets import check_table

    check_table("storage", options, "postgres")
    given: dict[str, Any] = {key: options[key] for key in _KINDS if key in options}
    for key, value in given.items():
        if not isinstance(value, _KINDS[key]) or isinstance(value, bool):
            kinds = " or ".join(kind.__name__ for kind in _KINDS[key])
            raise ConfigError(f"storage.{key}: expected {kinds}, got {type(value).__name__}.")
    for key in ("server", "namespace"):
        if key not in given:
            raise ConfigError(f"storage.{key} is missing.", next_step=f"Add `{key}` to `[storage]`; see docs/teams.md.")
    find = partial(_password, dict(os.environ if env is None else env), given["server"], root)
    return PostgresBackend(root, password=find, **given)


def _password(env: Mapping[str, str], server: str, root: str | os.PathLike[str]) -> str:
    """The password for the server, read when connecting, from the environment or otherwise the keyring. Empty when
    libpq should look for one (PGPASSWORD, a password file). Raises: KeyringUnusable; AddressNotTrusted."""
    own = env.get("HOLDFAST_POSTGRES_PASSWORD", "")
    usual = os.path.join(os.path.expanduser("~"), ".pgpass")
    if own or env.get("PGPASSWORD") or env.get("PGPASSFILE") or os.path.exists(usual):
        return own
    from holdfast_keys import origins, secrets

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


class PostgresBackend(ComposedBackend[Documents, Facts]):
    """Documents and facts of ``namespace`` in the database that ``server`` names.

    ``server`` is a URL without a password, which calling ``password`` supplies when connecting. ``timeout_s`` limits
    connecting and one call, in seconds. ``connections`` is this process's maximum number of connections, and further
    threads wait. No request is sent before the first call, and reading creates nothing.
    """

    name: ClassVar[str] = "postgres"
    capabilities: ClassVar[frozenset[Capability]] = frozenset(
        {
            Capability.CONCURRENT_WRITERS,
            Capability.HISTORY,
            Capability.REMOTE,
            Capability.SEARCH,
            Capability.TOGETHER,
        }
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
        super().__init__(Documents(self._database), Facts(self._database))

    @property
    def database(self) -> Database:
        """The server and the namespace."""
        return self._database

    def __repr__(self) -> str:
        return f"PostgresBackend({self._database.server!r}, {self._database.namespace!r})"

    def read_many(self, names: Iterable[str]) -> Mapping[str, Document | None]:
        return self._documents.read_many(names)

    def read_and_list(self, names: Iterable[str]) -> tuple[Mapping[str, Document | None], list[Fact]]:
        documents, (rows,) = self._documents.read_and(names, self._facts.listing())
        return documents, self._facts.read(rows)

    def last(self, prefix: str) -> Document | None:
        return self._documents.last(prefix)

    def apply(self, changes: Sequence[Append | Write]) -> Mapping[str, Document | None]:
        return self._documents.apply(changes)

    def apply_and_list(self, changes: Sequence[Append | Write]) -> tuple[Mapping[str, Document | None], list[Fact]]:
        documents, (rows,) = self._documents.apply_and(changes, self._facts.listing())
        return documents, self._facts.read(rows)

    def history(self, name: str, limit: int = 20) -> list[Version]:
        return self._documents.history(name, limit)

    def add_facts(self, facts: Sequence[Fact], limit: int) -> list[AddResult | None]:
        return self._facts.add_many(facts, limit)

    def replace_facts(self, facts: Sequence[Fact], limit: int, older: Sequence[str]) -> list[AddResult | None]:
        return self._facts.add_many(facts, limit, older)

    def change_source(self, fact_id: str, change: Callable[[str], str]) -> Fact:
        return self._facts.update(fact_id, None, None, None, change)

    def strongest(self, limit: int | None = None) -> Iterator[Fact]:
        return self._facts.strongest(limit)

    def search(self, query: str, limit: int = 20) -> list[Hit]:
        return self._facts.search(query, limit)

    def within(self, limit_s: float) -> AbstractContextManager[None]:
        return self._database.within(limit_s)

    def upgrade(self) -> tuple[int, int]:
        return self._database.upgrade()

    def compact(self) -> None:
        self._database.vacuum()

    def close(self) -> None:
        self._database.close()

    @property
    def address(self) -> str:
        return f"{self._database.server}#{self._database.namespace}"

    def where(self, name: str) -> str:
        return f"{self.address}/{name}"
