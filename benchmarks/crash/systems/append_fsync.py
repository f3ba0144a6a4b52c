"""Yardstick: one line appended to a file and synced."""

import os

from systems import append


class Store(append.Store):
    def write(self, text: str) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
