"""Shared parts of the storage suite: opening the store under test, here and in other processes."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar

import pytest

from holdfast.errors import HoldfastError
from holdfast.models import Fact
from holdfast.storage import StorageBackend, block_marker
from holdfast.testing.worker import open_store

Open = Callable[[], StorageBackend]
#: Longer than a column of 64 KiB, and than an index over its beginning. Databases cut a text there without an error.
LONG = "Zaubernu\u00df " * 8_000


class ContractBase:
    """Fixtures and the author's switches. ``factory`` is ``"package.module:callable"``."""

    factory: ClassVar[str] = ""
    #: How many times a model is compared, each time by 25 calls. Fewer suit a slow server.
    machine_examples: ClassVar[int] = 25

    def corrupt_document(self, root: Path, name: str) -> None:
        """Make the stored document unreadable. Without it E1 is not checked for documents."""
        pytest.skip("the suite was not told how to corrupt a document of this backend")

    def corrupt_facts(self, root: Path) -> None:
        """Make a stored fact unreadable. Without it E1 is not checked for facts."""
        pytest.skip("the suite was not told how to corrupt a fact of this backend")

    def unwritable(self, root: Path) -> AbstractContextManager[None]:
        """Let every write fail inside the block. Without it E2 is not checked."""
        pytest.skip("the suite was not told how to make this backend unwritable")

    @pytest.fixture
    def root(self, tmp_path: Path) -> Path:
        """The project folder, empty."""
        folder = tmp_path / "contract"
        folder.mkdir()
        return folder

    @pytest.fixture
    def reopen(self, root: Path) -> Iterator[Open]:
        """Open the store once more, as another process would; all are closed at the end."""
        opened: list[StorageBackend] = []

        def open_again() -> StorageBackend:
            opened.append(open_store(self.factory, root))
            return opened[-1]

        yield open_again
        for store in opened:
            store.close()

    @pytest.fixture
    def store(self, reopen: Open) -> StorageBackend:
        """The store under test, new."""
        return reopen()


def fails(error: type[HoldfastError], *touches: Callable[[], object]) -> list[HoldfastError]:
    """Check that each call raises the error, with a next step, and return what they raised."""
    raised = []
    for touch in touches:
        with pytest.raises(error) as caught:
            touch()
        assert caught.value.next_step
        raised.append(caught.value)
    return raised


def make_fact(number: int, content: str = "", *, confidence: float = 0.8, **more: Any) -> Fact:
    """A fact whose id, age and (by default) content follow from ``number``."""
    return Fact(
        id=f"fact_{number:08x}",
        content=content or f"The build needs step {number}",
        category=more.pop("category", "knowledge"),
        confidence=confidence,
        created_at=datetime(2026, 3, 1, 9, 30, 15, 123456, tzinfo=UTC) + timedelta(seconds=number),
        **more,
    )


def make_block(block_id: str, text: str = "- something was decided") -> str:
    """A block that holds its marker line."""
    return f"\n## 14:30\n{block_marker(block_id)}\n{text}\n"


def append_call(name: str, block_id: str, header: str, text: str = "- something was decided") -> dict[str, Any]:
    """A line of a worker's script: append a block."""
    return {"call": "append", "name": name, "block": make_block(block_id, text), "header": header, "block_id": block_id}


def add_call(fact: Fact, limit: int = 10_000) -> dict[str, Any]:
    """A line of a worker's script: add a fact."""
    return {"call": "add_fact", "fact": fact, "limit": limit}
