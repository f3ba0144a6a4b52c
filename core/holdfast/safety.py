"""Whether context may be dropped, as a state machine, and the UNSAFE marker that outlives the process.

    SAFE      everything said is durable
    DIRTY     something was said since the last flush (it is in the journal)
    UNSAFE    a flush has begun and has not succeeded

    SAFE  --add-->        DIRTY
    any   --flush begins--> UNSAFE   the marker is written, durably, before anything else
    UNSAFE --verified-->  SAFE       the marker goes only after everything was read back
    UNSAFE --failed-->    UNSAFE     the marker says what failed and what to do
    UNSAFE --killed-->    UNSAFE     the marker is what the next process finds

The marker also carries the flush that has begun (its id, instant, complete payload), so that the next try is the
same flush and completes what is missing instead of writing a second block.
"""

from __future__ import annotations

import json
import os
from enum import StrEnum
from typing import Any

from attrs import evolve, field, fields, frozen

from holdfast import durable, private, safeopen
from holdfast.errors import Corrupt
from holdfast.journal import file_stem


class State(StrEnum):
    SAFE = "safe"
    DIRTY = "dirty"
    UNSAFE = "unsafe"


@frozen(kw_only=True)
class Marker:
    """Why a session is UNSAFE. ``key`` identifies what was to be flushed; ``pending`` is that flush, redacted.

    ``blocked`` counts the times that strict policy said no; ``attempts`` all tries; ``at`` is ISO-8601.
    """

    session: str
    at: str
    reason: str
    error: str = "The flush was interrupted before it was verified."
    next_step: str = "Flush again: it completes what is missing."
    target: str = ""
    attempts: int = 1
    blocked: int = 0
    key: str = ""
    pending: dict[str, Any] | None = field(default=None, repr=False)


def path_of(state: str, session_id: str) -> str:
    return os.path.join(state, "unsafe", file_stem(session_id) + ".json")


def read(state: str, session_id: str) -> Marker | None:
    """The marker of a session. A marker that cannot be read still means UNSAFE. Raises: Unavailable."""
    return _load(path_of(state, session_id), session_id)


def begin(state: str, marker: Marker) -> None:
    """Write the marker, durably. Raises: Unavailable; then the flush must not start."""
    path = path_of(state, marker.session)
    private.make(state, "unsafe")
    record = {a.name: getattr(marker, a.name) for a in fields(Marker)}
    durable.replace(path, json.dumps(record, ensure_ascii=False).encode("utf-8"))


def failed(state: str, marker: Marker, *, error: str, next_step: str, target: str, blocked: bool = False) -> Marker:
    """Say in the marker what went wrong. Raises: Unavailable; the marker of :func:`begin` is then still there."""
    marker = evolve(
        marker, error=error, next_step=next_step, target=target, blocked=marker.blocked + (1 if blocked else 0)
    )
    begin(state, marker)
    return marker


def clear(state: str, session_id: str) -> None:
    """Remove the marker, durably. Raises: Unavailable; the session then stays UNSAFE, which is the safe side."""
    durable.remove(path_of(state, session_id))


def all_unsafe(state: str) -> list[Marker]:
    """Markers of every session that is UNSAFE, by session id. Raises: Unavailable."""
    folder = os.path.join(state, "unsafe")
    try:
        names = sorted(n for n in safeopen.names(folder) if n.endswith(".json"))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise durable.unavailable(error, folder, "list") from error
    markers = (_load(os.path.join(folder, name), name.removesuffix(".json")) for name in names)
    return sorted((m for m in markers if m), key=lambda m: m.session)


def _load(path: str, session_id: str) -> Marker | None:
    from holdfast.serde import structure

    try:
        with safeopen.reader(path) as file:
            data = file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise durable.unavailable(error, path, "read") from error
    try:
        return structure(json.loads(data), Marker, what="An UNSAFE marker", error=Corrupt)
    except (ValueError, Corrupt):
        return Marker(
            session=session_id,
            at="",
            reason="unknown",
            error="The UNSAFE marker itself is damaged.",
            next_step="Flush the session again; a verified flush removes it.",
        )
