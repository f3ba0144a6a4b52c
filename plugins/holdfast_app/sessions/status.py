"""Session states of a project, from journals and markers.

Of a session with everything flushed, only the journal's last record is read. Writes nothing.
"""

import os
from collections import deque
from collections.abc import Iterator, Sequence
from datetime import datetime

from attrs import evolve, frozen

from holdfast.config.layout import Surface
from holdfast.config.serde import moment
from holdfast.errors import Corrupt, HoldfastError
from holdfast.flush.context import Context
from holdfast.fs import durable, paths, private, safeopen
from holdfast.fs.records import decode
from holdfast.journal import safety
from holdfast.journal.journal import file_stem
from holdfast.models import turns_of
from holdfast_app.base import Services, Waiting
from holdfast_app.data_loss import Loss, apart, newest
from holdfast_app.journal import journal, past
from holdfast_app.records import journals
from holdfast_app.sessions import pastgate


@frozen(kw_only=True)
class SessionStatus:
    """One session. ``state`` is safe, dirty or unsafe. An unreadable session is unsafe, with the reason in ``error``.

    ``unflushed_*`` count messages since the last flush, ``context_*`` those in context. ``last_turn_at`` and
    ``last_flush_at`` are None when there was none; ``last_flush_id`` is then empty. ``past_gate_at`` is when the client
    last compacted it without asking holdfast.
    """

    id: str
    state: safety.State
    ended: bool = False
    unflushed_turns: int = 0
    unflushed_tokens: int = 0
    context_messages: int = 0
    context_tokens: int = 0
    last_turn_at: datetime | None = None
    last_flush_at: datetime | None = None
    last_flush_id: str = ""
    past_gate_at: datetime | None = None
    provider: str = ""
    error: str = ""
    next_step: str = ""


@frozen(kw_only=True)
class Status:
    """A project at one moment. ``sessions`` is sorted with unsafe first, next dirty, last safe, each by id. ``waiting``
    lists unpublished items, oldest first; ``spooled`` the flushes that only this machine has. ``notices`` are
    sentences about project settings that are not in force, and about sessions compacted past the gate. ``packed``
    counts ended sessions, all safe, that ``sessions`` leaves out (:mod:`holdfast_app.journal.past`). ``lost`` is stored
    data that a quick check found missing."""

    root: str
    at: datetime
    layout: str
    backend: str
    sessions: tuple[SessionStatus, ...]
    waiting: tuple[Waiting, ...] = ()
    notices: tuple[str, ...] = ()
    lost: tuple[Loss, ...] = ()
    spooled: tuple[Waiting, ...] = ()
    packed: int = 0

    @property
    def unsafe(self) -> tuple[SessionStatus, ...]:
        return tuple(s for s in self.sessions if s.state is safety.State.UNSAFE)

    @property
    def ok(self) -> bool:
        return not self.unsafe and not self.lost


_RANK = {safety.State.UNSAFE: 0, safety.State.DIRTY: 1, safety.State.SAFE: 2}


def status(services: Services, *, packed: bool = False) -> Status:
    """The project's sessions, with ``packed`` all of them, with waiting and lost items. Raises: Unavailable when
    the private folder cannot be listed."""
    markers = {marker.session: marker for marker in safety.all_unsafe(services.state)}
    rows = [_read(services, path, markers) for path in journal.session_files(services.state, packed=packed)]
    known = {row.id for row in rows}
    others = (marker for session_id, marker in markers.items() if session_id not in known)
    rows += [_marked(SessionStatus(id=marker.session, state=safety.State.UNSAFE), marker) for marker in others]
    now = services.now()
    gone = {compaction.session: compaction.at for compaction in pastgate.all_of(services.state)}
    rows = [evolve(row, past_gate_at=gone[row.id]) if row.id in gone else row for row in rows]
    return Status(
        root=services.root,
        at=now,
        layout=services.layout.preset,
        backend=services.config.storage.backend,
        sessions=tuple(sorted(_masked(services, rows), key=lambda s: (_RANK[s.state], s.id))),
        waiting=tuple(services.outbox.items()) if services.waits(private.OUTBOX) else (),
        spooled=tuple(services.spool.items()) if services.waits(private.SPOOL) else (),
        notices=(*services.notices, *(compaction.sentence for compaction in pastgate.recent(services.state, now))),
        packed=0 if packed else len(past.every(services.state)),
        lost=(*apart(services.root, services.state), *_lost(services)),
    )


def _masked(services: Services, rows: list[SessionStatus]) -> list[SessionStatus]:
    """``rows`` with masked ids, because a journal from an earlier version can have a secret in its id. If no validator
    works, ids are shown as stored, since they passed the gate when written."""
    try:
        ids = services.gate.identifiers([row.id for row in rows])
    except HoldfastError:
        return rows
    return [row if row.id == shown else evolve(row, id=shown) for row, shown in zip(rows, ids, strict=True)]


