"""The PostgreSQL store behind the storage contract (docs/storage-contract.md)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Final

from holdfast.errors import ConfigError
from holdfast.models import AddResult, Fact
from holdfast.storage import Capability, Document, FactOrder, Hit, StorageBackend
from holdfast_postgres.database import Database
from holdfast_postgres.documents import Documents
from holdfast_postgres.facts import Facts

_KINDS: Final[Mapping[str, tuple[type, ...]]] = {"server": (str,), "namespace": (str,), "timeout_s": (int, float)}
_MOST_CHARS: Final = 200


def from_options(
    root: str | os.PathLike[str], path: str, options: Mapping[str, object], env: Mapping[str, str] | None = None
) -> PostgresBackend:
    """The backend as ``[storage]`` describes it; keys of other backends are left alone. Raises: ConfigError."""
    from holdfast.config.keyless import check_table

    check_table("storage", options, "postgres")
    given: dict[str, Any] = {key: options[key] for key in _KINDS if key in options}
    for key, value in given.items():
        if not isinstance(value, _KINDS[key]) or isinstance(value, bool):
            kinds = " or ".join(kind.__name__ for kind in _KINDS[key])
            raise ConfigError(f"storage.{key}: expected {kinds}, got {type(value).__name__}.")
    for key in ("server", "namespace"):
        if key not in given:
            raise ConfigError(f"storage.{key} is missing.", next_step=f"Add `{key}` to `[storage]`; see docs/teams.md.")
    return PostgresBackend(root, password=_password(env or os.environ), **given)


def _password(env: Mapping[str, str]) -> str:
    """The password for the server; empty when libpq should look for one (PGPASSWORD, a password file)."""
    return env.get("HOLDFAST_POSTGRES_PASSWORD", "")


class PostgresBackend(StorageBackend):
    """Documents and facts of ``namespace`` in the database that ``server`` names.

    ``server`` is a URL without a password. ``timeout_s`` bounds connecting and one call, in seconds. Nothing is asked
    of the server before the first call, and reading creates nothing.
    """

    name: ClassVar[str] = "postgres"
    capabilities: ClassVar[frozenset[Capability]] = frozenset(
        {Capability.CONCURRENT_WRITERS, Capability.REMOTE, Capability.SEARCH}
    )

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        server: str,
        namespace: str,
        password: str = "",
        timeout_s: float = 10.0,
    ) -> None:
        """Raises: ConfigError."""
        if not namespace.strip() or len(namespace) > _MOST_CHARS or not namespace.isprintable():
            raise ConfigError(
                "storage.namespace is not a usable name.", next_step='Write it like "team/project", in one line.'
            )
        self._database = Database(server, namespace, password=password, timeout_s=timeout_s)
        self._documents = Documents(self._database)
        self._facts = Facts(self._database)

    @property
    def database(self) -> Database:
        """The server and the namespace."""
        return self._database

    def __repr__(self) -> str:
        return f"PostgresBackend({self._database.server!r}, {self._database.namespace!r})"

    def read(self, name: str) -> Document | None:
        return self._documents.read(name)

    def write(self, name: str, text: str, expected: str | None = None) -> str:
        return self._documents.write(name, text, expected)

    def append(self, name: str, block: str, header: str, block_id: str) -> str:
        return self._documents.append(name, block, header, block_id)

    def delete(self, name: str) -> None:
        self._documents.delete(name)

    def names(self, prefix: str = "") -> list[str]:
        return self._documents.names(prefix)

    def add_fact(self, fact: Fact, limit: int) -> AddResult:
        return self._facts.add(fact, limit)

    def get_fact(self, fact_id: str) -> Fact:
        return self._facts.get(fact_id)

    def update_fact(
        self,
        fact_id: str,
        *,
        content: str | None = None,
        category: str | None = None,
        confidence: float | None = None,
        source: str | None = None,
    ) -> Fact:
        return self._facts.update(fact_id, content, category, confidence, source)

    def delete_fact(self, fact_id: str) -> Fact:
        return self._facts.delete(fact_id)

    def facts(self, order: FactOrder = FactOrder.CREATED, limit: int | None = None) -> Iterator[Fact]:
        return self._facts.all(order, limit)

    def strongest(self, limit: int | None = None) -> Iterator[Fact]:
        return self._facts.strongest(limit)

    def count_facts(self) -> int:
        return self._facts.count()

    def search(self, query: str, limit: int = 20) -> list[Hit]:
        return self._facts.search(query, limit)

    def compact(self) -> None:
        self._database.vacuum()

    def close(self) -> None:
        self._database.close()

    @property
    def address(self) -> str:
        return f"{self._database.server}#{self._database.namespace}"

    def where(self, name: str) -> str:
        return f"{self.address}/{name}"
