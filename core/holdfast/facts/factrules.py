"""A fact's valid values and id format, the test for duplicates, and rules that all stores share."""

from __future__ import annotations

import os
import re
import unicodedata
from math import isfinite
from typing import TYPE_CHECKING

from holdfast.errors import BadValue, DuplicateFact
from holdfast.text.lazy import Lazy

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.models import Fact

CATEGORIES = ("preference", "knowledge", "context", "behavior", "goal", "correction")
#: Confidence of an explicit statement: nearly certain; only a correction should rank higher.
DEFAULT_CATEGORY, DEFAULT_CONFIDENCE = "context", 0.9
SURFACE = "fact"

_ID = Lazy(r"fact_[0-9a-f]{8}")
_DECIMAL = Lazy(r"\d+(\.\d*)?|\.\d+", re.ASCII)


def duplicate_key(content: str) -> str:
    """The key for duplicates, ``casefold(NFC(strip(content)))``.

    NFC, not NFKC: compatibility forms (a superscript, a full-width letter) make strings differ. Inner spaces are kept.
    Source: R052, R056, reading A06.
    """
    return unicodedata.normalize("NFC", content.strip()).casefold()


def draw_id() -> str:
    """A new id: ``fact_`` and 8 random hex digits, as a uuid4 begins with. Stores report collisions. Source: R043."""
    return "fact_" + os.urandom(4).hex()


def is_id(text: object) -> bool:
    """Whether ``text`` is formatted like an id."""
    return isinstance(text, str) and _ID.fullmatch(text) is not None


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
    """The error for changing ``fact_id`` to the content of the fact ``twin_id``."""
    return DuplicateFact(
        f"Fact {twin_id} already says the same as the new content of {fact_id}.",
        next_step=f"Delete either fact, or update {twin_id} instead.",
    )


# --- what may be stored; checked in this order: content, category, confidence (reading A09) --------------------


def check_content(value: object) -> str:
    """``value`` without surrounding whitespace. Raises: BadValue when it is blank or not a string."""
    if not isinstance(value, str) or not value.strip():
        raise BadValue(
            "content", "is blank" if isinstance(value, str) else "is not a string", next_step="Say what to keep."
        )
    return value.strip()


def check_category(value: object) -> str:
    """Normalise a category's name. Case and outer whitespace are ignored.

    Raises: BadValue. Source: R037, R038, reading A08.
    """
    name = value.strip().casefold() if isinstance(value, str) else None
    if name not in CATEGORIES:
        raise BadValue("category", f"cannot be {abbreviated(value)}", next_step=f"Use one of: {', '.join(CATEGORIES)}.")
    return name


def check_confidence(value: object) -> float:
    """A number from 0.0 to 1.0. Raises: BadValue, for NaN, booleans and strings too. Source: R036, reading A07."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise BadValue("confidence", f"cannot be {abbreviated(value)}", next_step="Use a number from 0.0 to 1.0.")
    return float(value) + 0.0  # -0.0 becomes 0.0


def check_source(value: object) -> str:
    """``value`` without surrounding whitespace, possibly empty. Raises: BadValue when it is not a string."""
    if not isinstance(value, str):
        raise BadValue("source", f"cannot be {abbreviated(value)}", next_step="Use a string, which may be empty.")
    return value.strip()


def abbreviated(value: object) -> str:
    """A value for an error message, at most 40 characters long."""
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def as_number(value: object) -> object:
    """Convert a numeric string, because models often write numbers as strings. Source: reading A07."""
    if isinstance(value, str) and _DECIMAL.fullmatch(value.strip()):
        return float(value)
    return value
