"""Whether context may be dropped, as a state machine, and the UNSAFE marker that outlives the process.

    SAFE      everything said is durable
    DIRTY     something was said since the last flush (it is in the journal)
    UNSAFE    a flush has begun and has not succeeded

    SAFE  --add-->        DIRTY
    any   --flush begins--> UNSAFE   the marker is written, durably, before anything else
    UNSAFE --verified-->  SAFE       the marker goes only after everything was read back
    UNSAFE --failed-->    UNSAFE     the marker says what failed and what to do
    UNSAFE --killed-->    UNSAFE     the next process finds the marker

The marker also carries the started flush (its id, time and complete payload), so that the next try is the same flush
and completes missing parts instead of writing a second block.

It also carries every stated but refused payload, recorded before it is processed: first only its digest, then, if the
gate admits it, the redacted payload. The marker is removed only when each payload is settled: fully stored, replaced by
a later one, or overridden by an operator. After a failure they are also in ``state/stated/``, so that damage to the
marker does not lose them. When no marker can be written, a note in :mod:`holdfast.journal.emergency_log` makes the
session UNSAFE for every process.
"""

import json
import os
import zlib
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from enum import StrEnum
from functools import lru_cache, partial
from typing import Any

from attrs import asdict, evolve, field, frozen

from holdfast.errors import Corrupt, Unavailable
from holdfast.fs import durable, private, safeopen
from holdfast.journal import emergency_log
from holdfast.journal.journal import file_stem, session_id_of
from holdfast.text import untrusted
from holdfast.text.lazy import log

logger = log(__name__)


class State(StrEnum):
    SAFE = "safe"
    DIRTY = "dirty"
    UNSAFE = "unsafe"


@frozen(kw_only=True)
class Stated:
    """A stated payload not yet stored. ``digest`` is its JSON's digest; ``payload`` holds the redacted fields, or
    is None when the gate did not admit them, for the reason ``why``. ``waived``: an operator overrode it."""

    digest: str
    at: str
    payload: dict[str, Any] | None = field(default=None, repr=False)
    why: str = ""
    waived: bool = False


@frozen(kw_only=True)
class Marker:
    """Why a session is UNSAFE. ``key`` identifies the content to be flushed; ``pending`` is that flush, redacted.

    ``blocked`` counts refusals by strict policy; ``attempts`` counts all tries; ``at`` is ISO-8601. ``stated`` are the
    payloads that keep the session from being SAFE, oldest first.
    """

    session: str
    at: str
    reason: str
    error: str = "The flush was interrupted before it was verified."
    next_step: str = "Flush again to complete it."
    target: str = ""
    attempts: int = 1
    blocked: int = 0
    key: str = ""
    pending: dict[str, Any] | None = field(default=None, repr=False)
    stated: tuple[Stated, ...] = field(default=(), converter=tuple[Stated, ...])

    @property
    def way_out(self) -> str:
        """The next step, and how to check again, because the last flush's reason may no longer apply."""
        if "holdfast flush" in self.next_step:
            return self.next_step
        import shlex  # here, because most markers are never shown

        again = f"`holdfast flush --session {shlex.quote(self.session)}` tries again and shows any remaining problem."
        return f"{self.next_step} {again}".lstrip()


#: The reason for a marker substituted for a damaged or unwritten one.
UNKNOWN = "unknown"
#: The digest for a payload stated when no marker could be written.
_UNWRITTEN = "unwritten"
_COPIES = "stated"
_json = partial(json.dumps, ensure_ascii=False, default=partial(asdict, recurse=False))


def path_of(state: str, session_id: str) -> str:
    return os.path.join(state, "unsafe", file_stem(session_id) + ".json")


def read(state: str, session_id: str) -> Marker | None:
    """A session's marker, even when only a note or the stated payloads remain. Raises: Unavailable."""
    return _found(state, file_stem(session_id), session_id, emergency_log.of(state, file_stem(session_id)))


