"""The storage contract on SQLite (docs/storage-contract.md)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import ClassVar

from attrs import asdict, fields_dict, frozen

from holdfast.config import serde
from holdfast.storage import ComposedBackend, Condition
from holdfast_sqlite.database import Database
from holdfast_sqlite.documents import Documents
from holdfast_sqlite.facts import Facts
from holdfast_sqlite.place import Place


@frozen(kw_only=True)
class Options:
    """The keys of ``[storage]`` for this backend."""

    file: str = "holdfast.db"
    lock_timeout_s: float = 10.0


def from_options(root: str | os.PathLike[str], path: str, options: Mapping[str, object]) -> SqliteBackend:
    """The backend as ``[storage]`` describes it; keys of other backends are left alone. Raises: ConfigError."""
    given = {key: options[key] for key in fields_dict(Options) if key in options}
    return SqliteBackend(root, path=path, **asdict(serde.structure(given, Options, what="`[storage]`")))


class SqliteBackend(ComposedBackend[Documents, Facts]):
    """Documents and facts in the database ``file`` in the folder ``path`` under ``root``, made by the first write.

    ``lock_timeout_s`` bounds how long a write waits for another process, in seconds.
    """

    name: ClassVar[str] = "sqlite"

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        path: str = ".holdfast",
        file: str = "holdfast.db",
        lock_timeout_s: float = 10.0,
    ) -> None:
        self._database = Database(Place(root, path=path, file=file), timeout_s=lock_timeout_s)
        super().__init__(Documents(self._database), Facts(self._database))

    def check(self, *, thorough: bool = False) -> Condition:
        return Condition(lost=self._database.lost())

    def repair(self) -> None:
        self._database.accept(self._facts.recount)

    def compact(self) -> None:
        if self._database.missing():
            return
        with self._database.changing() as change:
            self._facts.recount(change)
        self._database.compact()

    def put_aside(self, path: str) -> str:
        """Rename this store's database when it is the file at ``path`` and of another origin, so that the next write
        makes a new one. Returns the path to read it from. Raises: Refused when the database is in use; Unavailable."""
        return self._database.put_aside(path)

    def close(self) -> None:
        self._database.close()

    def where(self, name: str = "") -> str:
        return f"{self._database.place.path}#{name}" if name else self._database.place.path
