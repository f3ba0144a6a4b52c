"""What state a project's sessions are in, read from journals and markers; nothing is written."""

from __future__ import annotations

import os
from datetime import datetime
from typing import TYPE_CHECKING

from attrs import frozen

from holdfast import journal, safety
from holdfast.errors import HoldfastError
from holdfast.models import turns_of
from holdfast.safety import Marker, State
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
    """A project at one moment. ``sessions`` is sorted: unsafe first, then dirty, then safe; each by id."""

    root: str
    at: datetime
    layout: str
    backend: str
    sessions: tuple[SessionStatus, ...]

    @property
    def unsafe(self) -> tuple[SessionStatus, ...]:
        return tuple(s for s in self.sessions if s.state is State.UNSAFE)

    @property
    def ok(self) -> bool:
        """True when no session is unsafe."""
        return not self.unsafe


_RANK = {State.UNSAFE: 0, State.DIRTY: 1, State.SAFE: 2}


def status(services: Services) -> Status:
    """Read every journal and marker of the project. Raises: Unavailable when the private folder cannot be listed."""
    markers = {marker.session: marker for marker in safety.all_unsafe(services.state)}
    found = {}
    for path in journal.session_files(services.state):
        one = _read(services, path, markers)
        found[one.id] = one
    for session_id, marker in markers.items():
        found.setdefault(session_id, _marked(SessionStatus(id=session_id, state=State.UNSAFE), marker))
    return Status(
        root=services.root,
        at=services.now(),
        layout=services.layout.preset,
        backend=services.config.storage.backend,
        sessions=tuple(sorted(found.values(), key=lambda s: (_RANK[s.state], s.id))),
    )


def _read(services: Services, path: str, markers: dict[str, Marker]) -> SessionStatus:
    session_id = os.path.basename(path).removesuffix(".jsonl")
    try:
        session_id = journal.session_id_of(path) or session_id
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


def _marked(one: SessionStatus, marker: Marker) -> SessionStatus:
    from attrs import evolve

    return evolve(one, state=State.UNSAFE, error=marker.error, next_step=marker.next_step)
