"""The last time a client's hooks ran: ``state/heartbeats/CLIENT.json``, one small file per client.

Missing, untrusted or disabled hooks are silent, so a missing heartbeat is the only sign.
``holdfast doctor``, ``status`` and the MCP tools read it. Part of the hot path, so without attrs.
"""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from typing import NamedTuple

from holdfast.fs import durable, private, safeopen
from holdfast.text import untrusted

_FOLDER = "heartbeats"
_MOST = 65536  # maximum bytes read from a heartbeat


class Beat(NamedTuple):
    """One client's last heartbeat. It has the event's name, the session, and the time in UTC."""

    client: str
    event: str
    session: str
    at: datetime


def beat(state: str, client: str, event: str, session: str) -> None:
    """Record that ``client``'s hook runs now. Not flushed to disk, because losing it in a crash is harmless.

    Raises: Unavailable.
    """
    folder = private.make(state, _FOLDER)
    told = {"client": client, "event": event, "session": session, "at": datetime.now(UTC).isoformat()}
    path = os.path.join(folder, f"{client}.json")
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
        try:
            told = untrusted.from_json(safeopen.read(os.path.join(folder, name), _MOST))
            at = datetime.fromisoformat(told["at"])
            found.append(Beat(str(told["client"]), str(told["event"]), str(told["session"]), at.astimezone(UTC)))
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return sorted(found, key=lambda b: b.at, reverse=True)
