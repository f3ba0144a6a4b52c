"""The store against every clause of holdfast's storage contract. This is all that a backend's author has to write."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from holdfast_acme.store import AcmeStore

from holdfast.testing import StorageContract

FACTORY = "holdfast_acme.store:AcmeStore"


class TestStore(StorageContract):
    """Every clause, with the three switches that let the error clauses be checked too."""

    factory = FACTORY

    def corrupt_document(self, root: Path, name: str) -> None:
        self.corrupt_facts(root)

    def corrupt_facts(self, root: Path) -> None:
        path = root / ".holdfast" / "acme.json"
        path.write_bytes(path.read_bytes()[:-9])

    @contextlib.contextmanager
    def unwritable(self, root: Path) -> Iterator[None]:
        lock = root / ".holdfast" / "acme.lock"
        lock.unlink()
        lock.mkdir()
        try:
            yield
        finally:
            lock.rmdir()


def test_compact__what_a_killed_writer_left__is_gone(tmp_path: Path) -> None:
    store = AcmeStore(tmp_path)
    store.compact()
    assert list(tmp_path.iterdir()) == []
    store.write("MEMORY.md", "kept\n")
    left = tmp_path / ".holdfast" / ".holdfast-1-abc.tmp"
    left.write_text("half of a ")
    store.compact()
    assert not left.exists()
    assert store.names() == ["MEMORY.md"]
