"""A database of any origin as data: its facts and documents, read-only. Nothing else in it is used."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator

from holdfast.errors import HoldfastError
from holdfast.fs import durable
from holdfast.models import Fact
from holdfast_sqlite import documents, facts, faults, opening


class ForeignStore:
    """The data in the database ``path``. Close it. Each method raises Corrupt for damaged data, and Unavailable."""

    def __init__(self, path: str) -> None:
        self._shown = os.path.basename(path)
        try:
            self._sql = opening.foreign(os.path.realpath(path), self._shown)
        except sqlite3.Error as error:
            raise self._failed(error) from error
        except OSError as error:
            raise durable.unavailable(error, path, "read") from error

    def facts(self) -> Iterator[Fact]:
        """Every fact, in the order of insertion."""
        try:
            for row in self._sql.execute(f"{facts.SELECT} ORDER BY seq"):
                yield facts.from_row(row)
        except sqlite3.Error as error:
            raise self._failed(error) from error

    def documents(self) -> Iterator[tuple[str, str]]:
        """Every document's name and text, by name."""
        try:
            for (name,) in self._sql.execute("SELECT name FROM documents ORDER BY name").fetchall():
                if stored := documents.load(self._sql, str(name)):
                    yield str(name), stored.text
        except sqlite3.Error as error:
            raise self._failed(error) from error

    def close(self) -> None:
        self._sql.close()

    def _failed(self, error: sqlite3.Error) -> HoldfastError:
        return faults.translate(error, self._shown, opening.WAIT_S)
