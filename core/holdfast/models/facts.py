"""Stored facts."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from attrs import field, frozen

from holdfast.models.checks import strings


class Category(StrEnum):
    """The six kinds of fact. Source: R037."""

    PREFERENCE = "preference"
    KNOWLEDGE = "knowledge"
    CONTEXT = "context"
    BEHAVIOR = "behavior"
    GOAL = "goal"
    CORRECTION = "correction"


@frozen(kw_only=True)
class Fact:
    """A stored fact. ``id`` is ``fact_`` + 8 hex digits; ``created_at`` is UTC; ``confidence`` 0.0 to 1.0."""

    id: str
    content: str
    category: str
    confidence: float
    created_at: datetime
    source: str = ""


class AddOutcome(StrEnum):
    """The outcome of storing a fact."""

    ADDED = "added"
    DUPLICATE = "duplicate"
    BELOW_THRESHOLD = "below threshold"
    REFUSED = "refused"


@frozen(kw_only=True)
class AddResult:
    """``fact`` is the stored fact (added) or the existing one (duplicate); ``evicted`` the ids removed to make room;
    ``replaced`` the ids of older values of the same thing, now in the log."""

    outcome: AddOutcome
    fact: Fact | None = None
    duplicate_of: str | None = None
    evicted: tuple[str, ...] = field(default=(), converter=strings)
    reason: str = ""
    replaced: tuple[str, ...] = field(default=(), converter=strings)
