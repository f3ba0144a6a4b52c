"""Which literals occur in a text. Nearly all texts hold none of a table's keywords, so this is where time goes.

Without a library: one ``in`` for each keyword, of which most are looked for in the long words only. With google-re2:
one pass over the text for all of them, some fifty times as quick. Importing it costs more than searching a note does,
so that happens only once a process has read enough text to gain from it.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: Characters that a process has searched before google-re2 is imported: what that costs is what they cost without it.
WORTH_IMPORTING = 100_000
#: The shortest word that is looked at for a keyword of the class "words".
LONG_WORD = 16

#: Characters from which on a text is asked for shapes: in a shorter one looking for them costs less than asking.
_WORTH_ASKING = 500

Literals = tuple[tuple[str, tuple[int, ...]], ...]


class Presence:
    """Finds which literals occur: ``words`` only inside long words, ``text`` anywhere, ``lower`` in lower case.

    ``shapes`` are names and expressions of RE2, each for what something that is searched for must at least hold.
    """

    def __init__(self, words: Literals, text: Literals, lower: Literals, shapes: dict[str, str]) -> None:
        self._words = words
        self._text = text
        self._lower = lower
        self._shapes = shapes
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
        found = [entry for entry in self._text if entry[0] in text]
        long = " ".join([w for w in text.split() if len(w) >= LONG_WORD])
        if long:
            found += [entry for entry in self._words if entry[0] in long]
        return tuple(found), tuple([entry for entry in self._lower if entry[0] in lower]), self._every

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
        if len(text) < _WORTH_ASKING:
            return tuple(exact), tuple(lower), self._every
        return tuple(exact), tuple(lower), frozenset([self._names[index] for index in shapes.Match(text) or ()])
