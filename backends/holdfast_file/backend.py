"""The file store, an implementation of the storage contract (docs/storage-contract.md)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, ClassVar

from holdfast.storage import Capability, Damage, Document, FactOrder, StorageBackend
from holdfast_file import repair
from holdfast_file.documents import Documents
from holdfast_file.facts import FactFile
from holdfast_file.place import Place

if TYPE_CHECKING:
    from holdfast.models import AddResult, Fact


class FileBackend(StorageBackend):
    """Markdown documents and ``facts.jsonl`` in the folder ``path`` under ``root``. Nothing is made before a write.

    ``lock_timeout_s`` bounds how long a write waits for another process, in seconds.
    """

    name: ClassVar[str] = "file"
    capabilities: ClassVar[frozenset[Capability]] = frozenset({Capability.CONCURRENT_WRITERS, Capability.LOCAL_FILES})

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        path: str = ".holdfast",
        facts: str = "facts.jsonl",
        lock_timeout_s: float = 10.0,
    ) -> None:
        self._place = Place(root, path=path, facts=facts, timeout_s=lock_timeout_s)
        self._documents = Documents(self._place)
        self._facts = FactFile(self._place)

    def read(self, name: str) -> Document | None:
        return self._documents.read(name)

    def write(self, name: str, text: str, expected: str | None = None) -> str:
        return self._documents.write(name, text, expected)

    def append(self, name: str, block: str, header: str, block_id: str) -> str:
        return self._documents.append(name, block, header, block_id)

    def delete(self, name: str) -> None:
        self._documents.delete(name)

    def names(self, prefix: str = "") -> list[str]:
        return self._documents.names(prefix)

    def add_fact(self, fact: Fact, limit: int) -> AddResult:
        return self._facts.add(fact, limit)

    def get_fact(self, fact_id: str) -> Fact:
        return self._facts.get(fact_id)

    def update_fact(
        self,
        fact_id: str,
        *,
        content: str | None = None,
        category: str | None = None,
        confidence: float | None = None,
        source: str | None = None,
    ) -> Fact:
        return self._facts.update(fact_id, content, category, confidence, source)

    def change_source(self, fact_id: str, change: Callable[[str], str]) -> Fact:
        return self._facts.update(fact_id, None, None, None, change)

    def delete_fact(self, fact_id: str) -> Fact:
        return self._facts.delete(fact_id)

    def facts(self, order: FactOrder = FactOrder.CREATED, limit: int | None = None) -> Iterator[Fact]:
        return self._facts.all(order, limit)

    def strongest(self, limit: int | None = None) -> Iterator[Fact]:
        return self._facts.strongest(limit)

    def count_facts(self) -> int:
        return self._facts.count()

    def batch(self) -> AbstractContextManager[None]:
        return self._facts.batch()

    def lost_facts(self) -> int:
        return self._facts.lost()

    def facts_damage(self) -> Damage | None:
        return repair.damage(self._place)

    def repair_facts(self) -> None:
        with self._place.lock():
            repair.repair(self._place)
        self._facts.accept()

    def accept_facts(self) -> None:
        self._facts.accept()

    def compact(self) -> None:
        self._documents.settle()
        self._facts.compact()

    def close(self) -> None:
        self._place.close()

    def where(self, name: str) -> str:
        return os.path.relpath(os.path.join(self._place.folder, name), self._place.root).replace(os.sep, "/")
