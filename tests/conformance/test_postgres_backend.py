"""The PostgreSQL backend against every clause of docs/storage-contract.md, on a server of its own."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.backends.postgres.kit import FACTORY, namespace, server

from holdfast.testing import StorageContract


@pytest.fixture(autouse=True, scope="module")
def running() -> None:
    """Starts the server, or skips with the reason."""
    server()


_END = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'hf'"


@pytest.mark.req(
    "R013", "R014", "R015", "R016", "R037", "R042", "R043", "R044", "R045", "R046", "R047", "R048", "R049", "R050",
    "R051", "R052", "R053", "R054", "R056", "R057", "R058", "R059", "R060", "R061", "R096", "R142",
)  # fmt: skip
class TestStore(StorageContract):
    """Every clause. How to spoil a database: as its administrator does."""

    factory = FACTORY
    machine_examples = 5

    def corrupt_document(self, root: Path, name: str) -> None:
        where = f"namespace = '{namespace(root)}' AND name = '{name}'"
        server().sql(f"UPDATE holdfast.documents SET body = body || 'x' WHERE {where}")

    def corrupt_facts(self, root: Path) -> None:
        server().sql("ALTER TABLE holdfast.facts RENAME COLUMN content TO contents")

    @pytest.fixture(autouse=True)
    def mended(self) -> Iterator[None]:
        yield
        with contextlib.suppress(Exception):
            server().sql("ALTER TABLE holdfast.facts RENAME COLUMN contents TO content")

    @contextlib.contextmanager
    def unwritable(self, root: Path) -> Iterator[None]:
        server().sql("ALTER ROLE hf SET default_transaction_read_only = on", _END)
        try:
            yield
        finally:
            server().sql("ALTER ROLE hf RESET default_transaction_read_only", _END)
