"""Yardstick: a table of SQLite with the defaults of Python's module (a rollback journal, synchronous = FULL)."""

import sqlite3
from collections.abc import Iterable
from pathlib import Path


class Store:
    setup = ""

    def __init__(self, folder: str) -> None:
        self.database = sqlite3.connect(Path(folder, "memory.db"))
        self.database.executescript(f"{self.setup} CREATE TABLE IF NOT EXISTS memory (text TEXT)")

    def write(self, text: str) -> None:
        with self.database:
            self.database.execute("INSERT INTO memory VALUES (?)", (text,))

    def read(self) -> Iterable[str]:
        return [row[0] for row in self.database.execute("SELECT text FROM memory")]
