"""Which literals occur in a text, without any library: most texts hold none of a table's keywords.

One ``in`` for each keyword, of which most are looked for in the long words only; in a short text only those whose
first two characters stand side by side in it.
"""

from __future__ import annotations

from operator import add

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    Literals = Sequence[tuple[str, tuple[int, ...]]]

#: The shortest word that is looked at for a keyword of the class "words".
_LONG_WORD = 16
#: Below this many characters the pairs of characters of a text are made, to leave out most of the literals.
_SHORT = 500

_WORDS, _TEXT, _LOWER = range(3)


class Keywords:
    """Those that occur in a text as they are and those that occur in lower case, each with the numbers of its rules."""

    __slots__ = ("exact", "lower")

    def __init__(self, exact: Literals, lower: Literals) -> None:
        self.exact = exact
        self.lower = lower


class Presence:
    """Finds which literals occur: ``words`` only inside long words, ``text`` anywhere, ``lower`` in lower case."""

    def __init__(self, words: Literals, text: Literals, lower: Literals) -> None:
        tables = words, text, lower
        self._tables = tables
        #: By the first two characters of a literal, in lower case: its table, its place there, itself. None is shorter.
        self._by_pair: dict[str, list[tuple[int, int, str]]] = {}
        for number, table in enumerate(tables):
            for place, (literal, _) in enumerate(table):
                self._by_pair.setdefault(literal[:2].lower(), []).append((number, place, literal))

    def find(self, text: str, lower: str) -> Keywords:
        """The literals that occur, each in the order of its table. ``lower`` is ``text`` in lower case."""
        pairs: Iterable[str] = self._by_pair
        if len(text) < _SHORT:
            pairs = self._by_pair.keys() & set(map(add, lower, lower[1:]))
        words = [word for word in text.split() if len(word) >= _LONG_WORD]
        where = " ".join(words), text, lower
        there = [
            (number, place)
            for pair in pairs
            for number, place, literal in self._by_pair[pair]
            if literal in where[number]
        ]
        there.sort()
        found: tuple[list[tuple[str, tuple[int, ...]]], ...] = ([], [], [])
        for number, place in there:
            found[number].append(self._tables[number][place])
        return Keywords(found[_TEXT] + found[_WORDS], found[_LOWER])
