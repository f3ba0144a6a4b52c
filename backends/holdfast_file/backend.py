"""The file store, an implementation of the storage contract (docs/storage-contract.md)."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from holdfast.storage import Capability, ComposedBackend, Condition
from holdfast_file import repair
from holdfast_file.documents import Documents
from holdfast_file.facts import FactFile
from holdfast_file.place import Place

if TYPE_CHECKING:
    from holdfast.models import Fact


class FileBackend(ComposedBackend[Documents, FactFile]):
    """Markdown documents and ``facts.jsonl`` in the folder ``path`` under ``root``. Nothing is made before a write.

    ``lock_timeout_s`` bounds how long a write waits for another process, in seconds.
    """

    name: ClassVar[str] = "file"
    capabilities: ClassVar[frozenset[Capability]] = frozenset({Capability.LOCAL_FILES})

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        path: str = ".holdfast",
        facts: str = "facts.jsonl",
        lock_timeout_s: float = 10.0,
    ) -> None:
        self._place = Place(root, path=path, facts=facts, timeout_s=lock_timeout_s)
        super().__init__(Documents(self._place), FactFile(self._place))

    def check(self, *, thorough: bool = False) -> Condition:
        damage = repair.damage(self._place) if thorough else None
        return Condition(lost=0 if damage else self._facts.lost(), damage=damage)

    def repair(self) -> None:
        with self._place.lock:
            if repair.damage(self._place):
                repair.repair(self._place)
        self._facts.accept()

    def compact(self) -> None:
        self._documents.settle()
        self._facts.compact()

    def judge(self, is_known: Callable[[Fact], bool]) -> None:
        """Let a row whose fact is not known here neither replace nor evict one that is, nor take up its room."""
        self._facts.is_known = is_known

    def where(self, name: str = "") -> str:
        return self._place.shown(name)
