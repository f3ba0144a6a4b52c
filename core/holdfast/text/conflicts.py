"""Git conflict markers in stored text: where they are, and the two sides.

An interrupted merge leaves both versions in the file, and neither may be lost. Documents that a program can merge
safely are merged (notes only grow, a handoff has one entry per session); the others are reported.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

_OURS, _BASE, _MIDDLE, _THEIRS = "<<<<<<< ", "||||||| ", "=======", ">>>>>>> "


class Conflict(NamedTuple):
    """A conflict: lines ``first`` to ``last``, 1-based, hold ``ours`` and ``theirs``, with line ends."""

    first: int
    last: int
    ours: str
    theirs: str


def find(text: str) -> list[Conflict]:
    """The conflicts, in order. Markers that do not form a complete conflict are ignored, because they may be quoted."""
    found = []
    sides: list[list[str]] = []
    first = 0
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        bare = line.rstrip("\r\n")
        if line.startswith(_OURS):
            sides, first = [[]], number
        elif sides and line.startswith(_BASE) and len(sides) == 1:
            sides.append([])
        elif sides and bare == _MIDDLE and len(sides) <= 2:
            sides = [sides[0], [], []]
        elif len(sides) == 3 and line.startswith(_THEIRS):
            found.append(Conflict(first, number, "".join(sides[0]), "".join(sides[2])))
            sides = []
        elif sides:
            sides[-1].append(line)
    return found


def sides(text: str) -> tuple[str, str]:
    """Our side's text and their side's text."""
    conflicts = find(text)
    return _resolved(text, [c.ours for c in conflicts]), _resolved(text, [c.theirs for c in conflicts])


def both(text: str) -> str:
    """The text with both sides of each conflict; parts on both sides appear once. A part starts at a second-level
    heading, like a note's blocks."""
    return _resolved(text, [c.ours + "".join(p for p in _parts(c.theirs) if p not in c.ours) for c in find(text)])


def described(name: str, text: str) -> str:
    """A sentence with the document's conflicting lines; empty when there are none."""
    where = ", ".join(f"{c.first}-{c.last}" for c in find(text))
    return f"{name} has git conflict markers in lines {where}." if where else ""


def _parts(text: str) -> Iterator[str]:
    part = ""
    for line in text.splitlines(keepends=True):
        if line.startswith("## ") and part.strip():
            yield part
            part = ""
        part += line
    yield part


def _resolved(text: str, instead: list[str]) -> str:
    lines = text.splitlines(keepends=True)
    out, at = [], 0
    for conflict, chosen in zip(find(text), instead, strict=True):
        out += [*lines[at : conflict.first - 1], chosen]
        at = conflict.last
    return "".join([*out, *lines[at:]])
