"""A Markdown document's headings, as CommonMark nests blocks: markdown-it-py reads them.

A ``##`` inside fenced or indented code, an HTML block or comment, a list item or a quotation is not a heading of the
document. One rule is more lenient than in CommonMark. A heading indented by up to three spaces after a list is a
heading of the document, not of the last item (reading A51).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from holdfast.text import plain
from holdfast.text.lazy import Lazy
from holdfast_app.markdown import marks

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_INDENTED: Final = Lazy(r" {1,3}(?=#{1,6}(?:[ \t]|$))")
#: What begins an HTML block that a blank line does not end, and what ends it.
_HTML_ENDS: Final = (("<!--", "-->"), ("<?", "?>"), ("<![CDATA[", "]]>"), ("<!", ">"))
_HTML_TAG: Final = Lazy(r"<(script|pre|style|textarea)\b", re.IGNORECASE)


class Heading(NamedTuple):
    """A heading of the document itself. ``text`` has no hashes. ``line`` is 1-based. ``start`` is the offset of its
    first line, ``end`` the offset after its last."""

    level: int
    text: str
    line: int
    start: int
    end: int


class Outline(NamedTuple):
    """``headings`` in order. ``items`` are the offsets of lines that begin a list item of the document itself, not of a
    quotation or another item. ``unclosed`` is the unclosed block that swallows the rest, ``fence`` or ``html``, and its
    line."""

    headings: tuple[Heading, ...]
    items: tuple[int, ...] = ()
    unclosed: tuple[str, int] | None = None


def outline(text: str) -> Outline:
    """The headings of ``text``, and any block left open at its end."""
    rows = list(plain.lines(text, start=len(plain.BOM) if text.startswith(plain.BOM) else 0))
    lines = [line for _, line in rows]
    tokens = _parse(lines)
    if nested := {at for at in _headings_in_lists(tokens) if _INDENTED.match(lines[at])}:
        tokens = _parse([line.lstrip(" ") if at in nested else line for at, line in enumerate(lines)])
    starts = [start for start, _ in rows] + [len(text)]
    headings: list[Heading] = []
    items: list[int] = []
    unclosed: tuple[str, int] | None = None
    for number, token in enumerate(tokens):
        first, after = token.map or (0, 0)
        if token.type == "heading_open" and token.level == 0:
            words = " ".join(tokens[number + 1].content.split())
            headings.append(Heading(int(token.tag[1]), words, first + 1, starts[first], starts[after]))
        elif token.type == "list_item_open" and token.level == 1:
            items.append(starts[first])
        elif token.level == 0 and _is_unclosed(token, lines[first:after]):
            unclosed = ("fence" if token.type == "fence" else "html", first + 1)
    return Outline(tuple(headings), tuple(items), unclosed)


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark")
    parser.core.ruler.enableOnly(["block"])
    return parser


def _parse(lines: Sequence[str]) -> list[Token]:
    return _parser().parse("\n".join(lines))


def _headings_in_lists(tokens: Sequence[Token]) -> Iterator[int]:
    """The lines of headings inside list items, except in quotations."""
    quotations = 0
    for token in tokens:
        if token.type.startswith("blockquote"):
            quotations += token.nesting
        elif token.type == "heading_open" and token.level and token.map and not quotations:
            yield token.map[0]


def _is_unclosed(token: Token, lines: Sequence[str]) -> bool:
    """Whether the fence or HTML block of ``lines`` ends only with the document."""
    if token.type == "fence":
        return len(lines) < 2 or not marks.closes(lines[-1].strip(), token.markup)
    if token.type != "html_block":
        return False
    begun = lines[0].lstrip()
    tag = _HTML_TAG.match(begun)
    end = f"</{tag[1].lower()}>" if tag else next((end for start, end in _HTML_ENDS if begun.startswith(start)), "")
    return bool(end) and end not in token.content.lower()
