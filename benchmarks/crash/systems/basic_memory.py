"""basic-memory: a note by its MCP server; the Markdown files are the truth and its database an index of them
(https://docs.basicmemory.com, "Knowledge format")."""

import sys
from collections.abc import Iterable
from pathlib import Path

from systems.stdio import Server


class Store:
    def __init__(self, folder: str) -> None:
        self.notes = Path(folder, "notes")
        self.notes.mkdir(exist_ok=True)
        program = str(Path(sys.executable).with_name("basic-memory"))
        self.server = Server([program, "mcp"], HOME=folder, BASIC_MEMORY_HOME=str(self.notes),
                             BASIC_MEMORY_CONFIG_DIR=str(Path(folder, "config")),
                             BASIC_MEMORY_SEMANTIC_SEARCH_ENABLED="false")  # fmt: skip

    def write(self, text: str) -> None:
        answer = self.server.call("write_note", title=text[:9], content=text, directory="board")
        if "error" in answer.lower():
            raise OSError(answer[:300])

    def read(self) -> Iterable[str]:
        """The notes, each as its server shows it."""
        for path in sorted(self.notes.rglob("*.md")):
            shown = self.server.call("read_note", identifier=f"board/{path.stem}")
            yield next((line for line in shown.splitlines() if line.startswith("item")), "")
