"""Which literals occur in a text, without any library: most texts hold none of a table's keywords.

One ``in`` for each keyword, of which most are looked for in the long words only; in a short text only those whose
first two characters stand side by side in it.
"""

from __future__ import annotations

from operator import add

#: The shortest word that is looked at for a keyword of the class "words".
LONG_WORD = 16
#: Below this many characters the pairs of characters of a text are made, to leave out most of the literals.
_SHORT = 500

Literals = tuple[tuple[str, tuple[int, ...]], ...]
Placed = tuple[int, tuple[str, tuple[int, ...]]]


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
        self._words, self._text, self._lower = _by_pair(words), _by_pair(text), _by_pair(lower)
        self._hints = _by_pair(tuple([(hint, ()) for hint in hints]))

    def find(self, text: str, lower: str) -> Keywords:
        """The literals that occur, each in the order of its table. ``lower`` is ``text`` in lower case."""
        pairs = set(map(add, text, text[1:])) if len(text) < _SHORT else self._words.keys() | self._text.keys()
        found = _occurring(self._text, pairs, text)
        words = [word for word in text.split() if len(word) >= LONG_WORD]
        if words:
            found += _occurring(self._words, pairs, " ".join(words))
        if len(text) >= _SHORT:
            pairs = self._lower.keys() | self._hints.keys()
        elif lower != text:
            pairs = set(map(add, lower, lower[1:]))
        hints = tuple([hint for hint, _ in _occurring(self._hints, pairs, lower)])
        return Keywords(tuple(found), tuple(_occurring(self._lower, pairs, lower)), words, hints)


def _by_pair(table: Literals) -> dict[str, list[Placed]]:
    """The literals by their first two characters, each with its place in the table. None is shorter."""
    found: dict[str, list[Placed]] = {}
    for place, entry in enumerate(table):
        found.setdefault(entry[0][:2], []).append((place, entry))
    return found


def _occurring(by_pair: dict[str, list[Placed]], pairs: set[str], text: str) -> list[tuple[str, tuple[int, ...]]]:
    """The literals that ``text`` holds, in the order of their table; ``pairs`` are the first two characters of
    those to look for."""
    near = [placed for pair in by_pair.keys() & pairs for placed in by_pair[pair] if placed[1][0] in text]
    return [entry for _, entry in sorted(near)]
