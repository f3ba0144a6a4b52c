"""Which keywords occur in a text, without any library: most texts hold none of a table's.

A pass over the text for each part that keywords have in common (see ``parts``), and one more for those of a part that
occurs.
"""

from __future__ import annotations

from holdfast_redaction import _table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    Literals = Sequence[tuple[str, tuple[int, ...]]]

#: The shortest word that is looked at for a keyword of the class "words".
LONG_WORD = 16
_ANYWHERE = _table.TEXT + _table.LOWER
_FIRST_LOWER = len(_table.TEXT)


class Keywords:
    """Those that occur in a text as they are and those that occur in lower case, each with the numbers of its rules."""

    __slots__ = ("exact", "lower")

    def __init__(self, exact: Literals, lower: Literals) -> None:
        self.exact = exact
        self.lower = lower


def find(text: str, lower: str) -> Keywords:
    """The keywords that occur, each in the order of its table. ``lower`` is ``text`` in lower case."""
    exact, in_lower = [], []
    for place in _candidates(_table.PARTS, lower):
        row = _ANYWHERE[place]
        if place >= _FIRST_LOWER:
            if row[0] in lower:
                in_lower.append(row)
        elif row[0] in text:
            exact.append(row)
    words = long_words(text)
    if words:
        joined = " ".join(set(words))
        rows = (_table.WORDS[place] for place in _candidates(_table.PARTS_OF_WORDS, joined))
        exact += [row for row in rows if row[0] in joined]
    return Keywords(exact, in_lower)


def long_words(text: str) -> list[str]:
    """The words of ``text`` that may hold what only long words hold."""
    words = text.split()
    if max(map(len, words), default=0) < LONG_WORD:  # as mostly
        return []
    return [word for word in words if len(word) >= LONG_WORD]


def _candidates(parts: Literals, text: str) -> list[int]:
    return sorted([place for part, places in parts if part in text for place in places])
