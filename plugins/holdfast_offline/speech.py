"""A speaker's own words: a message without code, quotations and text inserted by a client or holdfast."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from holdfast.text.lazy import Lazy
from holdfast_authorship.ownwords import outside

_LINE: Final = Lazy(r"[^\r\n]{3,}")  # shorter lines carry no statement, and fences have three characters
_FENCE: Final = Lazy(r"\s*(?:[-*+]\s+)?(`{3,}|~{3,})")
#: The punctuation comes first, so the search can skip to it. Abbreviations are checked from there by lookbehind.
_SENTENCE_END: Final = Lazy(r"[.!?](?<!\be\.g.)(?<!\bi\.e.)(?<!\betc.)(?<!\bvs.)[\"')\]]*\s+")
BULLET: Final = Lazy(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+")


def own_lines(text: str) -> Iterator[str]:
    """The lines of ``text`` that are neither recalled from memory, nor injected, nor fenced code, nor quoted.

    An unclosed block extends to the end of the text.
    """
    for part in outside(text):
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
    """Sentences from a line, without its bullet."""
    bullet = BULLET.match(line)
    start = bullet.end() if bullet else 0
    for end in _SENTENCE_END.finditer(line, start):
        yield line[start : end.end()].strip()
        start = end.end()
    yield line[start:].strip()


def clip(text: str, max_chars: int) -> str:
    """``text`` with single spaces, cut at a word to at most ``max_chars``, without an ellipsis."""
    text = " ".join(text.split())
    if len(text) <= max_chars:
        return text
    head = text[: max_chars + 1].rpartition(" ")[0]
    return head if head.strip() else text[:max_chars]
