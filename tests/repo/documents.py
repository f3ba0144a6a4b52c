"""Executes what a Markdown page says: files, commands, programs, and what they print."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from tests.support.processes import finished, programs

_FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_TITLE = re.compile(r'title="([^"]+)"')
_RUN = ("bash", "console", "python")
#: Where the programs of the running environment are.
HERE = str(Path(sys.executable).parent)


class Block(NamedTuple):
    """A fenced block: its language, the file that it is (``title="..."``, else ``""``), its text, its first line."""

    language: str
    title: str
    text: str
    line: int

    @property
    def commands(self) -> str:
        """The text without the prompts and outputs of a ``console`` block."""
        if self.language != "console":
            return self.text
        kept, more = [], False
        for line in self.text.splitlines():
            if more or line.startswith("$ "):
                kept.append(line if more else line[2:])
                more = line.endswith("\\")
        return "".join(f"{line}\n" for line in kept)


def blocks(page: str) -> list[Block]:
    """The fenced blocks of a page, in order."""
    found = []
    for match in _FENCE.finditer(page):
        language, _, rest = match["info"].partition(" ")
        title = _TITLE.search(rest)
        found.append(Block(language, title[1] if title else "", match["text"], page.count("\n", 0, match.start()) + 1))
    return found


def execute(found: list[Block], folder: Path, path: str, *, prefix: Mapping[str, str] | None = None) -> None:
    """Do what the blocks say, in ``folder``, with ``path`` first on PATH.

    A block with a title is written to that file. ``bash``, ``console`` and ``python`` blocks run and must exit with 0.
    A ``text`` block after a command is what it prints: the words of each line are
    there in that order. Other blocks are for reading. ``prefix`` replaces the beginnings of commands.
    """
    if path == HERE:
        path = f"{programs(folder.with_name('programs'))}{os.pathsep}{HERE}"
    keep = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PYTEST_", "HOLDFAST_"))}
    env = {**keep, "PATH": path + os.pathsep + os.environ["PATH"], "NO_COLOR": "1"}
    printed = ""
    for block in found:
        if block.title:
            file = folder / block.title
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text, encoding="utf-8")
        elif block.language in _RUN:
            text = block.commands
            for old, new in (prefix or {}).items():
                text = text.replace(old, new)
            command = ["python", "-c", text] if block.language == "python" else ["bash", "-euc", text]
            done = finished(command, cwd=folder, env=env, stdin=subprocess.DEVNULL)
            printed = done.stdout
            assert done.returncode == 0, f"line {block.line}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
        elif block.language == "text" and printed:
            for line in block.text.splitlines():
                words = r".*?\s".join(re.escape(word) for word in line.split())
                assert re.search(words, printed), f"line {block.line}: {line!r} is not in\n{printed}"
            printed = ""
