"""A SQLite database of any origin, read like an archive. It holds facts and documents only."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, Self

from holdfast.fs import safeopen
from holdfast.plugin import discovery
from holdfast_app.transfer import archive
from holdfast_app.transfer.archive import Archive, Member

_MAGIC = b"SQLite format 3\0"


def opened(path: str) -> Archive | Database:
    """The archive or database at ``path``. Raises: ConfigError; Corrupt; Unavailable; Unsupported."""
    return Database(path) if is_database(path) else Archive(path)


def is_database(path: str) -> bool:
    """Whether the file begins like a SQLite database."""
    try:
        with safeopen.reader(os.path.realpath(path), private=False) as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


class Database:
    """The database's rows, with the methods of :class:`Archive` that an import uses."""

    def __init__(self, path: str) -> None:
        module: Any = discovery.import_object(discovery.choose(discovery.scan(), discovery.BACKENDS, "sqlite"))
        self.store = module.foreign_store(path)  # which checks its schema
        self.members: dict[str, Member] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.store.close()

    def check(self) -> None:
        """Read everything once. Raises: Corrupt for damaged data."""
        for _ in (*self.store.facts(), *self.store.documents()):
            pass

    def rows(self, name: str) -> Iterator[dict[str, Any]]:
        """As in an archive."""
        from holdfast.config.serde import fact_out

        if name == archive.DOCUMENTS:
            yield from ({"name": name, "text": text} for name, text in self.store.documents())
        elif name == archive.FACTS:
            yield from (dict(fact_out(fact)) for fact in self.store.facts())

    def journals(self) -> list[str]:
        """None, because a store has no journals."""
        return []

    def data(self, name: str) -> bytes:
        raise KeyError(name)
