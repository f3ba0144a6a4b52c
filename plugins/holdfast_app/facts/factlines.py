"""Facts as lines for a prompt and a brief."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from holdfast.config.layout import Surface
from holdfast.errors import Refused
from holdfast.text.lazy import log
from holdfast_app.facts.store import origins

if TYPE_CHECKING:
    from holdfast.models import Fact
    from holdfast_app.base import Services

logger = log("holdfast_app.facts.prompt")


def fact_line(fact: Fact) -> str:
    """``- [category | 0.90] content`` on one line. Source: R066, reading A18."""
    return f"- [{fact.category} | {fact.confidence + 0.0:.2f}] {one_line(fact.content)}"  # minus zero is zero


def _says(fact: Fact) -> str:
    return f" ({origins.of(fact.source)} says so, {fact.created_at:%Y-%m-%d}; another machine disagrees)"


def one_line(text: str) -> str:
    """``text`` with spaces for line ends and tabs."""
    return text if text.isprintable() else " ".join(text.split())


def stated(facts: Sequence[Fact]) -> list[str]:
    """The facts' lines. Facts on which machines disagree name their origin."""
    disputed = {fact.id for one in origins.conflicts(facts) for fact in one.facts}
    return [fact_line(fact) + (_says(fact) if fact.id in disputed else "") for fact in facts]


def admitted(services: Services, facts: Sequence[Fact], lines: Sequence[str]) -> list[str]:
    """The lines of ``facts`` as they pass the gate now, empty for a fact that it refuses. Raises:
    PluginError."""
    try:
        return services.gate.admit_all(lines, surface=Surface.FACT)
    except Refused:
        if len(facts) > 1:
            pairs = zip(facts, lines, strict=True)
            return [admitted(services, [fact], [line])[0] for fact, line in pairs]
        logger.warning("fact %s is left out of the prompt because a validator now refuses it", facts[0].id)
        return [""]
