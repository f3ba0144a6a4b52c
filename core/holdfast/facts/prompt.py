"""The memory block for a system prompt: profile and facts as compact text that never exceeds its budget.

    User Context:
    - Work: ...
    - Personal: ...
    - Current Focus: ...

    History:
    - Recent: ...
    - Earlier: ...
    - Background: ...

    Facts:
    - [preference | 0.90] Prefers tabs

Empty parts are left out. Facts are sorted by confidence, and of equals the newest is first. When the budget is too
small, facts are dropped from the end and a last line counts them, "3 more facts: holdfast facts". Then characters are
cut from the end, and only then the text ends with a newline and three dots. Source: R062-R069, readings A15-A18.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Final

from attrs import define, field

from holdfast.config import provenance
from holdfast.config.layout import Surface
from holdfast.errors import BadValue, Refused
from holdfast.facts import profile
from holdfast.text import recall
from holdfast.text.lazy import log

if TYPE_CHECKING:
    from holdfast.models import Fact, Profile
    from holdfast.session.services import Services

logger = log(__name__)

MARKER: Final = "\n..."
_USER = ("User Context:", ("work", "personal", "top_of_mind"))
_HISTORY = ("History:", ("recent", "earlier", "background"))
_FACTS: Final = "Facts:"
#: Token cost of a line with a ninety-character fact, and how many extra lines are read.
_LINE_TOKENS: Final = 28
_SPARE: Final = 4
#: Lines used to estimate how many will fit.
_SAMPLE: Final = 16
_UNPRINTABLE: Final = tuple(map(chr, (*range(32), 127)))  # in ASCII


def prompt(services: Services, max_tokens: int, count: Callable[[str], int], *, fenced: bool = False) -> str:
    """The block, at most ``max_tokens`` by ``count``. The cost depends on the output, not on the store's size.

    ``fenced`` puts it between the tags of recalled text and escapes ``<``, ``>`` and ``&``. Stored data passes the
    gate again, so a rule newer than a fact applies to it too, and a fact that would now be refused is omitted. So
    is memory that came with a clone, unless the user trusts it.
    Raises: BadValue for a negative budget; PluginError when a validator is broken; Corrupt, Unavailable.
    """
    if not isinstance(max_tokens, int):
        raise BadValue("max_tokens", "is not a whole number")
    if max_tokens < 0:
        raise BadValue("max_tokens", "cannot be negative")
    with services.store.backend.reading():
        return _prompt(services, max_tokens, count, fenced=fenced)


def _prompt(services: Services, max_tokens: int, count: Callable[[str], int], *, fenced: bool) -> str:
    withheld = services.store.is_withheld(provenance.FACTS)
    backend = services.store.backend
    stored = backend.count_facts()
    if withheld and stored:
        logger.warning("the facts are left out of the prompt because they came with an untrusted clone")
    head = _admitted(services, _profile_text(profile.recalled(services)))
    limit = min(max_tokens // _LINE_TOKENS + _SPARE, sys.maxsize)
    while True:
        # A listing with a limit costs the store one read; if it is too short, it is read again with a larger limit.
        facts = iter(()) if withheld else backend.strongest(limit)
        block = _Block(budget=max_tokens, count=count, fenced=fenced, head=head, stored=0 if withheld else stored)
        if not block.fill(partial(_admit_facts, services), facts) or block.taken < limit:
            if block.left_out and not block.lines:
                logger.warning("no fact fits into %d tokens; shorten the strongest fact", max_tokens)
            return block.text()
        limit = max(limit * 3 // 2, block.would_take() + _SPARE) if block.lines else limit * 3


def fact_lines(facts: Sequence[Fact]) -> tuple[list[str], bool]:
    """``- [category | 0.90] content`` of each on one line, and whether all of that is printable.

    Source: R066, reading A18.
    """
    # Many have the same confidence, and to write a number takes longer than all else. Minus zero is zero.
    shown = {number: f"{number + 0.0:.2f}" for number in {fact.confidence for fact in facts}}
    lines = [f"- [{fact.category} | {shown[fact.confidence]}] {fact.content}" for fact in facts]
    if _printable("".join(lines)):  # checking all lines together takes a third of the time of checking each
        return lines, True
    return [f"- [{fact.category} | {shown[fact.confidence]}] {_one_line(fact.content)}" for fact in facts], False


def _one_line(text: str) -> str:
    return text if text.isprintable() else " ".join(text.split())


def _printable(text: str) -> bool:
    """``text.isprintable()``, faster for a long ASCII string, because a string knows whether it is ASCII."""
    if not text.isascii():
        return text.isprintable()
    return not any(map(text.__contains__, _UNPRINTABLE))


@define(kw_only=True)
class _Block:
    """The block under construction, with its head and as many lines as fit."""

    budget: int
    count: Callable[[str], int]
    fenced: bool
    head: str
    stored: int
    lines: list[str] = field(factory=list)
    taken: int = 0  # facts, of which some may have been refused
    refused: int = 0  # facts that a validator refuses now
    left_out: int = 0  # lines that did not fit
    _longest: str | None = None  # the longest text found to fit
    _most: int = 0  # ... and how many lines it has

    def fill(self, admit: Callable[[Sequence[Fact], list[str], bool], list[str]], facts: Iterator[Fact]) -> bool:
        """Put in as many lines as fit, taking few facts more. Returns whether all did."""
        room, share = self._room(0), _SAMPLE
        while room >= 0 and (part := list(islice(facts, share))):
            lines, printable = fact_lines(part)
            if not self.taken and (more := list(islice(facts, self._share(lines, room)))):
                further, also = fact_lines(more)
                part += more
                lines += further
                printable = printable and also
            admitted = admit(part, lines, printable)
            self.lines += admitted
            self.taken += len(part)
            self.refused += len(part) - len(admitted)
            room = self._room(len(self.lines))
            share = _share(self.taken, self.budget - room, room)
        if room < 0:
            fitting = self._fitting(-room)
            self.left_out = len(self.lines) - fitting
            del self.lines[fitting:]
        return room >= 0

    def would_take(self) -> int:
        """How many facts it would have included had there been more of them."""
        return _share(self.taken, self.count(self._render(len(self.lines))), self.budget)

    def _share(self, lines: list[str], room: int) -> int:
        """How many more fit in addition to these lines."""
        return max(0, _share(len(lines), self.count("\n".join(lines)), room) - len(lines))

    def text(self) -> str:
        """The finished block. Without lines the head is cut, if it has to be."""
        if self._longest is not None:
            return self._counted() if self._others(self._most) else self._longest
        if self.count(self._cut(0)) > self.budget:
            return ""
        near = len(self.head) * self.budget // self.count(self._render(0))
        return self._cut(_largest(len(self.head) - 1, near, lambda n: self.count(self._cut(n)) <= self.budget))

    def _counted(self) -> str:
        """The block with as many lines as fit next to the count of the other facts.

        The count never replaces the last line. When it does not fit beside one line, that line stands alone, even
        where two would fit: a smaller budget never shows more facts than a larger one.
        """

        def fits(lines: int) -> bool:
            return self.count(self._render(lines, self._others(lines))) <= self.budget

        lines = _largest(self._most, self._most, fits)
        if lines or (self._most == 0 and self.head and fits(0)):
            return self._render(lines, self._others(lines))
        alone = self._render(min(self._most, 1))
        return alone if self.count(alone) <= self.budget else self._longest or ""

    def _others(self, lines: int) -> int:
        """The number of facts after the first ``lines`` lines, without the refused ones."""
        return max(0, self.stored - self.refused - lines)

    def _fitting(self, over: int) -> int:
        """How many lines fit when all of them cost ``over`` tokens too many."""
        near = len(self.lines)
        while near and over > 0:
            near -= 1
            over -= self.count(self.lines[near])
        return _largest(len(self.lines) - 1, near, lambda n: self._room(n) >= 0)

    def _room(self, lines: int) -> int:
        """Tokens left after this many lines, below zero when they do not fit."""
        text = self._render(lines)
        room = self.budget - self.count(text)
        if room >= 0 and lines >= self._most:
            self._most, self._longest = lines, text
        return room

    def _render(self, lines: int, others: int = 0) -> str:
        more = [f"{others} more {'fact' if others == 1 else 'facts'}: holdfast facts"] if others else []
        facts = "\n".join([_FACTS, *self.lines[:lines], *more]) if lines or more else ""
        return self._framed(f"{self.head}\n\n{facts}" if self.head and facts else self.head or facts)

    def _cut(self, chars: int) -> str:
        return self._framed(self.head[:chars] + MARKER)

    def _framed(self, text: str) -> str:
        if not self.fenced or not text:
            return text
        return f"{recall.OPEN}\n{recall.escape(text)}\n{recall.CLOSE}"


def _share(some: int, cost: int, room: int) -> int:
    """How many fit into ``room`` when ``some`` cost ``cost``, and one more, to see that no more fit."""
    return min(some * room // max(1, cost) + 1, sys.maxsize)


def _largest(most: int, near: int, fits: Callable[[int], bool]) -> int:
    """The largest number up to ``most`` that fits, or 0: looked for from ``near`` on in growing steps, then by halves.

    A counter may find a longer text cheaper (byte pairs merge). The returned number was itself checked to fit.
    """
    low, high, step = 0, most, 1
    near = min(max(near, 1), most)
    while low < high:
        if fits(near):
            low, near = near, near + step
        else:
            high, near = near - 1, near - step
        if not low < near <= high:
            near = (low + high + 1) // 2
        step *= 2
    return low


def _profile_text(known: Profile) -> str:
    blocks = []
    for title, names in (_USER, _HISTORY):
        rows = [f"- {profile.ANCHORS[n]}: {_one_line(text)}" for n in names if (text := getattr(known, n)).strip()]
        if rows:
            blocks.append("\n".join([title, *rows]))
    return "\n\n".join(blocks)


def _admitted(services: Services, head: str) -> str:
    try:
        return services.gate.admit(head, surface=Surface.PROFILE).strip() if head else ""
    except Refused:
        logger.warning("the profile is left out of the prompt because a validator now refuses it")
        return ""


def _admit_facts(services: Services, facts: Sequence[Fact], lines: list[str], printable: bool) -> list[str]:
    """The lines of ``facts`` as they pass the gate now. In ``printable`` ones it has no line end to look for."""
    whole = "\n".join(lines)
    try:
        if services.gate.admit(whole, surface=Surface.FACT, verbatim=printable) == whole:
            return lines  # as mostly; to put borders between them and to part them again takes as long as to write them
        return services.gate.admit_all(lines, surface=Surface.FACT)
    except Refused:
        if len(lines) > 1:
            return [
                line
                for fact, own in zip(facts, lines, strict=True)
                for line in _admit_facts(services, [fact], [own], printable)
            ]
        logger.warning("fact %s is left out of the prompt because a validator now refuses it", facts[0].id)
        return []
