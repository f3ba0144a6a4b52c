"""What state a project's sessions are in, read from journals and markers; nothing is written."""

from __future__ import annotations

import os
from datetime import datetime
from typing import TYPE_CHECKING

from attrs import frozen

from holdfast import journal, losses, safety
from holdfast.errors import Corrupt, HoldfastError
from holdfast.losses import Loss
from holdfast.models import turns_of
from holdfast.outbox import Item, Outbox
from holdfast.safety import Marker, State
from holdfast.serde import moment
from holdfast.session import Session

if TYPE_CHECKING:
    from holdfast.services import Services


@frozen(kw_only=True)
class SessionStatus:
    """One session. ``state`` is safe, dirty or unsafe; what cannot be read is unsafe, with the reason in ``error``.

    ``unflushed_*`` count what was said since the last flush, ``context_*`` what is in context. ``last_turn_at`` and
    ``last_flush_at`` are None when there was none; ``last_flush_id`` is then empty.
    """

    id: str
    state: State
    ended: bool = False
    unflushed_turns: int = 0
    unflushed_tokens: int = 0
    context_messages: int = 0
    context_tokens: int = 0
    last_turn_at: datetime | None = None
    last_flush_at: datetime | None = None
    last_flush_id: str = ""
    provider: str = ""
    error: str = ""
    next_step: str = ""


@frozen(kw_only=True)
class Status:
    """A project at one moment. ``sessions`` is sorted: unsafe first, then dirty, then safe; each by id. ``waiting`` is
    what is still to be published, oldest first. ``notices`` are sentences on settings of the project that are not in
    force. ``lost`` is what a quick look found missing."""

    root: str
    at: datetime
    layout: str
    backend: str
    sessions: tuple[SessionStatus, ...]
    waiting: tuple[Item, ...] = ()
    notices: tuple[str, ...] = ()
    lost: tuple[Loss, ...] = ()

    @property
    def unsafe(self) -> tuple[SessionStatus, ...]:
        return tuple(s for s in self.sessions if s.state is State.UNSAFE)

    @property
    def ok(self) -> bool:
        """True when no session is unsafe and nothing is known to be missing."""
        return not self.unsafe and not self.lost


_RANK = {State.UNSAFE: 0, State.DIRTY: 1, State.SAFE: 2}


def status(services: Services) -> Status:
    """Read every journal and marker of the project. Raises: Unavailable when the private folder cannot be listed."""
    markers = {marker.session: marker for marker in safety.all_unsafe(services.state)}
    found = [_read(services, path, markers) for path in journal.session_files(services.state)]
    known = {one.id for one in found}
    found += [
        _marked(SessionStatus(id=session_id, state=State.UNSAFE), marker)
        for session_id, marker in markers.items()
        if session_id not in known
    ]
    return Status(
        root=services.root,
        at=services.now(),
        layout=services.layout.preset,
        backend=services.config.storage.backend,
        sessions=tuple(sorted(_masked(services, found), key=lambda s: (_RANK[s.state], s.id))),
        waiting=tuple(Outbox(services.state).items()),
        notices=services.notices,
        lost=tuple(_lost(services)),
    )


def _masked(services: Services, found: list[SessionStatus]) -> list[SessionStatus]:
    """``found`` with ids as they may be shown: a journal of an earlier holdfast can have a secret in its id. While no
    validator works the ids are shown as stored, because they passed the gate then."""
    from attrs import evolve

    try:
        ids = services.gate.identifiers([one.id for one in found])
    except HoldfastError:
        return found
    return [one if one.id == shown else evolve(one, id=shown) for one, shown in zip(found, ids, strict=True)]


def _lost(services: Services) -> list[Loss]:
    """A store that cannot be read is a matter of the call that needs it; here it is named."""
    try:
        return losses.newest(services)
    except HoldfastError as error:
        return [Loss(kind="store", name="", message=error.message, next_step=error.next_step)]


def _read(services: Services, path: str, markers: dict[str, Marker]) -> SessionStatus:
    session_id = os.path.basename(path).removesuffix(".jsonl")
    try:
        ended = ended_session(path)
        if ended is not None and ended.id not in markers:
            return ended
        session_id = owner(path)
        session = Session(services, session_id)
        receipt = session.last_receipt
        messages = session.messages
        unflushed = session.unflushed
        last = max((m.at for m in (*messages, *unflushed)), default=receipt.at if receipt else None)
        one = SessionStatus(
            id=session_id,
            state=session.state,
            ended=session.ended,
            unflushed_turns=len(turns_of(unflushed)),
            unflushed_tokens=sum(m.tokens for m in unflushed),
            context_messages=len(messages),
            context_tokens=session.token_usage,
            last_turn_at=last,
            last_flush_at=receipt.at if receipt else None,
            last_flush_id=receipt.flush_id if receipt else "",
            provider=session.provider,
        )
    except HoldfastError as error:
        return SessionStatus(id=session_id, state=State.UNSAFE, error=error.message, next_step=error.next_step)
    marker = markers.get(session_id)
    return _marked(one, marker) if marker else one


def ended_session(path: str) -> SessionStatus | None:
    """The session, when its journal's last record says that it has ended with everything flushed. None: read it all.

    Projects have many such sessions, and nothing else of their journals is read.
    """
    record = journal.last_record(path)
    receipt = record.get("receipt") if record else None
    if not record or record["kind"] != "checkpoint" or not record["ended"] or not receipt:
        return None
    if record["override"] or min(record["kept_from"], record["flushed_to"]) <= record["last_message"]:
        return None
    session_id = receipt["session_id"]
    if journal.file_stem(session_id) + ".jsonl" != os.path.basename(path):
        return None
    at = moment(receipt["at"])
    return SessionStatus(
        id=session_id,
        state=State.SAFE,
        ended=True,
        last_turn_at=at,
        last_flush_at=at,
        last_flush_id=receipt["flush_id"],
        provider=record["provider"],
    )


def owner(path: str) -> str:
    """The session whose journal lies at ``path``. Raises: Corrupt when that cannot be told, or when that session would
    be looked for in another file: what is in this one would then be lost from sight."""
    stem = os.path.basename(path).removesuffix(".jsonl")
    shown = f"state/sessions/{stem}.jsonl"
    if os.path.isdir(path):
        raise Corrupt(f"{shown} is a directory.", next_step="Move it away: a journal is a file.")
    session_id = journal.session_id_of(path)
    if session_id is None:
        if journal.file_stem(stem) == stem:
            return stem
        raise Corrupt(
            f"{shown} does not say which session it belongs to: its first line is damaged.",
            next_step="Restore the file from a copy, or move it away.",
        )
    wanted = journal.file_stem(session_id) + ".jsonl"
    if wanted != f"{stem}.jsonl":
        raise Corrupt(
            f"{shown} is the journal of session {session_id!r}, which is not read from it.",
            next_step=f"Rename it to {wanted}; if there is such a file, flush that session first.",
        )
    return session_id


def _marked(one: SessionStatus, marker: Marker) -> SessionStatus:
    from attrs import evolve

    return evolve(one, state=State.UNSAFE, error=marker.error, next_step=marker.way_out)
