"""The time on this machine."""

from datetime import UTC, datetime, timedelta

from holdfast.errors import BadValue, must_be


def local_now() -> datetime:
    """The current time in the system's zone, or in UTC when ``TZ`` has an offset of a day or more."""
    now = datetime.now(UTC)
    try:
        return now.astimezone()
    except ValueError:
        return now


def must_be_moment(at: object, field: str = "at") -> None:
    """Raises: BadValue unless ``at`` is a datetime that every time zone can express."""
    must_be(datetime, at, field)
    try:
        for hours in (-24, 24):
            at.astimezone(UTC) + timedelta(hours=hours)  # type: ignore[attr-defined]
    except (OverflowError, ValueError):
        raise BadValue(field, "is not between the years 1 and 9999", next_step="Give another time.") from None
