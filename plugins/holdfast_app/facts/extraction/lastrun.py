"""Records the last extraction in the background, ``state/upkeep.json``. Apart, because ``holdfast status`` shows
it."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Final

from attrs import frozen

from holdfast.config.serde import structure
from holdfast.errors import Corrupt
from holdfast.fs import private
from holdfast_app import json_file

if TYPE_CHECKING:
    from holdfast_app.base import Services

_RECORD: Final = "upkeep.json"


@frozen(kw_only=True)
class Run:
    """The last process's extraction. ``calls`` were made on the day of ``at``, by all processes; ``pieces`` of
    conversation were read by this one. ``ended`` is None while it works, or when it was killed."""

    at: datetime
    ended: datetime | None = None
    calls: int = 0
    pieces: int = 0
    facts: int = 0
    problem: str = ""


def last_run(services: Services) -> Run | None:
    """The record. None without one, or when it is unreadable, because it only informs."""
    try:
        return structure(private.table(services.private(_RECORD)), Run, what=_RECORD, error=Corrupt)
    except Corrupt:
        return None


def save(services: Services, run: Run) -> None:
    """Store the record. Raises: Unavailable."""
    json_file.save(services.private(_RECORD), run)


def begun(services: Services) -> Run:
    """A record for a run that begins now, with the calls that earlier ones made today."""
    return Run(at=services.now(), calls=calls_today(services))


def calls_today(services: Services) -> int:
    """The calls to a model that extraction made today."""
    last = last_run(services)
    is_today = last is not None and last.at.astimezone(services.config.tz).date() == services.now().date()
    return last.calls if last is not None and is_today else 0
