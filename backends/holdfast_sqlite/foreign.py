"""A database of any origin as data: its facts and documents, read-only. Nothing else in it is used."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from holdfast.fs import durable
from holdfast.models import Fact
from holdfast_sqlite import documents, facts, faults, opening


class ForeignStore:
    """The data in the database ``path``. Close it. Each method raises Corrupt for damaged data, and Unavailable."""

    def __init__(self, path: str) -> None:
        self._shown = os.path.basename(path)
        with self._translated(), durable.reporting(path, "read"):
            self._sql = opening.foreign(os.path.realpath(path), self._shown)

    def facts(self) -> Iterator[Fact]:
        """Every fact, in the order of insertion."""
        with self._translated():
            for row in self._sql.execute(f"{facts.SELECT} ORDER BY seq"):
                yield facts.from_row(row)

    def documents(self) -> Iterator[tuple[str, str]]:
        """Every document's name and text, by name."""
        with self._translated():
            for (name,) in self._sql.execute("SELECT name FROM documents ORDER BY name").fetchall():
                if stored := documents.load(self._sql, str(name)):
                    yield str(name), stored.text

    def close(self) -> None:
        self._sql.close()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise faults.translate(error, self._shown, opening.WAIT_S) from error
