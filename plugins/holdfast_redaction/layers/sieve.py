"""Selects, with google-re2, the searches that can find anything in a piece of text. For nearly all pieces it is none.

An automaton reads a piece about a hundred times faster than the searches, whatever it matches.
"""

from __future__ import annotations

import re

from holdfast.text.lazy import Lazy
from holdfast_redaction.layers import needs, values
from holdfast_redaction.layers.presence import Keywords
from holdfast_redaction.rules import _table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

#: Names of the searches not in ``needs.PERSONAL``.
FORMATS, CONTEXT, STRIKING, KEY = "formats", "context", "striking", "private-key"
EVERY = frozenset((FORMATS, CONTEXT, STRIKING, KEY, *needs.PERSONAL))
NOTHING: frozenset[str] = frozenset()

#: Characters per piece. A selected search reads the whole piece.
_PIECE = 400
#: Characters before and after a piece that a search may read, as far as ``needs`` requires them.
_BEFORE, _BEHIND = 220, 600
#: ... and the maximum blanks between a name and the line below it with the value.
_BELOW = 81
#: Signs after which no value follows on the next line, and beginnings of a line that holds a value for the line above.
_ENDS = frozenset(".,;!?)]}")
_VALUE_BELOW = Lazy(r"\n\s{0,40}(?:[:=]|,?\s{0,40}(?:-\s)?[\"']?value)")
_MEMORY = 32 << 20
_PLACEHOLDER = re.compile(r"\[REDACTED:[a-z0-9-]{1,60}:[0-9a-f]{4}\]")


def load() -> Sieve | None:
    """A sieve, or None when google-re2 is not installed or lacks memory."""
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
    """Several sets of expressions, because a single automaton would multiply their states."""

    def __init__(self, re2: Any) -> None:
        from holdfast_redaction.rules._heads import HEADS

        self._re2 = re2
        anywhere, behind_a_sign = HEADS
        self._searches = (*[FORMATS for _ in anywhere], KEY, *needs.PERSONAL)
        self._anywhere = self._set([*anywhere, needs.KEY, *needs.PERSONAL.values()])
        # Words near their noun share an automaton with the formats that begin a word, which needs the fewest states.
        self._searches_behind = (STRIKING, *[FORMATS for _ in behind_a_sign])
        self._behind_a_sign = self._set([needs.NEAR, *behind_a_sign])
        self._context = self._set([needs.CONTEXT])
        self._exact = _table.WORDS + _table.TEXT
        escape = re2.escape
        self._literals = self._set(
            [escape(word) for word, _ in self._exact] + ["(?i)" + escape(word) for word, _ in _table.LOWER]
        )

    def _set(self, expressions: Sequence[str]) -> Callable[[bytes], list[int] | None]:
        """Indexes of matching expressions, unordered."""
        options = self._re2.Options()
        options.max_mem = _MEMORY
        made = self._re2.Set.SearchSet(options)
        for expression in expressions:
            made.Add(expression)
        made.Compile()
        # Use the extension's own method if possible, because its wrapper costs as much as scanning a short string.
        inner = getattr(made, "_set", made)
        match: Callable[[bytes], list[int] | None] = inner.Match
        return match

    def is_sound(self) -> bool:
        """Whether the automata work. Without enough memory an automaton matches nothing and raises no error."""
        text = 'AKIA0123456789ABCDEF password: "n0ne", jane@corp.dev -----BEGIN '
        return self.possible(text) >= {FORMATS, CONTEXT, KEY, "email"} and bool(self.keywords(text).exact)

    def possible(self, text: str) -> frozenset[str] | set[str]:
        """The searches that may find something in ``text``. All of them when google-re2 cannot read it."""
        data = _encoded(text)
        if data is None:
            return EVERY
        matched, behind_a_sign, context = self._anywhere(data), self._behind_a_sign(data), self._context(data)
        if not (matched or behind_a_sign or context):
            return NOTHING
        found = {self._searches[index] for index in matched} if matched else set()
        if behind_a_sign:
            found.update([self._searches_behind[index] for index in behind_a_sign])
        if context:
            found.add(CONTEXT)
        return found

    def keywords(self, text: str) -> Keywords:
        """The keywords of formats that may occur in ``text``."""
        try:
            matched = self._literals(text.encode()) or []
        except UnicodeEncodeError:
            return Keywords(self._exact, _table.LOWER)
        matched.sort()
        first = len(self._exact)
        return Keywords(
            [self._exact[index] for index in matched if index < first],
            [_table.LOWER[index - first] for index in matched if index >= first],
        )

    def pieces(self, text: str, areas: list[tuple[int, int]] | None) -> Iterable[tuple[int, int, str]]:
        """``text``, or its ``areas``, in pieces of whole lines where lines are short: start and end of each, and the
        text to pass to ``possible``."""
        size = len(text)
        if size <= _PIECE and not areas:
            return ((0, size, text),)
        return (piece for start, end in areas or [(0, size)] for piece in _cut_up(text, start, end))

    def lines(self, text: str, lower: str, start: int, end: int, *, striking: bool) -> Iterator[tuple[int, int]]:
        """Of ``text[start:end]``, a piece in which a name may be given a secret, the lines in which it may be.
        ``lower`` is ``text`` in lower case, of the same length; ``striking`` says whether one may be near to its name
        without being given to it."""
        if text.find("\n", start, end - 1) < 0:  # a single line was searched already
            yield start, end
            return
        near = lower[start : end + _BELOW]
        odd = "|" in near or "<" in near or ">" in near or _VALUE_BELOW.search(near) is not None
        while start < end:
            stop = text.find("\n", start, end) + 1 or end
            first = start if not start or text[start - 1] == "\n" else max(0, start - _BEFORE)
            last = stop if not odd and _is_closed(lower, start, stop) else _below(text, stop)
            data = _encoded(text[first:last])
            if data is None or self._context(data) or (striking and self._is_striking(data)):
                yield start, stop
            start = stop

    def _is_striking(self, data: bytes) -> bool:
        return self._searches_behind.index(STRIKING) in (self._behind_a_sign(data) or ())


