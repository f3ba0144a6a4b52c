"""The Retry-After header, for all HTTP clients."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


def seconds(retry_after: str | None) -> float | None:
    """A Retry-After header's value (seconds, or a date) in seconds; None when it is missing or invalid."""
    if not retry_after:
        return None
    try:
        return max(0.0, float(retry_after))
    except ValueError:
        pass
    try:
        at = parsedate_to_datetime(retry_after)
    except (ValueError, TypeError):
        return None
    return max(0.0, (at - datetime.now(UTC)).total_seconds()) if at.tzinfo else None
