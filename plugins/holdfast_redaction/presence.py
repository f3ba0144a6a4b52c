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

Literals = tuple[tuple[str, tuple[int, ...]], ...]


class Presence:
    """Finds which literals occur: ``words`` only inside long words, ``text`` anywhere, ``lower`` in lower case."""

    def __init__(self, words: Literals, text: Literals, lower: Literals) -> None:
        self._words = words
        self._text = text
        self._lower = lower
        self._searched = 0
        self._sets: tuple[Any, Any] | None = None

    def find(self, text: str, lower: str) -> tuple[Literals, Literals]:
        """The literals that occur as they are, and those that occur in ``lower``."""
        self._searched += len(text)
        if self._sets is None and self._searched > WORTH_IMPORTING:
            self._sets = _sets(self._words + self._text, self._lower) or (None, None)
        if self._sets and self._sets[0]:
            try:
                return (
                    _matched(self._sets[0], text, self._words + self._text),
                    _matched(self._sets[1], lower, self._lower),
                )
            except UnicodeEncodeError:  # a lone surrogate cannot be handed to google-re2
                pass
        found = [entry for entry in self._text if entry[0] in text]
        long = " ".join([w for w in text.split() if len(w) >= LONG_WORD])
        if long:
            found += [entry for entry in self._words if entry[0] in long]
        return tuple(found), tuple([entry for entry in self._lower if entry[0] in lower])


def _sets(*tables: Literals) -> tuple[Any, Any] | None:
    """One compiled set of literals a table, or None when google-re2 is not installed."""
    try:
        import re2
    except ImportError:
        return None
    made = []
    for table in tables:
        literals = re2.Set.SearchSet()
        for literal, _ in table:
            literals.Add(re2.escape(literal))
        literals.Compile()
        made.append(literals)
    return made[0], made[1]


def _matched(literals: Any, text: str, table: Literals) -> Literals:
    return tuple([table[index] for index in literals.Match(text) or ()])
