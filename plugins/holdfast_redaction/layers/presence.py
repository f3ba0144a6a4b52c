"""Finds a table's keywords in a string, without any library.

Most text contains no keyword. So the distinct words are first searched for substrings shared by keywords (see
``parts``), and then the text itself for the keywords with those substrings only.
"""

from __future__ import annotations

from holdfast_redaction.rules import _table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    Literals = Sequence[tuple[str, tuple[int, ...]]]

#: The shortest word that can contain a keyword of the class "words".
LONG_WORD = 16
_ANYWHERE = _table.TEXT + _table.LOWER
_FIRST_LOWER = len(_table.TEXT)


class Words:
    """A text's distinct words."""

    __slots__ = ("long", "lower")

    def __init__(self, text: str) -> None:
        words = set(text.split())
        #: In lower case, each with a blank before and after.
        self.lower = f" {' '.join(words)} ".lower()
        #: The long words, unchanged.
        self.long = [word for word in words if len(word) >= LONG_WORD]


class Keywords:
    """The keywords found, case-sensitive and lower-case, each with its rules' numbers, and the words, if known."""

    __slots__ = ("exact", "lower", "words")

    def __init__(self, exact: Literals, lower: Literals, words: Words | None = None) -> None:
        self.exact = exact
        self.lower = lower
        self.words = words


def find(text: str, lower: str) -> Keywords:
    """The keywords that occur, in table order. ``lower`` is ``text`` in lower case."""
    words = Words(text)
    places = [place for part, at in _table.PARTS if part in words.lower for place in at]
    places += [place for part, at in _table.PARTS_ACROSS if part in lower for place in at]
    exact, in_lower = [], []
    for place in sorted(places):
        row = _ANYWHERE[place]
        if place >= _FIRST_LOWER:
            if row[0] in lower:
                in_lower.append(row)
        elif row[0] in text:
            exact.append(row)
    if words.long:
        long = " ".join(words.long)
        places = [place for part, at in _table.PARTS_OF_WORDS if part in long for place in at]
        exact += [row for row in map(_table.WORDS.__getitem__, sorted(places)) if row[0] in long]
    return Keywords(exact, in_lower, words)
