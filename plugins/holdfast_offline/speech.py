"""What somebody said themselves: a message without code, quotations and what a client or holdfast put into it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from holdfast.text import asked
from holdfast.text.lazy import Lazy

_LINE: Final = Lazy(r"[^\r\n]{3,}")  # nothing shorter says anything, and fences have three characters
_FENCE: Final = Lazy(r"\s*(?:[-*+]\s+)?(`{3,}|~{3,})")
#: The sign comes first, so that the expression skips to it, and the abbreviations that it may end are looked up there.
_SENTENCE_END: Final = Lazy(r"[.!?](?<!\be\.g.)(?<!\bi\.e.)(?<!\betc.)(?<!\bvs.)[\"')\]]*\s+")
BULLET: Final = Lazy(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+")


def own_lines(text: str) -> Iterator[str]:
    """The lines of ``text`` that are neither recalled from memory, nor injected, nor fenced code, nor quoted.

    A block that never ends reaches to the end of the text.
    """
    for part in asked.outside(text):
        fence = ""
        for found in _LINE.finditer(part):
            line = found[0]
            if marker := _FENCE.match(line):
                if not fence:
                    fence = marker[1]
                elif marker[1].startswith(fence):
                    fence = ""
            elif not fence and not line.lstrip().startswith(">"):
                yield line


def sentences(line: str) -> Iterator[str]:
    """The sentences of a line without its bullet."""
    bullet = BULLET.match(line)
    start = bullet.end() if bullet else 0
    for end in _SENTENCE_END.finditer(line, start):
        yield line[start : end.end()].strip()
        start = end.end()
    yield line[start:].strip()


def clip(text: str, max_chars: int) -> str:
    """``text`` with single blanks, cut at a word so that it has at most ``max_chars``; nothing is put in its place."""
    text = " ".join(text.split())
    if len(text) <= max_chars:
        return text
    head = text[: max_chars + 1].rpartition(" ")[0]
    return head if head.strip() else text[:max_chars]
