"""Which literals occur in a text. Nearly all texts hold none of a table's keywords, so this is where time goes.

Without a library: one ``in`` for each keyword, of which most are looked for in the long words only. With google-re2:
one pass over the text for all of them, some fifty times as quick. Importing it costs more than searching a note does,
so that happens only once a process has read enough text to gain from it.
"""

from __future__ import annotations

from operator import add

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: Characters that a process has searched before google-re2 is imported: what that costs is what they cost without it.
WORTH_IMPORTING = 100_000
#: The shortest word that is looked at for a keyword of the class "words".
LONG_WORD = 16

#: Below this many characters a text is not asked for shapes, since looking for them costs less than asking; and without
#: google-re2 only those literals are looked for whose first two characters stand side by side in the text.
_SHORT = 500

Literals = tuple[tuple[str, tuple[int, ...]], ...]
Placed = tuple[int, tuple[str, tuple[int, ...]]]


class Presence:
    """Finds which literals occur: ``words`` only inside long words, ``text`` anywhere, ``lower`` in lower case.

    ``shapes`` are names and expressions of RE2, each for what something that is searched for must at least hold.
    """

    def __init__(self, words: Literals, text: Literals, lower: Literals, shapes: dict[str, str]) -> None:
        self._words = words
        self._text = text
        self._lower = lower
        self._shapes = shapes
        self._by_pair = (_by_pair(words), _by_pair(text), _by_pair(lower))
        self._names = tuple(shapes)
        self._every = frozenset(shapes)
        self._searched = 0
        self._sets: tuple[Any, Any] | None = None

    def find(self, text: str, lower: str) -> tuple[Literals, Literals, frozenset[str]]:
        """The literals that occur as they are, those that occur in ``lower``, each in the order of its table and with
        google-re2 perhaps some more, and the names of the shapes that may occur."""
        self._searched += len(text)
        if self._sets is None and self._searched > WORTH_IMPORTING:
            self._sets = self._compiled() or (None, None)
        if self._sets and self._sets[0]:
            try:
                return self._matched(text.encode())
            except UnicodeEncodeError:  # a lone surrogate cannot be handed to google-re2
                pass
        in_words, in_text, in_lower = self._by_pair
        pairs = set(map(add, text, text[1:])) if len(text) < _SHORT else in_words.keys() | in_text.keys()
        found = _occurring(in_text, pairs, text)
        long = " ".join([w for w in text.split() if len(w) >= LONG_WORD])
        if long:
            found += _occurring(in_words, pairs, long)
        if len(text) >= _SHORT:
            pairs = set(in_lower)
        elif lower != text:
            pairs = set(map(add, lower, lower[1:]))
        return tuple(found), tuple(_occurring(in_lower, pairs, lower)), self._every

    def _compiled(self) -> tuple[Any, Any] | None:
        """A set of the literals and one of the shapes, or None when google-re2 is not installed."""
        try:
            import re2
        except ImportError:
            return None
        literals, shapes = re2.Set.SearchSet(), re2.Set.SearchSet()
        for literal, _ in self._words + self._text:
            literals.Add(re2.escape(literal))
        for literal, _ in self._lower:
            literals.Add("(?i)" + re2.escape(literal))
        for expression in self._shapes.values():
            shapes.Add(expression)
        literals.Compile()
        shapes.Compile()
        return literals, shapes

    def _matched(self, text: bytes) -> tuple[Literals, Literals, frozenset[str]]:
        assert self._sets
        literals, shapes = self._sets
        exact, lower = [], []
        words, texts = len(self._words), len(self._words) + len(self._text)
        for index in sorted(literals.Match(text) or ()):
            if index >= texts:
                lower.append(self._lower[index - texts])
            else:
                exact.append(self._words[index] if index < words else self._text[index - words])
        if len(text) < _SHORT:
            return tuple(exact), tuple(lower), self._every
        return tuple(exact), tuple(lower), frozenset([self._names[index] for index in shapes.Match(text) or ()])


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
