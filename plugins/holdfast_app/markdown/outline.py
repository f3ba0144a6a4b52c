"""A Markdown document's headings, found as CommonMark defines them, by block structure and not line by line.

A ``##`` inside fenced or indented code, an HTML block or comment, a list item or a quotation is not a heading of the
document. Setext underlines, closing hashes, up to three spaces of indentation, a byte order mark and CRLF are
supported. One rule is more lenient than in CommonMark. A heading indented by two or three spaces after a list is a
heading of the document, not of the last item (reading A51). Only constructs that affect headings are parsed, not inline
text. The time is linear in the document's length.

Source: CommonMark 0.31.2, section 4 and the appendix on the parsing strategy.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from holdfast.text import plain
from holdfast.text.lazy import Lazy
from holdfast_app.markdown import marks

#: Maximum nesting of blocks. Deeper blocks are treated as text, which bounds the time per line.
_MAX_DEPTH: Final = 20
_REFERENCE: Final = Lazy(
    r" {0,3}\[(?:[^\[\]\\]|\\.){1,999}\]:[ \t]*[^\s<]\S*(?:[ \t]+(?:\"[^\"]*\"|'[^']*'|\([^()]*\)))?[ \t]*$"
)
_TAG_NAMES: Final = (
    "address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div|dl|dt"
    "|fieldset|figcaption|figure|footer|form|frame|frameset|h[123456]|head|header|hr|html|iframe|legend|li|link|main"
    "|menu|menuitem|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead"
    "|title|tr|track|ul"
)
_ATTRIBUTE: Final = r"""(?:\s+[a-zA-Z_:][\w.:-]*(?:\s*=\s*(?:[^\s"'=<>`]+|'[^']*'|"[^"]*"))?)"""
#: Start of an HTML block, and the text on its last line; without such text it ends at a blank line.
_HTML: Final = tuple(
    (Lazy(begin, re.IGNORECASE), Lazy(end, re.IGNORECASE) if end else None)
    for begin, end in (
        (r"<(?:script|pre|textarea|style)(?:\s|>|$)", r"</(?:script|pre|textarea|style)>"),
        (r"<!--", r"-->"),
        (r"<\?", r"\?>"),
        (r"<![a-z]", r">"),
        (r"<!\[CDATA\[", r"\]\]>"),
        (rf"</?(?:{_TAG_NAMES})(?:\s|/?>|$)", ""),
        (rf"(?:<[a-z][a-z0-9-]*{_ATTRIBUTE}*\s*/?>|</[a-z][a-z0-9-]*\s*>)\s*$", ""),
    )
)
_LONE_TAG: Final = _HTML[-1][0]
_CONTINUES: Final = ("fence", "html")
_QUOTATION: Final = 0


class Heading(NamedTuple):
    """A heading of the document itself. ``text`` has no hashes. ``line`` is 1-based. ``start`` is its first character's
    offset, ``end`` the offset after its lines."""

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
    scanner = _Scanner()
    after_mark = len(plain.BOM) if text.startswith(plain.BOM) else 0
    for number, (start, line) in enumerate(plain.lines(text, start=after_mark, keepends=True), 1):
        shown = line.rstrip(plain.LINE_ENDS)
        scanner.read(shown.expandtabs(4) if "\t" in shown else shown, number, start, start + len(line))
    unclosed = (scanner.leaf, scanner.leaf_line) if scanner.leaf in _CONTINUES and not scanner.stack else None
    if unclosed and scanner.leaf == "html" and scanner.html_end is None:
        unclosed = None  # a blank line ends it, and so does anything appended after a blank line
    return Outline(tuple(scanner.headings), tuple(scanner.items), unclosed)


class _Scanner:
    """The open blocks. ``stack`` holds for each list item the columns by which its content is indented in its parent,
    and :data:`_QUOTATION`. ``leaf`` is the open block that receives lines, if any: ``paragraph``, ``code`` (indented),
    ``fence`` or ``html``."""

    def __init__(self) -> None:
        self.headings: list[Heading] = []
        self.items: list[int] = []
        self.stack: list[int] = []
        self.leaf = ""
        self.leaf_line = 0
        self.html_end: Lazy | None = None
        self._leaf_start = 0
        self._is_empty = False  # the innermost item has no content yet
        self._fence = ""
        self._paragraph: list[str] = []

    def read(self, line: str, number: int, start: int, end: int) -> None:
        """Take the next line."""
        if not self.stack and self.leaf in ("", "paragraph") and line[:1].isalpha():
            self._add_text(line, number, start)  # most lines are like this
            return
        if self.stack and _QUOTATION not in self.stack and self.leaf not in _CONTINUES and _is_indented_heading(line):
            self._close_to(0)
        at, matched = self._match_containers(line)
        whole = matched == len(self.stack)
        if whole and self._continue_leaf(line, at):
            return
        indent = _indent(line, at)
        running = self.leaf == "paragraph" and not self._is_reference()
        lazy = running and not whole
        under = running and whole  # the paragraph that this line may continue, underline or end
        while True:
            content = at + indent
            rest = line[content:]
            if not rest:
                break
            if indent >= 4:
                if not (lazy or under):
                    self._open("code", matched, number)
                    return
                break
            if len(self.stack) >= _MAX_DEPTH:
                break
            if rest[0] == ">":
                self._enter(_QUOTATION, matched)
                at = content + (2 if rest[1:2] == " " else 1)
            elif (under or rest[0] in "#`~<") and self._leaf_block(
                rest, matched, number, start, end, under=under, lazy=lazy
            ):
                return
            elif width := _width(rest, indent, under=under):
                self._enter(width, matched)
                if len(self.stack) == 1:
                    self.items.append(start)
                at = min(content + width - indent, len(line))
            elif marks.is_rule(rest):
                self._open("", matched, number)
                return
            else:
                break
            matched, lazy, under = len(self.stack), False, False
            indent = _indent(line, at)
        self._take_rest(line[at:], matched, number, start, lazy=lazy)

    def _take_rest(self, rest: str, matched: int, number: int, start: int, *, lazy: bool) -> None:
        """Handle a line's remainder, text or nothing, once every block that it begins is open."""
        blank = not rest.strip(" ")
        if lazy and not blank:
            return  # a lazy continuation line inside containers; its content does not matter
        if matched < len(self.stack):
            self._close_to(matched)
        if not blank:
            self._is_empty = False
            self._add_text(rest, number, start)
        elif self.leaf == "paragraph":
            self.leaf = ""

    def _match_containers(self, line: str) -> tuple[int, int]:
        """The column where the open containers end in the line, and how many of them continue in it."""
        at = 0
        for matched, width in enumerate(self.stack):
            indent = _indent(line, at)
            blank = at + indent >= len(line)
            if width == _QUOTATION:
                if indent > 3 or line[at + indent : at + indent + 1] != ">":
                    return at, matched
                at += indent + 1
                at += line[at : at + 1] == " "
            elif blank:
                if self._is_empty and matched == len(self.stack) - 1:
                    return at, matched
                at = len(line)
            elif indent >= width:
                at += width
            else:
                return at, matched
        return at, len(self.stack)

    def _continue_leaf(self, line: str, at: int) -> bool:
        """Whether the line belongs to the open code or HTML block regardless of its content."""
        if self.leaf == "fence":
            if _indent(line, at) <= 3 and marks.closes(line[at:].strip(" "), self._fence):
                self.leaf = ""
            return True
        if self.leaf == "html":
            if self.html_end is None:
                if line[at:].strip(" "):
                    return True
                self.leaf = ""
            elif self.html_end.search(line, at):
                self.leaf = ""
            return True
        if self.leaf == "code":
            if _indent(line, at) >= 4 or not line[at:].strip(" "):
                return True
            self.leaf = ""
        return False

    def _leaf_block(
        self, rest: str, matched: int, number: int, start: int, end: int, *, under: bool, lazy: bool
    ) -> bool:
        """Open the block without children that ``rest`` begins, if any. Returns whether there was one."""
        first = rest[0]
        if first == "#" and (heading := marks.heading(rest)):
            self._open("", matched, number)
            if not self.stack:
                self.headings.append(Heading(*heading, number, start, end))
            return True
        if first in "`~" and (fence := marks.fence(rest)):
            self._open("fence", matched, number)
            self._fence = fence
            return True
        if first == "<":
            for begins, ends in _HTML:
                if begins.match(rest) and not (begins is _LONE_TAG and (under or lazy)):
                    self._open("html", matched, number)
                    self.html_end = ends
                    if ends and ends.search(rest):
                        self.leaf = ""
                    return True
        if under and first in "=-" and (level := marks.underline(rest)):
            self._underlined(level, end)
            return True
        return False

    def _underlined(self, level: int, end: int) -> None:
        """Make the open paragraph a heading."""
        self.leaf = ""
        if not self.stack:
            text = " ".join(" ".join(self._paragraph).split())
            self.headings.append(Heading(level, text, self.leaf_line, self._leaf_start, end))

    def _add_text(self, text: str, number: int, start: int) -> None:
        if self.leaf != "paragraph" or self._is_reference():
            self.leaf, self.leaf_line, self._leaf_start = "paragraph", number, start
            self._paragraph = []
        self._paragraph.append(text)

    def _is_reference(self) -> bool:
        """Whether the open paragraph is only a link definition so far, so that the next line begins a new block."""
        return len(self._paragraph) == 1 and _REFERENCE.match(self._paragraph[0]) is not None

    def _enter(self, container: int, matched: int) -> None:
        self._close_to(matched)
        self.stack.append(container)
        self._is_empty = container != _QUOTATION

    def _open(self, leaf: str, matched: int, number: int) -> None:
        self._close_to(matched)
        self.leaf, self.leaf_line = leaf, number

    def _close_to(self, matched: int) -> None:
        del self.stack[matched:]
        self.leaf, self._is_empty = "", False


def _indent(line: str, at: int) -> int:
    stripped = line[at:].lstrip(" ")
    return len(line) - at - len(stripped) if at < len(line) else 0


def _is_indented_heading(line: str) -> bool:
    return line[:1] == " " and _indent(line, 0) <= 3 and marks.heading(line.lstrip(" ")) is not None


def _width(rest: str, indent: int, *, under: bool) -> int:
    """The columns before the content of the list item that ``rest`` begins, or 0. An item that interrupts a paragraph
    must not be empty, and must begin with 1 if it is numbered."""
    mark = marks.item(rest)
    if not mark:
        return 0
    after = rest[len(mark) :]
    blank = not after.strip(" ")
    if under and (blank or (mark not in marks.BULLETS and int(mark[:-1]) != 1)):
        return 0
    spaces = len(after) - len(after.lstrip(" "))
    return indent + len(mark) + (1 if blank or spaces >= 5 else spaces)
