"""Check that a session exists before a command works on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.errors import FlushRefused, NotFound
from holdfast_cli import payload_args

if TYPE_CHECKING:
    from holdfast import Holdfast
    from holdfast.models import Payload

#: Up to this many missing fields count as forgotten. With more, the session's name is probably wrong.
_FEW = 3


def require_session(memory: Holdfast, session_id: str) -> None:
    """Raises: NotFound when the session has neither a journal nor an UNSAFE marker, because a mistyped id must not look
    like a successful flush."""
    session_id = memory.services.gate.identifier(session_id)
    if not has_begun(memory, session_id):
        raise NotFound(f"There is no session {session_id!r}.", next_step=_which(memory, session_id))


def require_source(memory: Holdfast, session_id: str, payload: Payload) -> None:
    """Raises: FlushRefused when the payload is incomplete and no session exists to derive the rest from.

    Checked before the flush begins, so that a session that never existed does not remain as UNSAFE.
    """
    from holdfast.flush import contract

    missing = contract.missing(payload)
    session_id = memory.services.gate.identifier(session_id)
    if missing and not has_begun(memory, session_id):
        names = ", ".join(f"`{name}`" for name in missing)
        raise FlushRefused(
            f"The payload lacks {names}, and session {session_id!r} does not exist, so nothing can be derived.",
            next_step=how_to_give(missing) if len(missing) <= _FEW else _which(memory, session_id),
            missing=missing,
            target="payload",
        )


def how_to_give(missing: tuple[str, ...]) -> str:
    """The next step for a payload that lacks fields."""
    return f"Run the same command again with `{flags_for(missing)}`, or with text instead of `none`."


def flags_for(missing: tuple[str, ...]) -> str:
    """The flags of missing fields, each with ``none``, which is an answer."""
    flags = {name: f"--{flag.replace('_', '-')} none" for flag, (name, _) in payload_args.LISTS.items()}
    flags |= {"objective": "--objective none", "next_step": "--next-step none", "curated": "--curated none"}
    flags |= {"state_mutations": "--mutation none"}
    flags |= {f"handoff.{name}": f"{flag} none" for name, flag, _ in payload_args.HANDOFF.values()}
    flags["handoff"] = " ".join(flag for name, flag in flags.items() if name.startswith("handoff."))
    return " ".join(flags[name] for name in missing)


def has_begun(memory: Holdfast, session_id: str) -> bool:
    """Whether the session has a journal or an UNSAFE marker."""
    from holdfast.journal import safety
    from holdfast.journal.journal import Journal

    state = memory.services.state
    session_id = memory.services.gate.identifier(session_id)
    return Journal(state, session_id).exists() or safety.read(state, session_id) is not None


def _which(memory: Holdfast, session_id: str) -> str:
    from holdfast.text.humanize import nearest

    known = memory.sessions()
    if not known:
        return "No session has begun here yet: `holdfast add` begins one."
    near = nearest(session_id, known)
    if near:
        return f"Did you mean `--session {near}`?"
    return "Sessions here: " + ", ".join(known[:8]) + (", ..." if len(known) > 8 else "") + "."
