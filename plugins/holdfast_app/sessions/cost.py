"""What holdfast cost in this project: time and tokens at the clients' events, refused flushes, calls to a model.

The hooks count their events in ``state/heartbeats`` (:mod:`holdfast_agents.records.heartbeat`), journals record
refusals, and extraction its calls. Tokens are estimated as a quarter of the characters.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Final

from attrs import frozen

from holdfast.config.serde import moment
from holdfast.fs import private
from holdfast.journal import journal, refusals
from holdfast.journal.refusals import Refusal

if TYPE_CHECKING:
    from holdfast.session.services import Services

_CHARS_PER_TOKEN: Final = 4


@frozen(kw_only=True)
class Event:
    """One client's event: how often its hook ran, the seconds in all, and the tokens that the model received."""

    client: str
    event: str
    times: int
    seconds: float
    tokens: int


@frozen(kw_only=True)
class Cost:
    """``since`` is when the first client's hook ran first. ``said`` estimates the tokens of all journalled messages.
    ``refusals`` are oldest first. ``calls`` counts calls to a model."""

    since: datetime | None
    events: tuple[Event, ...]
    refusals: tuple[Refusal, ...]
    said: int
    calls: int

    @property
    def tokens(self) -> int:
        return sum(one.tokens for one in self.events)

    @property
    def seconds(self) -> float:
        return sum(one.seconds for one in self.events)


def cost(services: Services) -> Cost:
    """What the records show. Unreadable ones are left out. Raises: Unavailable."""
    folder = services.private("heartbeats")
    names = (name for name in private.names(folder) if name.endswith(".json"))
    found = [(name.removesuffix(".json"), private.table(os.path.join(folder, name))) for name in names]
    events = sorted((one for client, row in found for one in _events(client, row)), key=lambda one: -one.seconds)
    since = min((at for _, row in found if (at := _moment(row.get("since")))), default=None)
    refused: list[Refusal] = []
    chars = 0
    for path in journal.session_files(services.state):
        if session := journal.session_id_of(path):
            one = journal.Journal(services.state, session)
            refused += refusals.of(one)
            chars += sum(len(str(entry.record.get("text", ""))) for entry in one.of_kinds("message"))
    return Cost(
        since=since,
        events=tuple(events),
        refusals=tuple(sorted(refused, key=lambda one: one.at)),
        said=chars // _CHARS_PER_TOKEN,
        calls=0,
    )


def _moment(value: object) -> datetime | None:
    try:
        return moment(str(value))
    except ValueError:
        return None


def _events(client: str, row: dict[str, object]) -> Iterator[Event]:
    spent = row.get("spent")
    for event, one in spent.items() if isinstance(spent, dict) else ():
        try:
            times, seconds, chars = int(one[0]), float(one[1]), int(one[2])
        except (TypeError, ValueError, LookupError):
            continue
        if times > 0:
            yield Event(client=client, event=str(event), times=times, seconds=seconds, tokens=chars // _CHARS_PER_TOKEN)
