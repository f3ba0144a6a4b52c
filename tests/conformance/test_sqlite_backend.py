"""The SQLite backend against every clause of docs/storage-contract.md."""

import contextlib
import resource
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.testing import StorageContract


@pytest.mark.req(
    "R013", "R014", "R015", "R016", "R037", "R042", "R043", "R044", "R045", "R046", "R047", "R048", "R049", "R050",
    "R051", "R052", "R053", "R054", "R056", "R057", "R058", "R059", "R060", "R061", "R096", "R142",
)  # fmt: skip
class TestStore(StorageContract):
    """Every clause. How to spoil a database."""

    factory = "holdfast_sqlite.backend:SqliteBackend"

    def corrupt_document(self, root: Path, name: str) -> None:
        with contextlib.closing(sqlite3.connect(root / ".holdfast" / "holdfast.db")) as connection, connection:
            connection.execute(
                "UPDATE pieces SET text = replace(text, 'e', 'a')"
                " WHERE document = (SELECT id FROM documents WHERE name = ?)",
                (name,),
            )

    def corrupt_facts(self, root: Path) -> None:
        path = root / ".holdfast" / "holdfast.db"
        with contextlib.closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        with path.open("r+b") as file:
            file.write(b"garbage " * (path.stat().st_size // 8))

    @contextlib.contextmanager
    def unwritable(self, root: Path) -> Iterator[None]:
        # The tests may run as root, whom no permission stops; a limit on file sizes stops everybody.
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
