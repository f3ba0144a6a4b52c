"""Split a stored document into passages, the units of trust: headings, list items, paragraphs, tables of a handoff.

A passage's key is its text with the headings and list items above it, so that a known line under another heading is
another passage. The order of passages does not count.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import NamedTuple

from holdfast.text.plain import BOM
from holdfast_app.markdown import marks

_FENCE = "+++"
_TABLE = "[["
_HEADINGS = re.compile(r"\n(?=##? )")
_DEEPEST = 12  # deeper items belong to these, so that a thousand levels cost no more


class Passage(NamedTuple):
    """``text`` is ``document[start:end]`` without trailing blanks, and begins in line ``line``, 1-based.

    ``above`` are the headings and list items it belongs to, each with its line. ``identity`` names a handoff's entry
    whatever its content, and is empty elsewhere.
    """

    start: int
    end: int
    line: int
    text: str
    above: tuple[tuple[str, int], ...]
    identity: str = ""

    @property
    def key(self) -> str:
        return "\n".join([*(text for text, _ in self.above), "", self.text])

    @property
    def lines(self) -> range:
        """Its own lines' numbers."""
        return range(self.line, self.line + self.text.count("\n") + 1)


def split(text: str) -> Iterator[Passage]:
    """The passages in order. The rest is blank, a byte-order mark, or the ``+++`` of a handoff."""
    lines = _lines(text)
    first = next(lines, None)
    if first is not None and first.text == _FENCE:
        yield from _tables(lines)
    elif first is not None:
        lines = chain([first], lines)
    yield from _markdown(lines)


def sections(text: str) -> Iterator[Passage]:
    """The same for a document too long to split further: all below a heading of the first two levels is one passage, so
    that each flush's block in a daily note is one."""
    at, line = 0, 1
    for part in _HEADINGS.split(text):
        body = part.rstrip()
        yield Passage(at, at + len(body), line, body, ())
        at, line = at + len(part) + 1, line + part.count("\n") + 1


class _Line(NamedTuple):
    start: int
    number: int
    text: str


def _lines(text: str) -> Iterator[_Line]:
    """The lines one at a time, because a list of short lines takes many times their bytes."""
    at = number = 0
    while at < len(text):
        start, number = at, number + 1
        at = text.find("\n", start) + 1 or len(text)
        if number == 1 and text.startswith(BOM):
            start += 1
        yield _Line(start, number, text[start:at].rstrip())


def _tables(lines: Iterable[_Line]) -> Iterator[Passage]:
    """A handoff's entries, up to the second fence."""
    held: list[_Line] = []
    for line in lines:
        if line.text == _FENCE or line.text.startswith(_TABLE):
            if held and [row.text for row in held] != ["version = 1"]:  # the line above the tables
                yield _passage(held, ())
            held = []
        if line.text == _FENCE:
            return
        if line.text:
            held.append(line)
    if held:
        yield _passage(held, ())


def _markdown(lines: Iterable[_Line]) -> Iterator[Passage]:
    headings: list[tuple[int, str, int]] = []  # level, text, line
    items: list[tuple[int, str, int]] = []  # indent, first line, line
    held: list[_Line] = []
    above: tuple[tuple[str, int], ...] = ()
    for line in lines:
        indent = len(line.text) - len(line.text.lstrip())
        level = (marks.heading(line.text) or (0,))[0]
        is_item = _is_item(line.text[indent:])
        if held and (not line.text or level or is_item or line.text.startswith("<!--") or held[0].text[:4] == "<!--"):
            yield _passage(held, above)
            held = []
        if not line.text:
            continue
        if not held:
            if level:
                headings = [heading for heading in headings if heading[0] < level]
                items = []
            elif is_item or indent:
                items = [item for item in items if item[0] < indent]
            else:
                items = []
            above = tuple((text, number) for _, text, number in (*headings, *items))
            if level:
                yield _passage([line], above)
                headings.append((level, line.text, line.number))
                continue
            if is_item and len(items) < _DEEPEST:
                items.append((indent, line.text, line.number))
        held.append(line)
    if held:
        yield _passage(held, above)


def _passage(held: list[_Line], above: tuple[tuple[str, int], ...]) -> Passage:
    text = "\n".join(line.text for line in held)
    last = held[-1]
    identity = text if held[0].text.startswith(_TABLE) else ""
    if identity:
        identity = "\n".join(line.text for line in held[1:3])  # session and flush
    return Passage(held[0].start, last.start + len(last.text), held[0].number, text, above, identity)


def _is_item(line: str) -> bool:
    if line.startswith(("- ", "* ", "+ ")):
        return True
    number, _, rest = line.partition(" ")
    return bool(rest) and number[:-1].isdigit() and number[-1:] in ".)" and len(number) < 12
