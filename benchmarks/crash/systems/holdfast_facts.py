"""holdfast: a fact that a person states, in the file store (docs/facts.md)."""

from collections.abc import Iterable
from pathlib import Path

from holdfast import Holdfast


class Store:
    backend = "file"

    def __init__(self, folder: str) -> None:
        settings = Path(folder, "holdfast.toml")
        if not settings.exists():
            settings.write_text(f'[storage]\nbackend = "{self.backend}"\n', encoding="utf-8")
        self.memory = Holdfast.open(folder)

    def write(self, text: str) -> None:
        self.memory.facts.create(text)

    def read(self) -> Iterable[str]:
        return [fact.content for fact in self.memory.facts.list()]
