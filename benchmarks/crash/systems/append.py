"""Yardstick: one line appended to a file, in the way most scripts do it. It promises nothing about power."""

from collections.abc import Iterable
from pathlib import Path


class Store:
    def __init__(self, folder: str) -> None:
        self.path = Path(folder, "memory.md")

    def write(self, text: str) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(text + "\n")

    def read(self) -> Iterable[str]:
        return self.path.read_text(encoding="utf-8").splitlines()
