"""Finds the surface for a fact (R105-R107, R151-R159, reading A46). If unsure, log first and promote later."""

from __future__ import annotations

from enum import StrEnum

from holdfast.config.layout import Surface
from holdfast.models import Category


class Horizon(StrEnum):
    """The question that a fact answers."""

    TODAY = "what happened today"
    STANDING = "what is still true next month unless explicitly changed"
    UNSURE = "unsure"


_USER = {Category.PREFERENCE, Category.BEHAVIOR, Category.GOAL, Category.CORRECTION}


def promotion_target(category: str) -> Surface:
    """USER.md for facts about the operator (preference, behavior, goal, correction), MEMORY.md for the rest (knowledge,
    context). Raises: ValueError for an unknown category."""
    return Surface.USER if Category(category) in _USER else Surface.MEMORY


def route(horizon: Horizon, *, category: str = "knowledge", validated: bool = False) -> Surface:
    """The surface for a fact: curated memory only for a standing *and* validated fact, otherwise the daily log.
    Repetition is not validation. Raises: ValueError for an unknown horizon or category."""
    target = promotion_target(category)
    return target if Horizon(horizon) is Horizon.STANDING and validated else Surface.DAILY
