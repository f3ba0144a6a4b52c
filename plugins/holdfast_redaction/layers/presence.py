"""Finds the table's keywords in a string. Most text contains none of them, so no expression is tried."""

from __future__ import annotations

from holdfast_redaction.rules import table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    Literals = Sequence[tuple[str, tuple[int, ...]]]

#: The shortest word that can contain a keyword of ``table.WORDS``.
LONG_WORD = 16


class Words:
    """A text's distinct words."""

    __slots__ = ("exact", "long", "lower")

    def __init__(self, text: str) -> None:
        words = set(text.split())
        #: Each with a blank before and after, and the same in lower case.
        self.exact = f" {' '.join(words)} "
        self.lower = self.exact.lower()
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
    """The keywords that occur, in table order. ``lower`` is ``text`` in lower case.

    Keywords without a blank are searched in the distinct words, which are several times shorter than a long text."""
    words = Words(text)
    exact = [row for row in table.TEXT if row[0] in (text if " " in row[0] else words.exact)]
    if words.long:
        long = " ".join(words.long)
        exact += [row for row in table.WORDS if row[0] in long]
    in_lower = [row for row in table.LOWER if row[0] in (lower if " " in row[0] else words.lower)]
    return Keywords(exact, in_lower, words)
