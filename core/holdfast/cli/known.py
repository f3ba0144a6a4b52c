"""Naming a session that is there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.errors import NotFound

if TYPE_CHECKING:
    from holdfast import Holdfast


def require_session(memory: Holdfast, session_id: str) -> None:
    """Raises: NotFound when the session has neither a journal nor an UNSAFE marker: a slip of the hand must not look
    like a flush that succeeded."""
    from holdfast import safety
    from holdfast.cli.words import nearest
    from holdfast.journal import Journal

    state = memory.services.state
    if Journal(state, session_id).exists() or safety.read(state, session_id) is not None:
        return
    known = memory.sessions()
    near = nearest(session_id, known)
    if near:
        step = f"Did you mean `--session {near}`?"
    elif known:
        step = "Sessions here: " + ", ".join(known[:8]) + (", ..." if len(known) > 8 else "") + "."
    else:
        step = "No session has a journal here yet: `holdfast add` begins one."
    raise NotFound(f"There is no session {session_id!r}.", next_step=step)