def _encoded(text: str) -> bytes | None:
    """``text`` prepared for google-re2, without the rule names in earlier placeholders, which are not secrets' names.
    None when google-re2 cannot read it."""
    if values.MARK in text:
        text = _PLACEHOLDER.sub(values.MARK + "]", text)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return None


def _cut_up(text: str, start: int, end: int) -> Iterator[tuple[int, int, str]]:
    while start < end:
        stop = _cut(text, start, end)
        first = start if not start or text[start - 1] == "\n" else max(0, start - _BEFORE)
        last = _below(text, stop) if text[stop - 1] == "\n" else stop + _BEHIND
        yield start, stop, text[first:last]
        start = stop


def _cut(text: str, start: int, end: int) -> int:
    """Where a piece from ``start`` ends: after a line, or after a word, or anywhere."""
    stop = start + _PIECE
    if stop >= end:
        return end
    line = text.rfind("\n", start, stop)
    return (line if line >= 0 else max(text.rfind(" ", start + _PIECE // 2, stop), stop - 1)) + 1


def _below(text: str, stop: int) -> int:
    """Where the lines end that follow the line end ``stop`` and may contain a value for the line above."""
    return text.find("\n", stop + _BELOW, stop + _BEHIND) + 1 or stop + _BEHIND


def _is_closed(lower: str, start: int, stop: int) -> bool:
    """Whether no value can follow below the line ``lower[start:stop]``. It can after a quote, a sign or "is"."""
    last = lower[stop - 2 : stop - 1]
    return (
        lower[stop - 1] == "\n"
        and (last.isalnum() or last in _ENDS)
        and not lower.endswith(("is", "was"), start, stop - 1)
    )
