"""When the next automatic dream is due. Agents' hooks ask this, so the dream itself is not imported."""

import os
from datetime import datetime, timedelta
from typing import Final

from attrs import frozen

from holdfast_app.base import Services
from holdfast_app.records import json_file

MARK: Final = "dream.json"
#: Delay before the next automatic run after one that did not finish, and the longest that one may take.
RETRY_AFTER: Final = timedelta(hours=1)
LONGEST_S: Final = 1_800
#: Maximum calendar days of notes that an automatic dream reads after a pause.
LONGEST_PAUSE: Final = 31


@frozen(kw_only=True)
class Mark:
    """The last dream: its notes' ``digest``, time ``at`` and run. ``tried`` is the last unfinished try."""

    digest: str = ""
    at: datetime | None = None
    tried: datetime | None = None
    id: str = ""


def mark(state: str) -> Mark:
    """The last run's mark. An unreadable mark counts as missing, because an extra dream does no harm."""
    return json_file.load_if_readable(os.path.join(state, MARK), Mark) or Mark()


def set_mark(state: str, value: Mark) -> None:
    """Raises: Unavailable."""
    json_file.save(os.path.join(state, MARK), value)


def not_due(services: Services, last: Mark) -> str:
    """Why an automatic dream has to wait, or an empty string. A future time would block it, so is ignored."""
    now = services.now()
    for at, wait, what in (
        (last.at, timedelta(hours=services.config.dream.every_hours), "dream"),
        (last.tried, RETRY_AFTER, "unfinished try"),
    ):
        if at is not None and at <= now < at + wait:
            return f"It is not due yet. The last {what} was at {at:%Y-%m-%d %H:%M}."
    return ""


def lookback(services: Services, last: Mark) -> int:
    """The days of notes for an automatic dream. After a pause it reads back to the last dream, so none is missed."""
    days = services.config.dream.lookback_days
    if not days or last.at is None:
        return days
    pause = (services.now().date() - last.at.astimezone(services.config.tz).date()).days + 1
    return max(days, min(pause, LONGEST_PAUSE))
