"""Find a session by its id, and read its messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.errors import FlushRefused, NotFound

if TYPE_CHECKING:
    from holdfast import Holdfast
    from holdfast.models import Payload

#: Up to this many missing fields count as forgotten. With more, the session's name is probably wrong.
_FEW = 3
#: Minimum length of the accepted beginning of a message id.
_PREFIX = 4


def require_session(memory: Holdfast, session_id: str) -> None:
    """Raises: NotFound when the session has neither a journal nor an UNSAFE marker: a slip of the hand must not look
    like a flush that succeeded."""
    session_id = memory.services.gate.identifier(session_id)
    if not has_begun(memory, session_id):
        raise NotFound(f"There is no session {session_id!r}.", next_step=_which(memory, session_id))


def require_source(memory: Holdfast, session_id: str, payload: Payload) -> None:
    """Raises: FlushRefused when the payload is incomplete and there is no session from which the rest could be derived.

    Checked before the flush begins, so that a session that never existed does not remain as UNSAFE.
    """
    from holdfast.flush import contract

    missing = contract.missing(payload)
    session_id = memory.services.gate.identifier(session_id)
    if missing and not has_begun(memory, session_id):
        names = ", ".join(f"`{name}`" for name in missing)
        raise FlushRefused(
            f"The payload lacks {names}, and there is no session {session_id!r} to derive that from.",
            next_step=_give(missing) if len(missing) <= _FEW else _which(memory, session_id),
            missing=missing,
            target="payload",
        )


def _give(missing: tuple[str, ...]) -> str:
    from holdfast.flush import contract

    flags = {"state_mutations": "mutation", "facts": "fact", "decisions": "decision", "blockers": "blocker"}
    flags |= {"artifacts": "artifact", "follow_ups": "follow-up", "curated": "curated"}
    hint = ", ".join(f"`--{flags[name]} none`" for name in missing if name in flags)
    return contract.refusal(missing).next_step + (f" As a flag: {hint}." if hint else "")


def has_begun(memory: Holdfast, session_id: str) -> bool:
    """Whether the session has a journal or an UNSAFE marker."""
    from holdfast.journal import safety
    from holdfast.journal.journal import Journal

    state = memory.services.state
    session_id = memory.services.gate.identifier(session_id)
    return Journal(state, session_id).exists() or safety.read(state, session_id) is not None


def messages(memory: Holdfast, session: str, *, around: str | None = None, span: int = 0) -> list[dict[str, Any]]:
    """The records of a session's messages, in order, as stored. Mask them before showing them.

    With ``around``, only the message with that id, or the only one whose id begins with it, and ``span`` messages
    before and after it. Raises: NotFound; Unavailable.
    """
    from holdfast.journal import archive
    from holdfast.journal.journal import Journal

    state = memory.services.state
    journal = Journal(state, session)
    archived = archive.messages(state, session)
    if not journal.exists() and not archived:
        raise NotFound(
            f"There is no session {session!r}. {memory.config.retention.of_turns}",
            next_step="`holdfast sessions` lists the sessions.",
        )
    found = list({one["id"]: one for one in (*archived, *(e.record for e in journal.of_kinds("message")))}.values())
    if around is None:
        return found
    at = next((number for number, one in enumerate(found) if one["id"] == around), -1)
    if at < 0 and len(around) >= _PREFIX:
        begun = [number for number, one in enumerate(found) if one["id"].startswith(around)]
        at = begun[0] if len(begun) == 1 else -1
    if at < 0:
        raise NotFound(
            f"Session {session!r} has no message {around!r}.",
            next_step=f"`holdfast sessions show {session}` lists them all.",
        )
    return found[max(at - span, 0) : at + span + 1]


def _which(memory: Holdfast, session_id: str) -> str:
    from holdfast.cli.humanize import nearest

    known = memory.sessions()
    if not known:
        return "No session has begun here yet: `holdfast add` begins one."
    near = nearest(session_id, known)
    if near:
        return f"Did you mean `--session {near}`?"
    return "Sessions here: " + ", ".join(known[:8]) + (", ..." if len(known) > 8 else "") + "."
