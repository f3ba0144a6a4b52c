"""The time on this machine."""

from __future__ import annotations

from datetime import UTC, datetime


def local_now() -> datetime:
    """The current time in the system's zone, or in UTC when ``TZ`` has an offset of a day or more."""
    now = datetime.now(UTC)
    try:
        return now.astimezone()
    except ValueError:
        return now
