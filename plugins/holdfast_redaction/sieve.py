"""Tells, with google-re2, which searches can find anything in a piece of text: in nearly all pieces none can.

An automaton reads a piece some hundred times as quickly as the searches do, whatever it looks for.
"""

from __future__ import annotations

import re

from holdfast_redaction import _table, names, needs, values
from holdfast_redaction.presence import LONG_WORD, Keywords

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

#: Names of searches beside those of ``needs.PERSONAL``.
FORMATS, CONTEXT, KEY = "formats", "context", "private-key"
EVERY = frozenset((FORMATS, CONTEXT, KEY, *needs.PERSONAL))

#: Characters of a piece: a search that may find something searches all of it.
_PIECE = 400
#: How far a search that begins in a piece can look before it, and how far behind it needs to: for what ``needs`` asks.
_BEFORE, _BEHIND = 220, 600
#: ... and how many blanks may lie between a name and the line below it that tells its value.
_BELOW = 81
_MEMORY = 32 << 20
_PLACEHOLDER = re.compile(r"\[REDACTED:[a-z0-9-]{1,60}:[0-9a-f]{4}\]")


def load() -> Sieve | None:
    """A sieve, or None when google-re2 is not installed or has no room for it."""
    try:
        import re2
    except ImportError:
        return None
    try:
        sieve = Sieve(re2)
    except re2.error:
        return None
    return sieve if sieve.is_sound() else None


class Sieve:
    """Sets of expressions. Several, since the states of one automaton for all would be the product of theirs."""

    def __init__(self, re2: Any) -> None:
        from holdfast_redaction._heads import HEADS

        self._re2 = re2
        anywhere, behind_a_sign = [[(FORMATS, head) for head in heads] for heads in HEADS]
        groups = [[*anywhere, (KEY, needs.KEY), *needs.PERSONAL.items()], behind_a_sign, [(CONTEXT, needs.CONTEXT)]]
        sets = [(self._set([e for _, e in group]), [search for search, _ in group]) for group in groups]
        self._asked = [(one.Match, searches) for one, searches in sets]
        self._exact = _table.WORDS + _table.TEXT
        escape = re2.escape
        lower = _table.LOWER + tuple([(hint, ()) for hint in names.HINTS])
        self._literals = self._set(
            [escape(word) for word, _ in self._exact] + ["(?i)" + escape(word) for word, _ in lower]
        )

    def _set(self, expressions: list[str]) -> Any:
        options = self._re2.Options()
        options.max_mem = _MEMORY
        made = self._re2.Set.SearchSet(options)
        for expression in expressions:
            made.Add(expression)
        made.Compile()
        return made

    def is_sound(self) -> bool:
        """Whether the automata work. One that lacks memory says nothing matches, and no error comes to Python."""
        text = 'AKIA0123456789ABCDEF password: "n0ne", jane@corp.dev -----BEGIN '
        return self.possible(text) >= {FORMATS, CONTEXT, KEY, "email"} and bool(self.keywords(text).exact)

    def possible(self, text: str) -> frozenset[str] | set[str]:
        """The searches that may find something in ``text``: all, when it cannot be handed to google-re2."""
        if values.MARK in text:  # the name of a rule is not that of a secret
            text = _PLACEHOLDER.sub(values.MARK + "]", text)
        try:
            data = text.encode()
        except UnicodeEncodeError:
            return EVERY
        found: set[str] = set()
        for match, searches in self._asked:
            matched = match(data)
            if matched:
                found.update([searches[index] for index in matched])
        return found

    def keywords(self, text: str) -> Keywords:
        """The keywords of formats and the hints at names of secrets that may occur in ``text``."""
        words = [word for word in text.split() if len(word) >= LONG_WORD]
        try:
            matched = self._literals.Match(text.encode()) or ()
        except UnicodeEncodeError:
            return Keywords(self._exact, _table.LOWER, words, names.HINTS)
        first = len(self._exact)
        last = first + len(_table.LOWER)
        exact, lower, hints = [], [], []
        for index in sorted(matched):
            if index < first:
                exact.append(self._exact[index])
            elif index < last:
                lower.append(_table.LOWER[index - first])
            else:
                hints.append(names.HINTS[index - last])
        return Keywords(tuple(exact), tuple(lower), words, tuple(hints))

    def pieces(self, text: str, start: int, end: int) -> Iterator[tuple[int, int, str]]:
        """``text[start:end]`` in pieces of whole lines where lines are short: where each begins and ends, and what
        ``possible`` is to be asked about it."""
        size = len(text)
        if size <= _PIECE and not start and end == size:
            yield 0, size, text
            return
        while start < end:
            stop = _cut(text, start, end)
            first = start if not start or text[start - 1] == "\n" else max(0, start - _BEFORE)
            if stop < size and text[stop - 1] == "\n":  # a value may stand below its name
                last = text.find("\n", stop + _BELOW, stop + _BEHIND)
                last = last + 1 if last >= 0 else stop + _BEHIND
            else:
                last = stop + _BEHIND
            yield start, stop, text[first:last]
            start = stop


def _cut(text: str, start: int, end: int) -> int:
    """Where a piece that begins at ``start`` ends: behind a line, else behind a word, else anywhere."""
    stop = start + _PIECE
    if stop >= end:
        return end
    line = text.rfind("\n", start, stop)
    return (line if line >= 0 else max(text.rfind(" ", start + _PIECE // 2, stop), stop - 1)) + 1
