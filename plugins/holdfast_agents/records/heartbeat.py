"""The last run of a client's hooks and their cost: ``state/heartbeats/CLIENT.json``, one small file per client.

Missing, untrusted or disabled hooks are silent, so a missing heartbeat is the only sign. ``holdfast doctor``,
``status`` and the MCP tools read it, :mod:`holdfast_app.report.cost` the cost. Part of the hot path, so without
attrs. ``state/hook.log`` has errors in hooks that must not reach the client, bounded in size, without memory text.
"""

import json
import os
from contextlib import suppress
from datetime import UTC, datetime
from typing import NamedTuple

from holdfast.errors import HoldfastError
from holdfast.fs import durable, private, safeopen

_FOLDER = "heartbeats"
_MAX_BYTES = 256 * 1024
_MAX_LINE = 500
_WAIT_S = 0.5


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
    spent = stored if isinstance(stored := old.get("spent"), dict) else {}
    try:
        times, before, sent = spent.get(event, (0, 0.0, 0))
        spent[event] = [times + 1, round(before + seconds, 4), sent + chars]
    except (TypeError, ValueError):  # edited
        spent[event] = [1, seconds, chars]
    record = {"client": client, "event": event, "session": session, "at": now, "since": old.get("since", now)}
    durable.replace(path, json.dumps({**record, "spent": spent}).encode(), flush=False)


def beats(state: str) -> list[Beat]:
    """The last heartbeat of each client, the newest first. Unreadable files are ignored."""
    folder = os.path.join(state, _FOLDER)
    latest = []
    try:
        names = [name for name in safeopen.names(folder) if name.endswith(".json")]
    except OSError:
        return []
    for name in names:
        record = private.table(os.path.join(folder, name))
        with suppress(ValueError, KeyError, TypeError):
            at = datetime.fromisoformat(record["at"])
            latest.append(Beat(str(record["client"]), str(record["event"]), str(record["session"]), at.astimezone(UTC)))
    return sorted(latest, key=lambda b: b.at, reverse=True)


def log(state: str, client: str, kind: str, problem: str) -> None:
    """Add a line. An unwritable log is not an error."""
    line = " ".join(f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ} {client} {kind}: {problem}".split())[:_MAX_LINE]
    with suppress(OSError, HoldfastError):
        path = os.path.join(private.make(state), "hook.log")
        with private.lock(path, timeout_s=_WAIT_S), safeopen.Folder(os.path.dirname(path)) as folder:
            with suppress(FileNotFoundError):
                if folder.stat("hook.log").st_size > _MAX_BYTES:
                    folder.replace("hook.log", "hook.log.1")
            durable.append(path, f"{line}\n".encode(), flush=False)
