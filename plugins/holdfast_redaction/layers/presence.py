"""Which keywords occur in a text, without any library: most texts hold none of a table's.

In the different words of the text, for most of them come again and again, each part that keywords have in common is
looked for (see ``parts``); then, in the text itself, the keywords of those parts that occur.
"""

from __future__ import annotations

from holdfast_redaction.rules import _table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    Literals = Sequence[tuple[str, tuple[int, ...]]]

#: The shortest word that is looked at for a keyword of the class "words".
LONG_WORD = 16
_ANYWHERE = _table.TEXT + _table.LOWER
_FIRST_LOWER = len(_table.TEXT)


class Words:
    """The different words of a text."""

    __slots__ = ("long", "lower")

    def __init__(self, text: str) -> None:
        words = set(text.split())
        #: In lower case, a blank before and behind each.
        self.lower = f" {' '.join(words)} ".lower()
        #: Those that may hold what only long words hold, as they are.
        self.long = [word for word in words if len(word) >= LONG_WORD]


class Keywords:
    """Those that occur in a text as they are and those that occur in lower case, each with the numbers of its rules;
    and the words of the text, where they are known."""

    __slots__ = ("exact", "lower", "words")

    def __init__(self, exact: Literals, lower: Literals, words: Words | None = None) -> None:
        self.exact = exact
        self.lower = lower
        self.words = words


def find(text: str, lower: str) -> Keywords:
    """The keywords that occur, each in the order of its table. ``lower`` is ``text`` in lower case."""
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
