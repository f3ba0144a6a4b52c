"""Splits a source into lines, blocks (headings, items, rows, paragraphs) and sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from holdfast.text.plain import lines, without_comments
from holdfast_dream.grounding.tokens import plain

_ITEM: Final = re.compile(r"([ \t]*)(?:[-*+•]|[0-9]{1,3}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?")
_HEADING: Final = re.compile(r"[ ]{0,3}(#{1,6})[ \t]+(.*)\Z")
#: What may follow a heading on its line.
_CLOSING: Final = " \t#"
_SENTENCE: Final = re.compile(
    r"(?<=[.!?。！？])(?<!e\.g\.)(?<!i\.e\.)(?<!vs\.)(?<!\b[DM]r\.)(?<!\bMrs\.)(?<!\bMs\.)(?<!\bProf\.)(?<! [A-Z]\.)"
    r"(?:\s+|(?<=[。！？]))"
    r"(?=\S)(?!(?:Jan|Feb|M[aä]r|Apr|Ma[iy]|Jun|Jul|Aug|Sep|O[ck]t|Nov|De[cz]))|;\s+"
)
#: Lines of a block joined at a time, because a list of short lines takes many times their bytes.
_HELD: Final = 1_000


def normal(line: str) -> str:
    """A line without its marks and with single spaces, in one form of its characters and in lower case."""
    return " ".join(plain(strip_marks(line)).replace("`", "").split()).lower()


def strip_marks(line: str) -> str:
    """A line without its item, heading or quotation marks."""
    line = without_comments(line, " ").strip().lstrip("> ")
    heading = _HEADING.match(line)
    if heading:
        return heading[2].rstrip(_CLOSING)
    item = _ITEM.match(line)
    return line[item.end() :] if item else line


def blocks(text: str) -> Iterator[tuple[int, str, int, str]]:
    """(line, kind, level, text) of headings, items with what continues them, rows and paragraphs."""
    held: list[str] = []
    joined = 0  # pieces of ``held`` at its start that are many lines each
    start, kind, level = 0, "", 0
    fenced = False
    for number, (_, line) in enumerate(lines(text), 1):
        line = without_comments(line, " ")
        bare = line.strip().lstrip("> ")
        fence = bare.startswith(("```", "~~~"))
        heading = None if fenced else _HEADING.match(line)
        item = None if fenced or heading else _ITEM.match(line)
        alone = fence or fenced or heading or bare.startswith("|") or not bare
        if held and (alone or item):
            yield start, kind, level, "\n".join(held)
            held, joined = [], 0
        fenced = fenced != fence
        if heading:
            yield number, "heading", len(heading[1]), heading[2].rstrip(_CLOSING)
        elif item:
            start, kind, level, held = number, "item", len(item[1].expandtabs(4)), [line[item.end() :]]
        elif alone:
            if bare and not fence:
                yield number, "row", 0, bare
        else:
            if not held:
                start, kind, level = number, "paragraph", 0
            held.append(bare)
            if len(held) - joined > _HELD:
                held[joined:] = ["\n".join(held[joined:])]
                joined += 1
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
