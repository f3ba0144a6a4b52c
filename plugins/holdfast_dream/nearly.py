"""Decides whether a statement repeats part of another in nearly the same words.

    The backfill keeps the first row of a pair and marks the others with duplicate_of; it deletes nothing
    The backfill marks repeated rows with duplicate_of and deletes nothing

Both begin with the same thing, name the same identifier, and use nearly the same words in nearly the same order. A word
that limits a statement to a case ("on staging", "for admins") makes it a different statement.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Final

from holdfast_dream.grounding.lexicon import NEGATORS, STOP, words
from holdfast_dream.grounding.restating import Statement, read
from holdfast_dream.grounding.tokens import Token

#: Minimum number of common words, and their minimum share of the shorter statement.
_SHARED: Final = 5
_SHARE: Final = 0.8
#: Maximum number of statements with a common identifier to compare.
_COMPARED: Final = 24
_LIMITING: Final = words(
    "on in at for when if unless except only before after during under over until while without per from to via within"
    " outside inside by"
)
_DIRECTIONS: Final = words("from to into onto before after than by")
_KINDS: Final = ("identifier", "path", "email", "url")


def identifiers(statement: Statement) -> frozenset[str]:
    """The identifiers, paths and addresses in ``statement``."""
    return frozenset(t.text.lower() for t in statement.tokens if t.kind in _KINDS)


def is_part(less: Statement, more: Statement) -> bool:
    """Whether ``less`` adds nothing to ``more``."""
    if less.turned != more.turned or not identifiers(less) or not identifiers(less) <= identifiers(more):
        return False
    small, large = _content(less), _content(more)
    names = [token.root for token in large]
    shared = [token.root for token in small if token.root in names]
    if len(small) > len(large) or len(shared) < _SHARED or len(shared) < _SHARE * len(small):
        return False
    if small[0].root != large[0].root or not (_in_order(shared, names) or _one_is_moved(less, more, shared, names)):
        return False
    both = set(shared)
    return not any(_limits(one, both) for one in (less, more))


class Seen:
    """Statements by their identifiers. Each has a key."""

    def __init__(self) -> None:
        self._by_identifier: dict[str, dict[str, Statement]] = {}

    def add(self, key: str, text: str) -> None:
        """Add a statement, as the newest."""
        statement = read(text)
        for name in identifiers(statement):
            self._by_identifier.setdefault(name, {})[key] = statement

    def remove(self, key: str) -> None:
        """Remove a statement. A missing statement is not an error."""
        for table in self._by_identifier.values():
            table.pop(key, None)

    def saying_more(self, text: str) -> str | None:
        """Key of a statement that ``text`` partly repeats."""
        new = read(text)
        return next((key for key, old in self._near(new) if is_part(new, old)), None)

    def saying_less(self, text: str) -> Iterable[str]:
        """Keys of statements that repeat part of ``text``."""
        new = read(text)
        return [key for key, old in self._near(new) if is_part(old, new)]

    def _near(self, new: Statement) -> Iterable[tuple[str, Statement]]:
        tables = [self._by_identifier.get(name, {}) for name in sorted(identifiers(new))]
        smallest = min(tables, key=len, default={})
        return list(islice(reversed(smallest.items()), _COMPARED))


def _content(statement: Statement) -> list[Token]:
    return [t for t in statement.tokens if t.kind != "word" or t.text.lower() not in STOP | NEGATORS]


def _in_order(shared: list[str], names: list[str]) -> bool:
    """Whether ``shared`` appears in ``names`` in order."""
    rest = iter(names)
    return all(name in rest for name in shared)


def _one_is_moved(less: Statement, more: Statement, shared: list[str], names: list[str]) -> bool:
    """Whether only one word is in a different place, and its place does not express a direction."""
    directed = any(t.text.lower() in _DIRECTIONS for one in (less, more) for t in one.tokens)
    return not directed and any(_in_order(shared[:at] + shared[at + 1 :], names) for at in range(1, len(shared)))


def _limits(statement: Statement, both: set[str]) -> bool:
    """Whether a word present on only one side limits the statement, or is a value."""
    tokens = statement.tokens
    for at, token in enumerate(tokens):
        low = token.text.lower()
        if token.root in both or low in STOP | NEGATORS:
            continue
        before = [t.text.lower() for t in tokens[max(0, at - 2) : at]]
        if token.is_claim or low[:1].isdigit() or (token.text[:1].isupper() and at):
            return True
        if before and (before[-1] in _LIMITING or (before[0] in _LIMITING and before[-1] in STOP)):
            return True
    return False