def begin(state: str, marker: Marker, *, flush: bool = True, copy: bool = False, done: Collection[str] = ()) -> Marker:
    """Write the marker, durably, and return it, with payloads that other processes stated meanwhile, and without those
    whose digests are ``done``. ``copy`` puts the payloads into their second file, too. Without ``flush`` it outlives
    the process but no power cut, which is enough before there is a plan, when nothing was written yet.

    Raises: Unavailable. Then the flush must not start. The session is noted in the reserve, if that can be written.
    """
    try:
        private.make(state, "unsafe")
        with _changing(state, marker.session) as there:
            known = {entry.digest for entry in marker.stated}
            others = [entry for entry in (there.stated if there else ()) if entry.digest not in known]
            marker = evolve(marker, stated=[entry for entry in (*others, *marker.stated) if entry.digest not in done])
            _write(state, marker, flush=flush, copy=copy)
    except Unavailable:
        with suppress(Unavailable):
            emergency_log.add(state, file_stem(marker.session), marker.at, stated=not _holds_all(state, marker))
        raise
    with suppress(Unavailable):  # a marker exists, so the note and space for the next one can wait
        emergency_log.clear(state, file_stem(marker.session))
        emergency_log.make(state)
    return marker


def _holds_all(state: str, marker: Marker) -> bool:
    """Whether an earlier marker holds these payloads, too, and outlives a power cut."""
    path = path_of(state, marker.session)
    with suppress(Unavailable):
        there = _parsed(private.read(path) or b"")
        if there is not None and {entry.digest for entry in marker.stated} <= {entry.digest for entry in there.stated}:
            durable.sync(path)
            return True
    return not marker.stated


def _write(state: str, marker: Marker, *, flush: bool = True, copy: bool = True) -> None:
    path, second = path_of(state, marker.session), copy_of(state, file_stem(marker.session))
    if marker.stated and copy:
        private.make(state, _COPIES)
        durable.replace(second, _json({"session": marker.session, "stated": marker.stated}).encode("utf-8"))
    durable.replace(path, _json(marker).encode("utf-8"), flush=flush)


def _aside(path: str, data: bytes) -> str:
    return f"{path}.damaged-{zlib.crc32(data):08x}"


def copy_of(state: str, stem: str) -> str:
    return os.path.join(state, _COPIES, f"{stem}.json")


@contextmanager
def _changing(state: str, session_id: str) -> Iterator[Marker | None]:
    """The marker, to be changed. Hold the session's journal lock, which no code holds while it changes a marker, so
    that a process that cannot begin to flush does not lose its payload to another that just succeeds. The marker is
    written even without the lock, because an unmarked UNSAFE session is worse."""
    with ExitStack() as held:
        folder = os.path.join(state, "sessions")
        try:
            durable.make_private_dir(folder)
            held.enter_context(durable.lock(os.path.join(folder, f"{file_stem(session_id)}.lock")))
        except Unavailable as error:
            logger.warning("a marker is changed without its lock: %s", error.message)
        marker = read(state, session_id)
        path = path_of(state, session_id)
        data = private.read(path) if marker is not None and marker.reason == UNKNOWN else None
        if data is not None and _parsed(data) is None:  # kept before it is overwritten or removed
            durable.replace(_aside(path, data), data)
        yield marker


def failed(state: str, marker: Marker, *, error: str, next_step: str, target: str, blocked: bool = False) -> Marker:
    """Record the error in the marker. Raises: Unavailable. The marker of :func:`begin` then remains.

    The user's folder notes it too, so that the session is UNSAFE even if its private folder is removed.
    """
    marker = evolve(
        marker, error=error, next_step=next_step, target=target, blocked=marker.blocked + (1 if blocked else 0)
    )
    marker = begin(state, marker, copy=True)
    with suppress(Unavailable):
        emergency_log.add_away(state, file_stem(marker.session))
    return marker


def clear(state: str, session_id: str, settled: Collection[str] = ()) -> None:
    """Remove the marker, durably, unless it has a stated payload whose digest is not in ``settled``.

    Raises: Unavailable. The session then stays UNSAFE, to be on the safe side.
    """
    with _changing(state, session_id) as marker:
        left = [entry for entry in (marker.stated if marker else ()) if entry.digest not in settled]
        if marker is not None and not left:
            # The stated payloads first, because on their own they would be used again. If a power cut brings the marker
            # back, the next flush finds its work done.
            copy = copy_of(state, file_stem(session_id))
            if os.path.lexists(copy):
                durable.remove(copy)
            durable.remove(path_of(state, session_id), flush=False)
            emergency_log.clear(state, file_stem(session_id))
        elif marker is not None:
            error = "A payload stated meanwhile by another process was refused."
            _write(state, evolve(marker, error=error, stated=left, key="", pending=None))


