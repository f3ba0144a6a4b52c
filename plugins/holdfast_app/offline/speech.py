"""A speaker's own words: a message without code, quotations and text inserted by a client or holdfast."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from holdfast.text.lazy import Lazy
from holdfast.text.ownlines import is_filler
from holdfast_app.authorship.ownwords import outside
from holdfast_app.markdown import marks
from holdfast_app.markdown.lines import HEADING, ITEM, RULE, read_line

_LINE: Final = Lazy(r"[^\r\n]{3,}")  # shorter lines carry no statement, and fences have three characters
#: The punctuation comes first, so the search can skip to it. Abbreviations are checked from there by lookbehind.
_SENTENCE_END: Final = Lazy(
    r"[.!?](?<!\be\.g.)(?<!\bi\.e.)(?<!\betc.)(?<!\bvs.)(?<!^\d.)(?<!^\d\d.)[\"')\]*]*\s+|[。！？][\"'）」』]*\s*"
)
#: A longer list item is read by sentence.
MAX_ITEM_CHARS: Final = 320


def own_lines(text: str) -> Iterator[str]:
    """The lines of ``text`` that are neither recalled from memory, nor injected, nor fenced code, nor quoted, nor lines
    of holdfast's layout.

    An unclosed block extends to the text's end.
    """
    for part in outside(text):
        fence = ""
        for found in _LINE.finditer(part):
            line = found[0]
            if mark := _fence(line):
                if not fence:
                    fence = mark
                elif mark.startswith(fence):
                    fence = ""
            elif not fence and not line.lstrip().startswith(">") and not is_filler(line):
                yield line


def _fence(line: str) -> str:
    """The fence that a line, or the item on it, begins with; empty for other lines."""
    if "```" not in line and "~~~" not in line:
        return ""
    text = line.lstrip()
    return marks.fence(text) or marks.fence(text[len(marks.item(text)) :].lstrip())


def listed(line: str) -> str | None:
    """A list item's text. None for other lines."""
    found = read_line(line)
    return found.text if found.kind == ITEM else None


def sentences(line: str) -> Iterator[str]:
    """Sentences from a line, without its bullet."""
    line, start = listed(line) or line, 0
    for end in _SENTENCE_END.finditer(line, start):
        yield line[start : end.end()].strip()
        start = end.end()
    yield line[start:].strip()


def units(text: str, *, headings: bool = False) -> Iterator[str]:
    """Whole list items, table rows, and paragraphs by sentence, in order, without code, rules, a table's first row and,
    by default, headings."""
    in_table = False
    for line in own_lines(text):
        found = read_line(line)
        if found.text.startswith("|"):
            if in_table:
                yield " · ".join(cell.strip() for cell in found.text.strip("|").split("|") if cell.strip())
            in_table = True
            continue
        in_table = False
        if found.kind == RULE or marks.underline(found.text):
            continue
        is_title = found.kind == HEADING or (found.text[:2] == found.text[-2:] == "**" and found.text.count("**") == 2)
        if is_title:
            if headings:
                yield found.text
        elif found.kind == ITEM and len(line) <= MAX_ITEM_CHARS:
            yield found.text
        else:
            yield from sentences(line)


def clip(text: str, max_chars: int) -> str:
    """``text`` with single spaces, cut at a word to at most ``max_chars``, without an ellipsis."""
    text = " ".join(text.split())
    if len(text) <= max_chars:
        return text
    head = text[: max_chars + 1].rpartition(" ")[0]
    return head if head.strip() else text[:max_chars]
