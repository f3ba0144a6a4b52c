"""When a client's hooks were last seen to run: ``state/heartbeats/CLIENT.json``, one small file a client.

Hooks that are not installed, not trusted or switched off say nothing, so their silence is the only sign. Whoever must
know (``holdfast doctor``, ``status``, an MCP tool's reply) reads it here. Part of the hot path: no attrs.
"""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from typing import NamedTuple

from holdfast.fs import durable, private, safeopen
from holdfast.text import untrusted

_FOLDER = "heartbeats"
_MOST = 65536  # bytes of one that are read


class Beat(NamedTuple):
    """The last sign of one client: its event's name, the session, and when, in UTC."""

    client: str
    event: str
    session: str
    at: datetime


def beat(state: str, client: str, event: str, session: str) -> None:
    """Record that a hook of ``client`` runs now. Losing one in a crash is harmless, so it is not flushed to the disk.

    Raises: Unavailable.
    """
    folder = private.make(state, _FOLDER)
    told = {"client": client, "event": event, "session": session, "at": datetime.now(UTC).isoformat()}
    path = os.path.join(folder, f"{client}.json")
    durable.replace(path, json.dumps(told).encode(), flush=False)


def beats(state: str) -> list[Beat]:
    """The last sign of every client that gave one, the newest first. A file that cannot be read counts as no sign."""
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
