"""Parses curated Markdown into lines of a kind. Fenced code and HTML comments are not memory."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from typing import Final, NamedTuple

_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING: Final = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*))?$")
_CLOSING_HASHES: Final = re.compile(r"[ \t]#+[ \t]*$")
_OTHER_BULLET: Final = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+")


class Kind(Enum):
    """Kinds of lines."""

    TITLE = "title"
    HEADING = "heading"
    ITEM = "item"
    PROSE = "prose"
    FENCE = "fence"
    """The line that opens fenced code. The code itself is left out."""
    UNCLOSED = "unclosed"
    """A fence or comment without an end, which would hide all text after it."""


class Line(NamedTuple):
    """A non-blank line. ``number`` is 1-based. ``text`` has no marker, comments or surrounding blanks."""

    kind: Kind
    number: int
    text: str


def read(text: str) -> Iterator[Line]:
    """The lines of ``text`` in order, without blank lines, comments and the content of fenced code."""
    fence = ""  # the marker that opened the code block we are in
    opened = 0  # the line where the last fence or comment began
    comment = False
    for number, raw in enumerate(text.removeprefix("\ufeff").splitlines(), 1):
        line = raw.rstrip()
        if fence:
            closing = _FENCE.match(line)
            if closing and closing[1][0] == fence[0] and len(closing[1]) >= len(fence) and closing.end() == len(line):
                fence = ""
            continue
        if not comment and (opening := _FENCE.match(line)):
            fence, opened = opening[1], number
            yield Line(Kind.FENCE, number, "")
            continue
        visible = line
        if comment or "<!--" in line:
            begins = not comment or "-->" in line
            visible, comment = _without_comments(line, comment)
            if comment and begins:
                opened = number
        if visible.strip():
            yield _classify(visible, number)
    if fence or comment:
        yield Line(Kind.UNCLOSED, opened, "code block" if fence else "comment")


def _without_comments(line: str, inside: bool) -> tuple[str, bool]:
    """The visible part of ``line``, and whether a comment is open at its end."""
    kept: list[str] = []
    at = 0
    while True:
        if inside:
            end = line.find("-->", at)
            if end < 0:
                return "".join(kept), True
            at, inside = end + 3, False
        else:
            start = line.find("<!--", at)
            if start < 0:
                return "".join((*kept, line[at:])), False
            kept.append(line[at:start])
            at, inside = start + 4, True


def _classify(visible: str, number: int) -> Line:
    visible = visible.rstrip()
    if visible.startswith("- ") or visible == "-":
        return Line(Kind.ITEM, number, visible[1:].strip())
    if heading := _HEADING.match(visible):
        text = _CLOSING_HASHES.sub("", f" {heading[2] or ''}").strip()
        return Line(Kind.TITLE if len(heading[1]) == 1 else Kind.HEADING, number, text)
    # Prose is checked too, without its marker, because a diary with "*" bullets is still a diary.
    marker = _OTHER_BULLET.match(visible)
    return Line(Kind.PROSE, number, visible[marker.end() if marker else 0 :].strip())
