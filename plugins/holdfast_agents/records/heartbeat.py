"""The last time a client's hooks ran and what they cost: ``state/heartbeats/CLIENT.json``, one small file per client.

Missing, untrusted or disabled hooks are silent, so a missing heartbeat is the only sign. ``holdfast doctor``,
``status`` and the MCP tools read it, :mod:`holdfast_app.report.cost` the cost. Part of the hot path, so without
attrs.
"""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from typing import NamedTuple

from holdfast.fs import durable, private, safeopen

_FOLDER = "heartbeats"


class Beat(NamedTuple):
    """One client's last heartbeat. It has the event's name, the session, and the time in UTC."""

    client: str
    event: str
    session: str
    at: datetime


def beat(state: str, client: str, event: str, session: str, seconds: float = 0.0, chars: int = 0) -> None:
    """Record that ``client``'s hook ran, in ``seconds``, and gave the model ``chars`` characters. Not flushed to disk,
    because losing it in a crash is harmless. Of two hooks at the same time one may go uncounted.

    Raises: Unavailable.
    """
    path = os.path.join(private.make(state, _FOLDER), f"{client}.json")
    now = datetime.now(UTC).isoformat()
    old = private.table(path)
    spent = found if isinstance(found := old.get("spent"), dict) else {}
    try:
        times, before, given = spent.get(event, (0, 0.0, 0))
        spent[event] = [times + 1, round(before + seconds, 4), given + chars]
    except (TypeError, ValueError):  # edited
        spent[event] = [1, seconds, chars]
    told = {"client": client, "event": event, "session": session, "at": now, "since": old.get("since", now)}
    told["spent"] = spent
    durable.replace(path, json.dumps(told).encode(), flush=False)


def beats(state: str) -> list[Beat]:
    """The last heartbeat of each client, the newest first. Unreadable files are ignored."""
    folder = os.path.join(state, _FOLDER)
    found = []
    try:
        names = [name for name in safeopen.names(folder) if name.endswith(".json")]
    except OSError:
        return []
    for name in names:
        told = private.table(os.path.join(folder, name))
        try:
            at = datetime.fromisoformat(told["at"])
            found.append(Beat(str(told["client"]), str(told["event"]), str(told["session"]), at.astimezone(UTC)))
        except (ValueError, KeyError, TypeError):
            continue
    return sorted(found, key=lambda b: b.at, reverse=True)
