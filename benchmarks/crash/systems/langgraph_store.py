"""LangGraph: an item of the long-term store, in SQLite
(https://docs.langchain.com/oss/python/langgraph/add-memory, "Use in production")."""

import sqlite3
from collections.abc import Iterable
from pathlib import Path

from langgraph.store.sqlite import SqliteStore


class Store:
    def __init__(self, folder: str) -> None:
        database = sqlite3.connect(Path(folder, "store.db"), check_same_thread=False, isolation_level=None)
        self.store = SqliteStore(database)
        self.store.setup()

    def write(self, text: str) -> None:
        self.store.put(("board",), text[:9], {"text": text})

    def read(self) -> Iterable[str]:
        return [item.value["text"] for item in self.store.search(("board",), limit=1000)]
