"""A fact's valid values and id format. Checked in this order: content, category, confidence (reading A09)."""

from __future__ import annotations

import os
import re

from holdfast.errors import BadValue
from holdfast.text.lazy import Lazy
from holdfast.text.stored import CATEGORIES

SURFACE = "fact"

_ID = Lazy(r"fact_[0-9a-f]{8}")
_DECIMAL = Lazy(r"\d+(\.\d*)?|\.\d+", re.ASCII)


def draw_id() -> str:
    """A new id: ``fact_`` and 8 random hex digits, as a uuid4 begins with. Stores report collisions. Source: R043."""
    return "fact_" + os.urandom(4).hex()


def is_id(text: object) -> bool:
    """Whether ``text`` is formatted like an id."""
    return isinstance(text, str) and _ID.fullmatch(text) is not None


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
