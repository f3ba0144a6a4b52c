"""What holdfast cost in this project: time and tokens at the clients' events, refused flushes, calls to a model.

The hooks count their events in ``state/heartbeats`` (:mod:`holdfast_agents.records.heartbeat`), journals record
refusals, and extraction its calls. Tokens are estimated as a quarter of the characters.
"""

import os
from contextlib import suppress
from datetime import datetime
from typing import Final

from attrs import frozen

from holdfast.config.serde import moment
from holdfast.fs import private
from holdfast_app.base import Services
from holdfast_app.facts.extraction.queue import calls_today
from holdfast_app.journal.journal import every
from holdfast_app.records import journals

_CHARS_PER_TOKEN: Final = 4


@frozen
class Event:
    """One client's event: how often its hook ran, the seconds in all, and the tokens that the model received."""

    client: str
    event: str
    times: int
    seconds: float
    tokens: int


@frozen(kw_only=True)
class Cost:
    """``since`` is when the first client's hook ran first, None when none did. ``said`` estimates the tokens of all
    journalled messages. ``refusals`` are oldest first. ``calls`` are today's calls to a model."""

    since: datetime | None
    events: tuple[Event, ...]
    refusals: tuple[journals.Incident, ...]
    said: int
    calls: int


def cost(services: Services) -> Cost:
    """The cost in the records. Unreadable ones are omitted. Raises: Unavailable."""
    folder = services.private("heartbeats")
    since: list[datetime] = []
    events: list[Event] = []
    for name in private.names(folder):
        row = private.table(os.path.join(folder, name))
        with suppress(ValueError, TypeError, KeyError, AttributeError):  # a person edited it
            since.append(moment(row["since"]))
            for event, (times, seconds, chars) in row["spent"].items():
                events.append(Event(name.removesuffix(".json"), event, times, seconds, chars // _CHARS_PER_TOKEN))
    refused: list[journals.Incident] = []
    chars = 0
    for journal in every(services.state, packed=True):
        refused += (incident for incident in journals.incidents(journal) if not incident.overridden)
        chars += sum(len(str(entry.record.get("text", ""))) for entry in journal.of_kinds("message"))
    return Cost(
        since=min(since, default=None),
        events=tuple(sorted(events, key=lambda event: -event.seconds)),
        refusals=tuple(sorted(refused, key=lambda incident: incident.at)),
        said=chars // _CHARS_PER_TOKEN,
        calls=calls_today(services),
    )
