"""Splits a source into lines, blocks (headings, items, rows, paragraphs) and sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from holdfast_app.markdown.lines import CODE, HEADING, ITEM, TEXT, Lines, read_line
from holdfast_app.markdown.marks import without_boxes

_SENTENCE: Final = re.compile(
    r"(?<=[.!?。！？])(?<!e\.g\.)(?<!i\.e\.)(?<!vs\.)(?<!\b[DM]r\.)(?<!\bMrs\.)(?<!\bMs\.)(?<!\bProf\.)(?<! [A-Z]\.)"
    r"(?:\s+|(?<=[。！？]))"
    r"(?=\S)(?!(?:Jan|Feb|M[aä]r|Apr|Ma[iy]|Jun|Jul|Aug|Sep|O[ck]t|Nov|De[cz]))"
)


def strip_marks(line: str) -> str:
    """A line without its item, heading or quotation marks."""
    text = read_line(line).text
    if text.startswith(">"):
        text = read_line(text.lstrip("> ")).text
    return without_boxes(text)


def blocks(text: str) -> Iterator[tuple[int, str, int, str]]:
    """(line, kind, level, text) of headings, items with what continues them, rows and paragraphs."""
    held: list[str] = []
    start, kind, level = 0, "", 0
    for line in Lines(text):
        said = line.text.lstrip("> ")
        is_row = line.kind == CODE or (line.kind == TEXT and said.startswith("|"))
        if held and (is_row or not said or line.kind != TEXT):
            yield start, kind, level, "\n".join(held)
            held = []
        if line.kind == HEADING:
            yield line.number, "heading", line.level, line.text
        elif line.kind == ITEM:
            start, kind, level, held = line.number, "item", line.indent, [without_boxes(line.text)]
        elif is_row and said:
            yield line.number, "row", 0, said
        elif line.kind == TEXT and said:
            if not held:
                start, kind, level = line.number, "paragraph", 0
            held.append(said)
    if held:
        yield start, kind, level, "\n".join(held)


def sentences(text: str) -> Iterator[tuple[int, str]]:
    """(offset, sentence) of a block."""
    start = 0
    for found in _SENTENCE.finditer(text):
        yield start, text[start : found.start()]
        start = found.end()
    if start < len(text):
        yield start, text[start:]
