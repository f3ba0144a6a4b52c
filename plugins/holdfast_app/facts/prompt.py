"""The memory block for a system prompt: profile and facts as compact text that never exceeds its budget.

docs/facts.md has its form, and what is dropped first. Source: R062-R069, readings A15-A18.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from holdfast.config.layout import Surface
from holdfast.errors import Refused, must_be, must_be_whole
from holdfast.models import Fact
from holdfast.storage import FactOrder, snapshot
from holdfast.text.lazy import log
from holdfast.text.plain import one_line
from holdfast_app.base import Services
from holdfast_app.facts.store import origins
from holdfast_app.records import recalled
from holdfast_models import recall

logger = log(__name__)

MARKER: Final = "\n..."
_SECTIONS = {"User Context:": ("work", "personal", "top_of_mind"), "History:": ("recent", "earlier", "background")}


def prompt(services: Services, max_tokens: int, count: Callable[[str], int], *, fenced: bool = False) -> str:
    """The block, at most ``max_tokens`` by ``count``.

    ``fenced`` puts it between the tags of recalled text and escapes ``<``, ``>`` and ``&``. Stored data passes the
    gate again, so a rule newer than a fact applies to it too, and a fact that would now be refused is omitted. So
    is memory that came with a clone, unless the user trusts it.
    Raises: BadValue for a negative budget; PluginError when a validator is broken; Corrupt, Unavailable.
    """
    must_be_whole(max_tokens, "max_tokens")
    must_be(Callable, count, "counter")  # type: ignore[arg-type]
    with snapshot():
        head = _head(services)
        stored = list(services.store.backend.facts(FactOrder.CONFIDENCE))
        facts = services.store.known_facts(stored)
    if hidden := len(stored) - len(facts):
        logger.warning("%d facts are left out of the prompt because they came with an untrusted clone or pull", hidden)
    lines = [line for line in _admitted(services, facts, stated(facts)) if line]

    def framed(text: str) -> str:
        return f"{recall.OPEN}\n{recalled.escape(text)}\n{recall.CLOSE}" if fenced and text else text

    def fits(text: str) -> bool:
        must_be_whole(cost := count(framed(text)), "what the counter returned")
        return cost <= max_tokens

    return framed(_fitted(head, lines, fits)) if max_tokens else ""


def fact_line(fact: Fact) -> str:
    """``- [category | 0.90] content`` on one line. Source: R066, reading A18."""
    return f"- [{fact.category} | {fact.confidence + 0.0:.2f}] {one_line(fact.content)}"  # minus zero is zero


def stated(facts: Sequence[Fact]) -> list[str]:
    """The facts' lines. Facts on which machines disagree name their origin."""
    disputed, lines = {fact.id for conflict in origins.conflicts(facts) for fact in conflict}, list[str]()
    for fact in facts:
        by = f" ({origins.of(fact.source)} says so, {fact.created_at:%Y-%m-%d}; another machine disagrees)"
        lines.append(fact_line(fact) + (by if fact.id in disputed else ""))
    return lines


def _admitted(services: Services, facts: Sequence[Fact], lines: Sequence[str]) -> list[str]:
    """The lines of ``facts`` as they pass the gate now, empty for a fact that it refuses. Raises: PluginError."""
    try:
        return services.gate.admit_all(lines, surface=Surface.FACT)
    except Refused:
        if len(facts) > 1:
            return [_admitted(services, [fact], [line])[0] for fact, line in zip(facts, lines, strict=True)]
        logger.warning("fact %s is left out of the prompt because a validator now refuses it", facts[0].id)
        return [""]


def _fitted(head: str, facts: Sequence[str], fits: Callable[[str], bool]) -> str:
    """The block with as many lines of ``facts`` as fit, and a count of facts left out.

    The count never replaces the last line. When it does not fit next to one line, that line appears alone, even where
    two would fit, because a smaller budget must never show more facts than a larger one.
    """
    total = len(facts)

    def render(lines: int, *, counted: bool = False) -> str:
        others = total - lines if counted else 0
        more = [f"{others} more {'fact' if others == 1 else 'facts'}: holdfast facts"] if others > 0 else []
        block = "\n".join(["Facts:", *facts[:lines], *more]) if lines or more else ""
        return "\n\n".join(filter(None, (head, block)))

    def largest(most: int, shown: Callable[[int], str]) -> int:
        """The number up to ``most`` that fits, mostly the largest, as a counter may find longer text cheaper; or 0."""
        return bisect_left(range(1, most + 1), True, key=lambda n: not fits(shown(n)))

    def cut(chars: int) -> str:
        return head[:chars] + MARKER

    def texts() -> Iterator[str]:
        yield render(total)
        if lines := largest(total, lambda n: render(n, counted=True)):
            yield render(lines, counted=True)
        if total:
            yield render(1)
            logger.warning("no fact fits into the budget; shorten the strongest fact")
        if head:
            yield from (render(0, counted=True), render(0))
            yield cut(largest(len(head) - 1, cut))

    return next(filter(fits, texts()), "")


def _head(services: Services) -> str:
    """The profile's part of the block, as it passes the gate now."""
    from holdfast_app.facts import profile  # the brief, which shows facts alone, does without

    known, blocks = profile.load(services, recalled=True), []
    for title, names in _SECTIONS.items():
        texts = ((profile.ANCHORS[name], one_line(getattr(known, name))) for name in names)
        if lines := [f"- {anchor}: {text}" for anchor, text in texts if text]:
            blocks.append("\n".join([title, *lines]))
    try:
        return services.gate.admit("\n\n".join(blocks), surface=Surface.PROFILE).strip() if blocks else ""
    except Refused:
        logger.warning("the profile is left out of the prompt because a validator now refuses it")
        return ""
