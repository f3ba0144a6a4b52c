"""A fact's categories and defaults, the test for duplicates, and rules that all stores share."""

from __future__ import annotations

from datetime import UTC
from math import isfinite
from typing import TYPE_CHECKING

from holdfast.errors import Conflict, DuplicateFact, NotFound
from holdfast.text.plain import normalized

if TYPE_CHECKING:
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


# --- for the stores


def storable(fact: Fact, limit: int) -> Fact:
    """The new ``fact`` as every store keeps it: with its time in UTC, and a time without a zone taken as UTC (reading
    A13). Raises: ValueError for a limit below 1, and for a confidence that is not a finite number."""
    from attrs import evolve

    if limit < 1:
        raise ValueError("limit must be at least 1")
    at = fact.created_at
    at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    return evolve(fact, created_at=at, confidence=finite(fact.confidence))


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


def no_fact(fact_id: str) -> NotFound:
    """The error for an unknown fact."""
    return NotFound(f"There is no fact {fact_id!r}.", next_step="List the facts with `holdfast facts list`.")


def id_taken(fact_id: str) -> Conflict:
    """The error for a new fact with another fact's id."""
    return Conflict(f"The id {fact_id} is taken by another fact.", next_step="Draw a new id and try again.")
