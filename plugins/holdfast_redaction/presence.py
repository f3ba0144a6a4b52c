"""Which literals occur in a text, without any library: most texts hold none of a table's keywords.

One ``in`` for each keyword, of which most are looked for in the long words only; in a short text only those whose
first two characters stand side by side in it.
"""

from __future__ import annotations

from operator import add

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

#: The shortest word that is looked at for a keyword of the class "words".
LONG_WORD = 16
#: Below this many characters the pairs of characters of a text are made, to leave out most of the literals.
_SHORT = 500

Literals = tuple[tuple[str, tuple[int, ...]], ...]
_WORDS, _TEXT, _LOWER, _HINTS = range(4)


class Keywords:
    """Those that occur in a text as they are and those that occur in lower case, each with the numbers of its rules;
    the long words of the text, which may hold a format without a keyword; and the hints at names of secrets."""

    __slots__ = ("exact", "hints", "lower", "words")

    def __init__(self, exact: Literals, lower: Literals, words: list[str], hints: tuple[str, ...] = ()) -> None:
        self.exact = exact
        self.lower = lower
        self.words = words
        self.hints = hints


class Presence:
    """Finds which literals occur: ``words`` only inside long words, ``text`` anywhere, ``lower`` and ``hints`` in
    lower case."""

    def __init__(self, words: Literals, text: Literals, lower: Literals, hints: tuple[str, ...]) -> None:
        tables = words, text, lower, tuple([(hint, ()) for hint in hints])
        self._tables = tables
        #: By the first two characters of a literal: its table, its place there and itself. None is shorter.
        self._by_pair: dict[str, list[tuple[int, int, str]]] = {}
        for number, table in enumerate(tables):
            for place, (literal, _) in enumerate(table):
                self._by_pair.setdefault(literal[:2], []).append((number, place, literal))

    def find(self, text: str, lower: str) -> Keywords:
        """The literals that occur, each in the order of its table. ``lower`` is ``text`` in lower case."""
        pairs: Iterable[str] = self._by_pair
        if len(text) < _SHORT:
            near = set(map(add, text, text[1:]))
            if lower != text:
                near.update(map(add, lower, lower[1:]))
            pairs = self._by_pair.keys() & near
        words = [word for word in text.split() if len(word) >= LONG_WORD]
        where = " ".join(words), text, lower, lower
        there = [
            (number, place)
            for pair in pairs
            for number, place, literal in self._by_pair[pair]
            if literal in where[number]
        ]
        there.sort()
        found: tuple[list[tuple[str, tuple[int, ...]]], ...] = ([], [], [], [])
        for number, place in there:
            found[number].append(self._tables[number][place])
        exact = (*found[_TEXT], *found[_WORDS])
        return Keywords(exact, tuple(found[_LOWER]), words, tuple([hint for hint, _ in found[_HINTS]]))
