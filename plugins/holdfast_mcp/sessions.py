"""Finds the session that a client means, and whether hooks guard it.

A wrong guess would mark unsaved turns as flushed, so doubt is an error. MCP has no event for compaction, so a server
cannot block it. A client's hooks can, and they leave a heartbeat whenever they run. A missing one is reported.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from holdfast.errors import BadValue
from holdfast.text.plain import clean
from holdfast.text.recall import defuse
from holdfast_agents.records.heartbeat import Beat, beats
from holdfast_cli.saving import has_begun

if TYPE_CHECKING:
    from holdfast import Holdfast

#: A session without a turn for this long is not the calling one.
_ACTIVE: Final = timedelta(hours=12)
#: A client starts this server when a session begins. Its hooks may have run shortly before.
_BEFORE: Final = timedelta(hours=1)
_SHOWN: Final = 5
_CLIP: Final = 80


def choose(memory: Holdfast, *, given: str, configured: str, client: str, beat: Beat | None) -> str:
    """The session id, from the caller, or the server's ``--session``, or the hooks' session if no other is
    active. A client without hooks has one session per project, named after itself.

    Raises: BadValue for an unknown id, because a mistyped session would be reported as safe while the real one is not;
    and when several sessions are active, with the last request of each.
    """
    own = "-".join(re.findall(r"[a-z0-9]+", client.casefold()))[:40] or "default"
    if given:
        if clean(given) != given:
            raise BadValue("`session`", "has control characters", next_step="Leave it out, or give a plain id.")
        if given not in (own, configured) and not has_begun(memory, given):
            raise BadValue("`session`", "names no session of this project", next_step=_known(memory))
        return given
    if configured:
        return configured
    if beat is None or not beat.session:
        return own
    others = _active(memory) - {beat.session}
    if not others:
        return beat.session
    shown = "; ".join(_described(memory, one) for one in sorted({beat.session, *others})[:_SHOWN])
    raise BadValue(
        "`session`",
        "is needed: several sessions are active in this project",
        next_step=f"Give the one whose last request is this conversation's: {shown}.",
    )


def _known(memory: Holdfast) -> str:
    shown = "; ".join(_described(memory, one) for one in sorted(_active(memory))[:_SHOWN])
    leave = "Leave it out, or start the server with `--session`"
    return f"{leave}, or give the one whose last request is this conversation's: {shown}." if shown else f"{leave}."


def _active(memory: Holdfast) -> set[str]:
    from holdfast_app.sessions.status import status

    now = status(memory.services)
    return {
        s.id for s in now.sessions if not s.ended and s.last_turn_at is not None and now.at - s.last_turn_at < _ACTIVE
    }


def _described(memory: Holdfast, session_id: str) -> str:
    said = [m.text for m in memory.session(session_id).messages if m.role == "user" and m.text.strip()]
    last = " ".join(defuse(said[-1]).split()) if said else "nothing yet"
    return f"{session_id!r} ({last if len(last) <= _CLIP else last[: _CLIP - 1] + '…'})"


def hook_client(name: str) -> str:
    """The supported client that a client's MCP name refers to. Empty if holdfast has no hooks for it."""
    return next((known for known in ("claude-code", "opencode", "codex") if known in name.casefold()), "")


def latest(state: str, client: str, started: datetime) -> Beat | None:
    """The last heartbeat of this client's hooks, unless it is from before this server's session."""
    ours = hook_client(client)
    return next((b for b in beats(state) if b.client == ours and b.at >= started - _BEFORE), None)


def unguarded(client: str) -> str:
    """The notice for a client without a heartbeat."""
    ours = hook_client(client)
    how = (
        f"To have it enforced, run `holdfast install {ours}`, then `holdfast doctor`."
        if ours
        else "holdfast has no hooks for this client, so nothing can enforce it."
    )
    return (
        "Notice: no hook from this client was seen in this project during this session. MCP cannot block a compaction, "
        f"so call `flush` yourself before context is compacted, cleared or handed over. {how}"
    )
