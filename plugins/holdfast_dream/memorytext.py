"""Curated memory as items under headings, read from Markdown that people and models write."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from attrs import field, frozen

from holdfast.text.plain import lines

#: Lines of an item joined at a time, because a list of short lines takes many times their bytes.
_HELD: Final = 1_000
#: The title for a memory without one.
TITLE: Final = "# Memory"

_FENCE = re.compile(r"\s*(?:`{3,}|~{3,})[\w-]*\s*")
_HEADING = re.compile(r" {0,3}#{1,6}\s+(.*)")
_BOLD_HEADING = re.compile(r"(\*\*|__)([^*_]{1,80}?):?\1:?")
_ITEM = re.compile(r"\s*(?:[-*+\u2022\u2013\u2014]|\d{1,3}[.)])\s+(.*)")
_BOXES = re.compile(r"(?:\[[ xX]\]\s+)+")
_RULE = re.compile(r"\s*([-*_])(?:\s*\1){2,}\s*")
_NOTHING = re.compile(
    r"[\W_]*+(?:none|nothing|empty|n/?a|null|todo|tbd|ok(?:ay)?|done|no (?:changes?|items?|memor(?:y|ies)|content))?"
    r"(?: yet| so far)?[\W_]*",
    re.IGNORECASE,
)


@frozen(kw_only=True)
class Item:
    """One item of a memory. ``line`` is its first line in the source, 1-based."""

    text: str
    heading: str = ""
    line: int = 0


@frozen(kw_only=True)
class Memory:
    """A memory as its items, in order. ``prose`` holds the lines that are neither items nor headings."""

    title: str = ""
    items: tuple[Item, ...] = field(default=(), converter=tuple[Item, ...])
    prose: tuple[str, ...] = ()

    def render(self, title: str = "") -> str:
        """Markdown with a title, items without a heading, then all others under their headings. Headings without items
        are left out."""
        lines = [title or self.title or TITLE]
        heading: str | None = None
        for item in sorted(self.items, key=lambda i: bool(i.heading)):
            if item.heading != heading:
                heading = item.heading
                lines += ["", f"## {heading}", ""] if heading else [""]
            lines.append(f"- {item.text}")
        return "\n".join(lines) + "\n"


def read(text: str, *, prose_is_item: bool = False) -> Memory:
    """Parse a memory from Markdown. Items marked with ``*``, ``+``, ``1.`` or boxes become plain items, headings become
    second-level headings, and wrapped lines are joined. The first level-one heading is the title.

    Empty items ("none") are left out. All other lines go to ``prose``; with ``prose_is_item`` they become items, so
    nothing that a person wrote is lost.
    """
    items: list[Item] = []
    prose: list[str] = []
    title = ""
    for part in parts(text, prose_is_item=prose_is_item):
        if isinstance(part, Item):
            items.append(part)
        elif isinstance(part, Title):
            title = part
        else:
            prose.append(part)
    return Memory(title=title, items=items, prose=tuple(prose))


class Title(str):
    """A memory's title, as :func:`parts` yields it."""

    __slots__ = ()


def parts(text: str, *, prose_is_item: bool = False) -> Iterator[Item | Title | str]:
    """The title, items and lines of prose that :func:`read` collects, in order and one at a time, so that a document of
    many short items can be read without holding all of them."""
    last: Item | None = None  # a line without a mark continues it
    wrapped: list[str] = []  # those lines
    title = heading = ""
    begun = comment = False
    for number, (_, line) in enumerate(lines(text.removeprefix("\ufeff")), 1):
        line, comment = _without_comments(line, inside=comment)
        is_blank = not line.strip() or _FENCE.fullmatch(line) or _RULE.fullmatch(line)
        found = None if is_blank else _HEADING.fullmatch(line) or _BOLD_HEADING.fullmatch(line.strip())
        item = None if is_blank or found else _ITEM.fullmatch(line)
        if last is not None and not (is_blank or found or item):
            wrapped.append(_one_line(line))
            if len(wrapped) > _HELD:
                wrapped = [" ".join(wrapped)]
            continue
        if last is not None:
            yield _joined(last, wrapped)
            last, wrapped, begun = None, [], True
        if is_blank:
            continue
        if found:
            said = found[1].rstrip().rstrip("#") if found.re is _HEADING else found[2]
            if not title and not begun and line.lstrip().startswith("# "):
                title = f"# {_one_line(said)}"
                yield Title(title)
            else:
                heading = _one_line(said).strip("*_ ").rstrip(":")
        elif item:
            said = _one_line(_BOXES.sub("", item[1], count=1) if item[1].startswith("[") else item[1])
            if not _NOTHING.fullmatch(said):
                last = Item(text=said, heading=heading, line=number)
        elif not prose_is_item:
            yield _one_line(line)
        elif not _NOTHING.fullmatch(line):
            yield Item(text=_one_line(line), heading=heading, line=number)
            begun = True
    if last is not None:
        yield _joined(last, wrapped)


def _joined(item: Item, wrapped: Sequence[str]) -> Item:
    if not wrapped:
        return item
    return Item(text=" ".join((item.text, *wrapped)), heading=item.heading, line=item.line)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _without_comments(line: str, *, inside: bool) -> tuple[str, bool]:
    kept: list[str] = []
    at = 0
    while at < len(line):
        found = line.find("-->" if inside else "<!--", at)
        if found < 0:
            return "".join((*kept, "" if inside else line[at:])), inside
        if not inside:
            kept.append(line[at:found])
        at, inside = found + (3 if inside else 4), not inside
    return "".join(kept), inside
