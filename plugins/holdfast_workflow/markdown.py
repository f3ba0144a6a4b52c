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
from collections.abc import Iterator
from typing import Final, NamedTuple

from holdfast.text.plain import BOM

_BREAKS: Final = re.compile(r"\r\n|\r|\n")
#: Maximum nesting of blocks. Deeper blocks are treated as text, which bounds the time per line.
_MAX_DEPTH: Final = 20
_ATX: Final = re.compile(r"(#{1,6})(?:[ \t]+(.*))?$")
_INDENTED: Final = re.compile(r" {1,3}#{1,6}(?: |$)")
_CLOSING_HASHES: Final = re.compile(r"(?:^|(?<![ \t])[ \t]+)#+[ \t]*$")
_FENCE: Final = re.compile(r"(`{3,})[^`]*$|(~{3,})")
_SETEXT: Final = re.compile(r"(=+|-+)[ \t]*$")
_BREAK: Final = re.compile(r"(?:(?:\*[ \t]*){3,}|(?:_[ \t]*){3,}|(?:-[ \t]*){3,})$")
_BULLET: Final = re.compile(r"[-+*](?= |$)")
_ORDERED: Final = re.compile(r"(\d{1,9})[.)](?= |$)")
_REFERENCE: Final = re.compile(
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
    (re.compile(begin, re.IGNORECASE), re.compile(end, re.IGNORECASE) if end else None)
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


class Heading(NamedTuple):
    """A heading of the document itself. ``text`` has no hashes and single spaces. ``line`` is 1-based. ``start`` and
    ``end`` are its first character's offset and the offset after its line(s)."""

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
    for number, start, end, line in _lines(text):
        scanner.read(line, number, start, end)
    unclosed = (scanner.leaf, scanner.leaf_line) if scanner.leaf in _CONTINUES and not scanner.stack else None
    if unclosed and scanner.leaf == "html" and scanner.html_end is None:
        unclosed = None  # a blank line ends it, and so does anything appended after a blank line
    return Outline(tuple(scanner.headings), tuple(scanner.items), unclosed)


def _lines(text: str) -> Iterator[tuple[int, int, int, str]]:
    """Number, start, end and text of each line, with tabs expanded to spaces."""
    at = len(BOM) if text.startswith(BOM) else 0
    # Not splitlines(), which breaks at form feeds and other characters that do not end a line in Markdown.
    pieces = _BREAKS.split(text[at:]) if "\r" in text else text[at:].split("\n")
    for number, line in enumerate(pieces, 1):
        end = at + len(line)
        ending = text[end : end + 2]
        end += len(ending) if ending == "\r\n" else len(ending[:1])
        if end > at:
            yield number, at, end, line.expandtabs(4) if "\t" in line else line
        at = end


class _Item:
    """A list item. Its content begins ``width`` columns into its parent; ``empty`` until it has content."""

    __slots__ = ("empty", "width")

    def __init__(self, width: int, *, empty: bool) -> None:
        self.width = width
        self.empty = empty


class _Scanner:
    """The open blocks: ``stack`` holds list items, and None for a quotation. ``leaf`` is the open block that receives
    lines, if any: ``paragraph``, ``code`` (indented), ``fence`` or ``html``."""

    def __init__(self) -> None:
        self.headings: list[Heading] = []
        self.items: list[int] = []
        self.stack: list[_Item | None] = []
        self.leaf = ""
        self.leaf_line = 0
        self.html_end: re.Pattern[str] | None = None
        self._leaf_start = 0
        self._fence = ""
        self._paragraph: list[str] = []

    def read(self, line: str, number: int, start: int, end: int) -> None:
        """Take the next line."""
        if not self.stack and self.leaf in ("", "paragraph") and line[:1].isalpha():
            self._add_text(line, number, start)  # most lines are like this
            return
        if self.stack and _INDENTED.match(line) and self.leaf not in _CONTINUES and None not in self.stack:
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
                self._enter(None, matched)
                at = content + (2 if rest[1:2] == " " else 1)
            elif self._leaf_block(rest, matched, number, start, end, under=under, lazy=lazy):
                return
            elif item := _item(rest, indent, under=under):
                self._enter(item, matched)
                if len(self.stack) == 1:
                    self.items.append(start)
                at = min(content + item.width - indent, len(line))
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
            self._fill()
            self._add_text(rest, number, start)
        elif self.leaf == "paragraph":
            self.leaf = ""

    def _match_containers(self, line: str) -> tuple[int, int]:
        """The column where the open containers end in the line, and how many of them continue in it."""
        at = 0
        for matched, container in enumerate(self.stack):
            indent = _indent(line, at)
            blank = at + indent >= len(line)
            if container is None:
                if indent > 3 or line[at + indent : at + indent + 1] != ">":
                    return at, matched
                at += indent + 1
                at += line[at : at + 1] == " "
            elif blank:
                if container.empty:
                    return at, matched
                at = len(line)
            elif indent >= container.width:
                at += container.width
            else:
                return at, matched
        return at, len(self.stack)

    def _continue_leaf(self, line: str, at: int) -> bool:
        """Whether the line belongs to the open code or HTML block regardless of its content."""
        if self.leaf == "fence":
            closing = line[at:].strip(" ")
            mark = self._fence[0]
            if len(closing) >= len(self._fence) and not closing.strip(mark) and _indent(line, at) <= 3:
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
        if first == "#" and (atx := _ATX.match(rest)):
            self._open("", matched, number)
            if not self.stack:
                text = _CLOSING_HASHES.sub("", (atx[2] or "").strip(" "))
                self.headings.append(Heading(len(atx[1]), " ".join(text.split(" ")).strip(" "), number, start, end))
            return True
        if first in "`~" and (fence := _FENCE.match(rest)):
            self._open("fence", matched, number)
            self._fence = fence[1] or fence[2]
            return True
        if first == "<":
            for begins, ends in _HTML:
                if begins.match(rest) and not (begins is _LONE_TAG and (under or lazy)):
                    self._open("html", matched, number)
                    self.html_end = ends
                    if ends and ends.search(rest):
                        self.leaf = ""
                    return True
        if under and first in "=-" and (underline := _SETEXT.match(rest)):
            self._underlined(underline[1], end)
            return True
        if first in "*-_" and _BREAK.match(rest):
            self._open("", matched, number)
            return True
        return False

    def _underlined(self, mark: str, end: int) -> None:
        """Make the open paragraph a heading."""
        self.leaf = ""
        if not self.stack:
            text = " ".join(" ".join(self._paragraph).split())
            level = 1 if mark[0] == "=" else 2
            self.headings.append(Heading(level, text, self.leaf_line, self._leaf_start, end))

    def _add_text(self, text: str, number: int, start: int) -> None:
        if self.leaf != "paragraph" or self._is_reference():
            self.leaf, self.leaf_line, self._leaf_start = "paragraph", number, start
            self._paragraph = []
        self._paragraph.append(text)

    def _is_reference(self) -> bool:
        """Whether the open paragraph is only a link definition so far, so that the next line begins a new block."""
        return len(self._paragraph) == 1 and _REFERENCE.match(self._paragraph[0]) is not None

    def _enter(self, container: _Item | None, matched: int) -> None:
        self._close_to(matched)
        self._fill()
        self.stack.append(container)

    def _open(self, leaf: str, matched: int, number: int) -> None:
        self._close_to(matched)
        self._fill()
        self.leaf, self.leaf_line = leaf, number

    def _close_to(self, matched: int) -> None:
        del self.stack[matched:]
        self.leaf = ""

    def _fill(self) -> None:
        if self.stack and (top := self.stack[-1]) is not None:
            top.empty = False


def _indent(line: str, at: int) -> int:
    stripped = line[at:].lstrip(" ")
    return len(line) - at - len(stripped) if at < len(line) else 0


def _item(rest: str, indent: int, *, under: bool) -> _Item | None:
    """The list item that ``rest`` begins, or None. An item that interrupts a paragraph must not be empty, and must
    begin with 1 if it is numbered."""
    marker = _BULLET.match(rest) or _ORDERED.match(rest)
    if marker is None:
        return None
    after = rest[marker.end() :]
    blank = not after.strip(" ")
    if under and (blank or (marker.re is _ORDERED and int(marker[1]) != 1)):
        return None
    spaces = len(after) - len(after.lstrip(" "))
    width = indent + marker.end() + (1 if blank or spaces >= 5 else spaces)
    return _Item(width, empty=blank)