def clear_empty(state: str, session_id: str) -> None:
    """:func:`clear` for a session without messages. Without a marker a note in the user's folder stays, because
    something was said in the session and is lost. Raises: Unavailable."""
    note = emergency_log.of(state, file_stem(session_id))
    if note is None or not note.away or os.path.lexists(path_of(state, session_id)):
        clear(state, session_id)


def waive(state: str, session_id: str) -> None:
    """Stop all stated payloads from blocking, because an operator overrode them. Raises: Unavailable."""
    with _changing(state, session_id) as marker:
        if marker is not None and not all(entry.waived for entry in marker.stated):
            _write(state, evolve(marker, stated=[evolve(entry, waived=True) for entry in marker.stated]))


def all_unsafe(state: str) -> list[Marker]:
    """Markers of all UNSAFE sessions, by session id. Raises: Unavailable."""
    noted = {note.stem: note for note in emergency_log.notes(state)}
    files = (name for folder in ("unsafe", _COPIES) for name in private.names(os.path.join(state, folder)))
    stems = {name.removesuffix(".json") for name in files if name.endswith(".json")}
    markers = (_found(state, stem, _id_of(state, stem), noted.get(stem)) for stem in {*stems, *noted})
    return sorted((m for m in markers if m), key=lambda m: m.session)


def _id_of(state: str, stem: str) -> str:
    """An unreadable marker's session, from its journal, otherwise the stem."""
    if "~" in stem:
        with suppress(Unavailable):
            return session_id_of(os.path.join(state, "sessions", f"{stem}.jsonl")) or stem
    return stem


def _found(state: str, stem: str, session_id: str, note: emergency_log.Note | None) -> Marker | None:
    path = os.path.join(state, "unsafe", f"{stem}.json")
    data = private.read(path)
    marker = _parsed(data) if data is not None else None
    if marker is None:
        copy = copy_of(state, stem)
        stated = _copied(copy)
        if data is not None:
            name = os.path.basename(_aside(path, data))
            error = f"The UNSAFE marker itself is damaged. The next flush keeps it as state/unsafe/{name}."
        elif note is not None and note.away:
            error = "A turn or a flush of it failed, and the private folder holds no trace of that."
        elif note is not None:
            error = "A flush failed, and its UNSAFE marker could not be written."
        elif stated:
            error = "The UNSAFE marker is missing, but a stated payload remains."
        else:
            return None
        at = note.at if note else _changed(path if data is not None else copy)
        step = "Flush the session again. A verified flush makes it safe."
        if note is not None and note.away:
            step += f" If its work is gone, `holdfast purge --session {stem}` forgets it."
        marker = Marker(session=session_id, at=at, reason=UNKNOWN, error=error, next_step=step, stated=stated)
    if note is not None and note.stated and all(entry.digest != _UNWRITTEN for entry in marker.stated):
        unwritten = Stated(digest=_UNWRITTEN, at=note.at, why="no marker could be written.")
        marker = evolve(marker, stated=(*marker.stated, unwritten))
    return marker


@lru_cache(8)
def _parsed(data: bytes) -> Marker | None:
    from holdfast.config.serde import structure

    with suppress(ValueError, Corrupt):
        return structure(untrusted.from_json(data), Marker, what="An UNSAFE marker", error=Corrupt)
    return None


def _copied(path: str) -> tuple[Stated, ...]:
    """The stated payloads in the second copy. An unreadable copy represents a lost payload."""
    from holdfast.config.serde import structure

    data = private.read(path)
    if data is None:
        return ()
    try:
        entries = untrusted.from_json(data)["stated"]
        return tuple(structure(entry, Stated, what="A stated payload", error=Corrupt) for entry in entries)
    except (ValueError, Corrupt, KeyError, TypeError):
        digest = f"damaged-{zlib.crc32(data):08x}"
        return (Stated(digest=digest, at=_changed(path), why="the marker and its copy are damaged."),)


def _changed(path: str) -> str:
    """The file's last modification time, as ISO-8601; the epoch when unknown."""
    from datetime import UTC, datetime

    with suppress(OSError):
        return datetime.fromtimestamp(safeopen.stat(path).st_mtime, UTC).isoformat()
    return datetime.fromtimestamp(0, UTC).isoformat()
