"""The storage contract on SQLite (docs/storage-contract.md)."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import ClassVar

from attrs import asdict, fields_dict, frozen

from holdfast.config import serde
from holdfast.errors import Corrupt, Refused
from holdfast.fs import durable
from holdfast.models import Fact
from holdfast.storage import ComposedBackend, Condition
from holdfast_sqlite import faults, opening
from holdfast_sqlite.database import Database
from holdfast_sqlite.documents import Documents, load
from holdfast_sqlite.facts import SELECT, Facts, from_row
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
        place = self._database.place
        if os.path.realpath(path) != place.database:
            return path
        try:
            with self._database.reading():
                pass
        except (Corrupt, Refused):
            return place.put_aside()
        raise Refused(f"{place.path} is this project's store.", next_step="Import another file.")

    def close(self) -> None:
        self._database.close()

    def where(self, name: str = "") -> str:
        return f"{self._database.place.path}#{name}" if name else self._database.place.path


class ForeignStore:
    """The data in the database ``path`` of any origin, read-only; nothing else in it is used. Close it. Each method
    raises Corrupt for damaged data, and Unavailable."""

    def __init__(self, path: str) -> None:
        self._shown = os.path.basename(path)
        with self._translated(), durable.reporting(path, "read"):
            self._sql = opening.foreign(os.path.realpath(path), self._shown)

    def facts(self) -> Iterator[Fact]:
        """Every fact, in the order of insertion."""
        with self._translated():
            for row in self._sql.execute(f"{SELECT} ORDER BY seq"):
                yield from_row(row)

    def documents(self) -> Iterator[tuple[str, str]]:
        """Every document's name and text, by name."""
        with self._translated():
            for (name,) in self._sql.execute("SELECT name FROM documents ORDER BY name").fetchall():
                if stored := load(self._sql, str(name)):
                    yield str(name), stored.text

    def close(self) -> None:
        self._sql.close()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise faults.translate(error, self._shown, opening.WAIT_S) from error
