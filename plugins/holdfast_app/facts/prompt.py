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

from bisect import bisect_left
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from attrs import define

from holdfast.config.layout import Surface
from holdfast.errors import BadValue, Refused
from holdfast.storage import FactOrder, snapshot
from holdfast.text import recall
from holdfast.text.lazy import log
from holdfast_app.facts import factlines, profile

if TYPE_CHECKING:
    from holdfast.models import Profile
    from holdfast_app.base import Services

logger = log(__name__)

MARKER: Final = "\n..."
_USER = ("User Context:", ("work", "personal", "top_of_mind"))
_HISTORY = ("History:", ("recent", "earlier", "background"))
_FACTS: Final = "Facts:"
#: Token cost of a line with a ninety-character fact. It decides how many facts the gate reads at once.
_LINE_TOKENS: Final = 28


def prompt(services: Services, max_tokens: int, count: Callable[[str], int], *, fenced: bool = False) -> str:
    """The block, at most ``max_tokens`` by ``count``.

    ``fenced`` puts it between the tags of recalled text and escapes ``<``, ``>`` and ``&``. Stored data passes the
    gate again, so a rule newer than a fact applies to it too, and a fact that would now be refused is omitted. So
    is memory that came with a clone, unless the user trusts it.
    Raises: BadValue for a negative budget; PluginError when a validator is broken; Corrupt, Unavailable.
    """
    if not isinstance(max_tokens, int):
        raise BadValue("max_tokens", "is not a whole number")
    if max_tokens < 0:
        raise BadValue("max_tokens", "cannot be negative")
    with snapshot():
        head = _admitted(services, _profile_text(profile.load(services, recalled=True)))
        stored = list(services.store.backend.facts(FactOrder.STRONGEST))
        facts = services.store.known_facts(stored)
    if hidden := len(stored) - len(facts):
        logger.warning("%d facts are left out of the prompt because they came with an untrusted clone or pull", hidden)
    lines: list[str] = []
    stated = factlines.stated(facts)
    refused = at = 0
    while True:  # the gate reads no more lines than fit, and a few
        block = _Block(head, lines, len(facts) - refused, fenced)
        used = count(block.render(len(lines)))
        if at >= len(facts) or used > max_tokens:
            return _fitted(block, max_tokens, count)
        part = slice(at, at + (max_tokens - used) // _LINE_TOKENS + 4)
        admitted = factlines.admitted(services, facts[part], stated[part])
        refused += admitted.count("")
        lines += filter(None, admitted)
        at += len(admitted)


@define
class _Block:
    """The block's content."""

    head: str
    lines: list[str]
    facts: int  # in the store, without those that a validator refuses now
    fenced: bool

    def render(self, lines: int, *, counted: bool = False) -> str:
        """The head and this many lines. ``counted`` adds the line that counts the other facts, if there are any."""
        others = self.facts - lines if counted else 0
        more = [f"{others} more {'fact' if others == 1 else 'facts'}: holdfast facts"] if others > 0 else []
        facts = "\n".join([_FACTS, *self.lines[:lines], *more]) if lines or more else ""
        return self.framed(f"{self.head}\n\n{facts}" if self.head and facts else self.head or facts)

    def framed(self, text: str) -> str:
        if not self.fenced or not text:
            return text
        return f"{recall.OPEN}\n{recall.escape(text)}\n{recall.CLOSE}"


def _fitted(block: _Block, budget: int, count: Callable[[str], int]) -> str:
    """The block with as many lines as fit, and a count of facts left out.

    The count never replaces the last line. When it does not fit next to one line, that line appears alone, even where
    two would fit, because a smaller budget must never show more facts than a larger one.
    """

    def fits(text: str) -> bool:
        return count(text) <= budget

    total = len(block.lines)
    if total == block.facts and fits(whole := block.render(total)):
        return whole
    if lines := _largest(total, lambda n: fits(block.render(n, counted=True))):
        return block.render(lines, counted=True)
    if total and fits(alone := block.render(1)):
        return alone
    if total:
        logger.warning("no fact fits into %d tokens; shorten the strongest fact", budget)
    if not block.head:
        return ""
    for text in (block.render(0, counted=True), block.render(0)):
        if fits(text):
            return text

    def cut(chars: int) -> str:
        return block.framed(block.head[:chars] + MARKER)

    return cut(_largest(len(block.head) - 1, lambda n: fits(cut(n)))) if fits(cut(0)) else ""


def _largest(most: int, fits: Callable[[int], bool]) -> int:
    """The largest number from 1 to ``most`` that fits, or 0.

    A counter may find longer text cheaper (byte pairs merge), so the answer is a number that was itself checked to fit,
    or 0, and not always the largest such number.
    """
    return bisect_left(range(1, most + 1), True, key=lambda n: not fits(n))


def _profile_text(known: Profile) -> str:
    blocks = []
    for title, names in (_USER, _HISTORY):
        rows = [
            f"- {profile.ANCHORS[n]}: {factlines.one_line(text)}" for n in names if (text := getattr(known, n)).strip()
        ]
        if rows:
            blocks.append("\n".join([title, *rows]))
    return "\n\n".join(blocks)


def _admitted(services: Services, head: str) -> str:
    try:
        return services.gate.admit(head, surface=Surface.PROFILE).strip() if head else ""
    except Refused:
        logger.warning("the profile is left out of the prompt because a validator now refuses it")
        return ""
