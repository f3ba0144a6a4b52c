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

Empty parts are left out. What does not fit leaves in this order: facts, the weakest first; then characters from the
end, and only then the text ends with a newline and three dots. Source: R062-R069, readings A15-A18.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final

from attrs import define, field

from holdfast import profile, recall
from holdfast.errors import BadValue, Refused
from holdfast.layout import Surface
from holdfast.storage import FactOrder

if TYPE_CHECKING:
    from holdfast.models import Fact, Profile
    from holdfast.services import Services

logger = logging.getLogger(__name__)

MARKER: Final = "\n..."
_USER = ("User Context:", ("work", "personal", "top_of_mind"))
_HISTORY = ("History:", ("recent", "earlier", "background"))
_FACTS: Final = "Facts:"
#: What a line with a fact of ninety characters costs, and how many lines are read beyond what that says.
_LINE_TOKENS: Final = 28
_SPARE: Final = 4
#: Lines that tell how many will fit.
_SAMPLE: Final = 16


def prompt(services: Services, max_tokens: int, count: Callable[[str], int], *, fenced: bool = False) -> str:
    """The block, at most ``max_tokens`` by ``count``. Costs what it prints, not what is stored.

    ``fenced`` puts it between the tags of recalled text and escapes ``<``, ``>`` and ``&``. What is read passes the
    gate again: a rule that is newer than a fact holds for it too, and a fact that would now be refused is left out.
    Raises: BadValue for a negative budget; PluginError when a validator is broken; Corrupt, Unavailable.
    """
    if max_tokens < 0:
        raise BadValue("max_tokens", "cannot be negative")
    head = _admitted(services, _profile_text(profile.load(services)))
    limit = max_tokens // _LINE_TOKENS + _SPARE
    while True:
        # A listing of a known length costs the store one look; one that was too short is read again, longer.
        facts = iter(services.store.backend.facts(FactOrder.CONFIDENCE, limit))
        block = _Block(budget=max_tokens, count=count, fenced=fenced, head=head)
        if not block.fill(lambda part, lines: _admit_facts(services, part, lines), facts) or block.taken < limit:
            return block.text()
        limit = max(limit * 3 // 2, block.would_take()) if block.lines else limit * 3


def fact_line(fact: Fact) -> str:
    """``- [category | 0.90] content`` on one line. Source: R066, reading A18."""
    text = fact.content if fact.content.isprintable() else _one_line(fact.content)
    return f"- [{fact.category} | {fact.confidence:.2f}] {text}"


def _one_line(text: str) -> str:
    return text if text.isprintable() else " ".join(text.split())


@define(kw_only=True)
class _Block:
    """The text under construction: the head, and as many lines as fit."""

    budget: int
    count: Callable[[str], int]
    fenced: bool
    head: str
    lines: list[str] = field(factory=list)
    taken: int = 0  # facts, of which some may have been refused

    def fill(self, admit: Callable[[Sequence[Fact], list[str]], list[str]], facts: Iterator[Fact]) -> bool:
        """Put in as many lines as fit, taking few facts more. Returns whether all did."""
        while (room := self.budget - self.count(self._render(len(self.lines)))) >= 0:
            part = list(islice(facts, _SAMPLE))
            if not part:
                break
            lines = list(map(fact_line, part))
            share = _share(len(part), self.count("\n".join(lines)), room)
            part.extend(islice(facts, max(0, share - len(part))))
            lines.extend(map(fact_line, part[len(lines) :]))
            self.lines.extend(admit(part, lines))
            self.taken += len(part)
        if room < 0:
            del self.lines[_largest(len(self.lines) - 1, self._fits) :]
        return room >= 0

    def would_take(self) -> int:
        """How many facts it would have taken in had there been more of them."""
        return _share(self.taken, self.count(self._render(len(self.lines))), self.budget)

    def text(self) -> str:
        """The finished block. Without lines the head is cut, if it has to be."""
        whole = self._render(len(self.lines))
        if self.count(whole) <= self.budget:
            return whole
        if self.count(self._cut(0)) > self.budget:
            return ""
        return self._cut(_largest(len(self.head) - 1, lambda n: self.count(self._cut(n)) <= self.budget))

    def _fits(self, lines: int) -> bool:
        return self.count(self._render(lines)) <= self.budget

    def _render(self, lines: int) -> str:
        facts = "\n".join([_FACTS, *self.lines[:lines]]) if lines else ""
        return self._framed(f"{self.head}\n\n{facts}" if self.head and facts else self.head or facts)

    def _cut(self, chars: int) -> str:
        return self._framed(self.head[:chars] + MARKER)

    def _framed(self, text: str) -> str:
        if not self.fenced or not text:
            return text
        return f"{recall.OPEN}\n{recall.escape(text)}\n{recall.CLOSE}"


def _share(some: int, cost: int, room: int) -> int:
    """How many fit into ``room`` when ``some`` cost ``cost``, and a few more, since the gate may shorten or refuse."""
    return some * room * 51 // (max(1, cost) * 50) + _SPARE


def _largest(most: int, fits: Callable[[int], bool]) -> int:
    """The largest number up to ``most`` that fits, given that what fits is mostly the smaller ones; 0 when none does.

    A counter may find a longer text cheaper (byte pairs merge), so the number found is tried again, downwards.
    """
    low, high = 0, most
    near = most - 2 * _SPARE  # where the answer mostly is
    if near > 0:
        low, high = (near, most) if fits(near) else (0, near - 1)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    while low and not fits(low):
        low -= 1
    return low


def _profile_text(known: Profile) -> str:
    blocks = []
    for title, names in (_USER, _HISTORY):
        rows = [f"- {profile.ANCHORS[n]}: {_one_line(getattr(known, n))}" for n in names if getattr(known, n).strip()]
        if rows:
            blocks.append("\n".join([title, *rows]))
    return "\n\n".join(blocks)


def _admitted(services: Services, head: str) -> str:
    try:
        return services.gate.admit(head, surface=Surface.PROFILE).strip() if head else ""
    except Refused:
        logger.warning("the profile is left out of the prompt: a validator refuses it now")
        return ""


def _admit_facts(services: Services, facts: Sequence[Fact], lines: list[str]) -> list[str]:
    """The lines of ``facts`` as they pass the gate now."""
    whole = "\n".join(lines)
    try:
        if services.gate.admit(whole, surface=Surface.FACT) == whole:
            return lines  # as mostly; to put borders between them and to part them again takes as long as to write them
        return services.gate.admit_all(lines, surface=Surface.FACT)
    except Refused:
        if len(lines) > 1:
            return [
                line for fact, own in zip(facts, lines, strict=True) for line in _admit_facts(services, [fact], [own])
            ]
        logger.warning("fact %s is left out of the prompt: a validator refuses it now", facts[0].id)
        return []
