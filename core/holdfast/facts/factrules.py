"""A fact's categories and defaults, the test for duplicates, and rules that all stores share."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

from holdfast.errors import DuplicateFact
from holdfast.text.plain import normalized

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.models import Fact

CATEGORIES = ("preference", "knowledge", "context", "behavior", "goal", "correction")
#: Confidence of an explicit statement: nearly certain; only a correction should rank higher.
DEFAULT_CATEGORY, DEFAULT_CONFIDENCE = "context", 0.9


def duplicate_key(content: str) -> str:
    """The key for duplicates, ``casefold(NFC(strip(content)))``.

    NFC, not NFKC: compatibility forms (a superscript, a full-width letter) make strings differ. Inner spaces are kept.
    Source: R052, R056, reading A06.
    """
    return normalized("NFC", content.strip()).casefold()


# --- for the stores ------------------------------------------------------------------------------------------------


def changed(
    fact: Fact,
    content: str | None,
    category: str | None,
    confidence: float | None,
    source: str | Callable[[str], str] | None,
) -> Fact:
    """``fact`` with the given values; None keeps the old one. ``source`` may be a function of the old source.

    Raises: ValueError when the confidence is not a finite number.
    """
    from attrs import evolve

    return evolve(
        fact,
        content=fact.content if content is None else content,
        category=fact.category if category is None else category,
        confidence=fact.confidence if confidence is None else finite(confidence),
        source=source(fact.source) if callable(source) else fact.source if source is None else source,
    )


def finite(confidence: float) -> float:
    """``confidence`` as a float. Raises: ValueError when it is not a finite number."""
    if not isfinite(confidence):
        raise ValueError("confidence is not a finite number")
    return float(confidence)


def duplicate_of(twin_id: str, fact_id: str) -> DuplicateFact:
    """The error for giving ``fact_id`` the same content as the fact ``twin_id``."""
    return DuplicateFact(
        f"Fact {twin_id} already says the same as the new content of {fact_id}.",
        next_step=f"Delete either fact, or update {twin_id} instead.",
    )