def _lost(services: Services) -> list[Loss]:
    """What is missing, and what cannot be read, each once. The call that needs it raises the error."""
    losses: dict[str, Loss] = {}
    for look in (newest,) if services.is_remote else (newest, _documents, _facts):
        try:
            losses |= {loss.message: loss for loss in look(services)}
        except HoldfastError as error:
            losses[error.message] = Loss(kind="store", name="", message=error.message, next_step=error.next_step)
    return [*losses.values()]


def _documents(services: Services) -> Sequence[Loss]:
    """Raises: Corrupt, Unavailable for the first curated document that cannot be read. :func:`newest` looks at the
    handoff and the notes."""
    for surface in (Surface.MEMORY, Surface.USER):
        services.store.read(services.layout.name(surface))
    return ()


def _facts(services: Services) -> Sequence[Loss]:
    """Raises: Corrupt, Unavailable when a fact cannot be read."""
    deque(services.store.backend.facts(), maxlen=0)
    return ()


def _read(services: Services, path: str, markers: dict[str, safety.Marker]) -> SessionStatus:
    session_id = os.path.basename(path).removesuffix(".jsonl")
    try:
        known = _flushed(path)
        if known is not None and known.id not in markers:
            return known
        session_id = owner(path)
        session = of_session(Context(services, session_id))
    except HoldfastError as error:
        return SessionStatus(id=session_id, state=safety.State.UNSAFE, error=error.message, next_step=error.next_step)
    marker = markers.get(session_id)
    return _marked(session, marker) if marker else session


def of_session(session: Context) -> SessionStatus:
    """An open session's status. Raises: Unavailable."""
    receipt = session.last_receipt
    messages = session.messages
    unflushed = session.unflushed
    return SessionStatus(
        id=session.id,
        state=session.state,
        ended=session.ended,
        unflushed_turns=len(turns_of(unflushed)),
        unflushed_tokens=sum(m.tokens for m in unflushed),
        context_messages=len(messages),
        context_tokens=session.token_usage,
        last_turn_at=max((m.at for m in (*messages, *unflushed)), default=receipt.at if receipt else None),
        last_flush_at=receipt.at if receipt else None,
        last_flush_id=receipt.flush_id if receipt else "",
        provider=session.provider,
    )


def _flushed(path: str) -> SessionStatus | None:
    """The session, if its journal's last record shows that everything in it is flushed; None if all must be read.

    Projects have many such sessions, and nothing else of their journals is read.
    """
    record = journals.last_checkpoint_of(path)
    if record is None or "context" not in record:
        return None
    receipt = record["receipt"]
    session_id = receipt["session_id"]
    if file_stem(session_id) + ".jsonl" != os.path.basename(path):
        return None
    at, (messages, tokens, turn_at) = moment(receipt["at"]), record["context"]
    return SessionStatus(
        id=session_id,
        state=safety.State.SAFE,
        ended=record["ended"],
        context_messages=messages,
        context_tokens=tokens,
        last_turn_at=moment(turn_at) if turn_at else at,
        last_flush_at=at,
        last_flush_id=receipt["flush_id"],
        provider=record["provider"],
    )


def owner(path: str) -> str:
    """The session whose journal is at ``path``. Raises: Corrupt for an unknown one, or when the session's journal
    belongs in another file, because this file's contents would then go unnoticed."""
    stem = os.path.basename(path).removesuffix(".jsonl")
    shown = paths.ending(path, 4)
    session_id = journal.session_id_of(path)
    if session_id is None:
        session_id = next((name for name in (stem, *_named(path)) if file_stem(name) == stem), None)
    if session_id is None:
        step = "Restore the file from a copy, or move it away."
        raise Corrupt(f"{shown} has a damaged first line, so its session is unknown.", next_step=step)
    wanted = file_stem(session_id)
    if wanted != stem:
        step = f"Rename it to {wanted}.jsonl; if that file exists, flush that session first."
        raise Corrupt(f"{shown} is the journal of session {session_id!r}, but has the wrong name.", next_step=step)
    return session_id


def _named(path: str) -> Iterator[str]:
    """The sessions that the receipts of the journal at ``path`` name. Raises: Unavailable."""
    with durable.reporting(path, "read"):
        lines = safeopen.read(path).splitlines()
    for record in map(decode, lines):
        if record and record.get("receipt"):
            yield str(record["receipt"]["session_id"])


def _marked(session: SessionStatus, marker: safety.Marker) -> SessionStatus:
    return evolve(session, state=safety.State.UNSAFE, error=marker.error, next_step=marker.way_out)
