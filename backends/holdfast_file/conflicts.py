"""Git conflict markers in stored text: where they are, and the two sides.

An interrupted merge leaves both versions in the file, and neither may be lost. Documents that a program can merge
safely are merged (notes only grow, a handoff has one entry per session), and the others are reported.
"""

from typing import NamedTuple

from holdfast.text.plain import lines

BY_HAND = "Keep the right lines and remove the markers"
FIX = f"{BY_HAND}; `holdfast doctor --fix` merges notes and the handoff."
_OURS, _BASE, _MIDDLE, _THEIRS = "<<<<<<< ", "||||||| ", "=======", ">>>>>>> "


class Conflict(NamedTuple):
    """A conflict: lines ``first`` to ``last``, 1-based, hold ``ours`` and ``theirs``, with line ends. They are the
    characters from ``begin`` to ``end``."""

    first: int
    last: int
    ours: str
    theirs: str
    begin: int
    end: int


def find(text: str) -> list[Conflict]:
    """The conflicts, in order. Markers that do not form a complete conflict are ignored, because they may be quoted."""
    conflicts: list[Conflict] = []
    starts: list[int] = []  # of our side, the base and their side, as far as they are known
    ends: list[int] = []
    first = begin = 0
    for number, (at, line) in enumerate(lines(text, keepends=True) if _OURS in text else (), 1):
        bare, after = line.rstrip("\r\n"), at + len(line)
        if line.startswith(_OURS):
            starts, ends, first, begin = [after], [], number, at
        elif len(starts) == 1 and line.startswith(_BASE):
            starts, ends = [*starts, after], [at]
        elif 1 <= len(starts) <= 2 and bare == _MIDDLE:
            starts, ends = [starts[0], after, after], [*ends, at][:1]
        elif len(starts) == 3 and line.startswith(_THEIRS):
            conflicts.append(Conflict(first, number, text[starts[0] : ends[0]], text[starts[2] : at], begin, after))
            starts = []
    return conflicts


def sides(text: str) -> tuple[str, str]:
    ours, theirs, at = "", "", 0
    for conflict in find(text):
        before, at = text[at : conflict.begin], conflict.end
        ours, theirs = ours + before + conflict.ours, theirs + before + conflict.theirs
    return ours + text[at:], theirs + text[at:]


def described(name: str, text: str) -> str:
    """A sentence with the document's conflicting lines; empty when there are none."""
    where = ", ".join(f"{c.first}-{c.last}" for c in find(text))
    return f"{name} has git conflict markers in lines {where}." if where else ""
