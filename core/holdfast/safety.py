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

And it carries every payload that was stated and refused, from before anything else is done with it: at first only its
digest, then, where the gate admits it, the redacted payload. The marker goes only when each of them is settled: stored
whole, replaced by a payload stated later, or overridden by an operator.
"""

from __future__ import annotations

import json
import logging
import os
import shlex
from collections.abc import Collection, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from enum import StrEnum
from typing import Any

from attrs import asdict, evolve, field, fields, frozen

from holdfast import durable, private, safeopen
from holdfast.errors import Corrupt, Unavailable
from holdfast.journal import file_stem

logger = logging.getLogger(__name__)


class State(StrEnum):
    SAFE = "safe"
    DIRTY = "dirty"
    UNSAFE = "unsafe"


@frozen(kw_only=True)
class Stated:
    """A payload that was stated and is not stored. ``digest`` is that of its JSON; ``payload`` holds the redacted
    fields, or is None when the gate did not admit them, for the reason ``why``. ``at`` is ISO-8601. ``waived`` is true
    once an operator overrode it."""

    digest: str
    at: str
    payload: dict[str, Any] | None = field(default=None, repr=False)
    why: str = ""
    waived: bool = False


def _all_stated(value: Iterable[Stated]) -> tuple[Stated, ...]:
    return tuple(value)


@frozen(kw_only=True)
class Marker:
    """Why a session is UNSAFE. ``key`` identifies what was to be flushed; ``pending`` is that flush, redacted.

    ``blocked`` counts the times that strict policy said no; ``attempts`` all tries; ``at`` is ISO-8601.
    ``stated`` are the payloads that stand between the session and SAFE, oldest first.
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
    stated: tuple[Stated, ...] = field(default=(), converter=_all_stated)

    @property
    def way_out(self) -> str:
        """The next step, and how to look again: the reason is that of the last flush, and may be gone by now."""
        if "holdfast flush" in self.next_step:
            return self.next_step
        again = f"`holdfast flush --session {shlex.quote(self.session)}` tries again, and shows what is wrong by then."
        return f"{self.next_step} {again}".lstrip()


def path_of(state: str, session_id: str) -> str:
    return os.path.join(state, "unsafe", file_stem(session_id) + ".json")


def read(state: str, session_id: str) -> Marker | None:
    """The marker of a session. A marker that cannot be read still means UNSAFE. Raises: Unavailable."""
    return _load(path_of(state, session_id), session_id)


def begin(state: str, marker: Marker) -> Marker:
    """Write the marker, durably, and return it: with the payloads that others have stated meanwhile.

    Raises: Unavailable; then the flush must not start.
    """
    private.make(state, "unsafe")
    with _changing(state, marker.session):
        there = read(state, marker.session)
        known = {one.digest for one in marker.stated}
        others = [one for one in (there.stated if there else ()) if one.digest not in known]
        marker = evolve(marker, stated=(*others, *marker.stated))
        _write(state, marker)
    return marker


def _write(state: str, marker: Marker) -> None:
    record = {a.name: getattr(marker, a.name) for a in fields(Marker)}
    record["stated"] = [asdict(one) for one in marker.stated]
    durable.replace(path_of(state, marker.session), json.dumps(record, ensure_ascii=False).encode("utf-8"))


@contextmanager
def _changing(state: str, session_id: str) -> Iterator[None]:
    """Hold the lock of the session's journal, which no code holds while it changes a marker: one process that cannot
    begin to flush must not lose its payload to another that just succeeds. Without the lock the marker is written all
    the same, since refusing to say UNSAFE helps nobody."""
    with ExitStack() as held:
        try:
            private.make(state, "sessions")
            held.enter_context(durable.lock(os.path.join(state, "sessions", f"{file_stem(session_id)}.lock")))
        except Unavailable as error:
            logger.warning("a marker is changed without its lock: %s", error.message)
        yield


def failed(state: str, marker: Marker, *, error: str, next_step: str, target: str, blocked: bool = False) -> Marker:
    """Say in the marker what went wrong. Raises: Unavailable; the marker of :func:`begin` is then still there."""
    marker = evolve(
        marker, error=error, next_step=next_step, target=target, blocked=marker.blocked + (1 if blocked else 0)
    )
    return begin(state, marker)


def clear(state: str, session_id: str, settled: Collection[str] = ()) -> None:
    """Remove the marker, durably, unless it holds a stated payload whose digest is not in ``settled``.

    Raises: Unavailable; the session then stays UNSAFE, which is the safe side.
    """
    if read(state, session_id) is None:
        return
    with _changing(state, session_id):
        marker = read(state, session_id)
        left = [one for one in (marker.stated if marker else ()) if one.digest not in settled]
        if marker is None or not left:
            durable.remove(path_of(state, session_id))
        else:
            error = "A payload that another process stated meanwhile was refused."
            _write(state, evolve(marker, error=error, stated=left, key="", pending=None))


def waive(state: str, session_id: str) -> None:
    """Let no stated payload stand in the way any more: an operator overrode them. Raises: Unavailable."""
    if read(state, session_id) is None:
        return
    with _changing(state, session_id):
        marker = read(state, session_id)
        if marker is not None and not all(one.waived for one in marker.stated):
            _write(state, evolve(marker, stated=[evolve(one, waived=True) for one in marker.stated]))


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
