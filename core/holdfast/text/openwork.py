"""Whether a payload leaves work open. Every reader of a note or the handoff uses this, so it imports nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.models import Payload


def is_none(text: str | None) -> bool:
    """Whether a string means "nothing": blank or the word none."""
    return text is None or text.strip().strip(".").casefold() in ("", "none", "n/a", "nothing")


def is_open(payload: Payload) -> bool:
    """Whether work is open. Fails closed: any sign of open work counts unless the caller declares it closed (A41)."""
    if payload.work_open is not None:
        return payload.work_open
    handoff = payload.handoff
    return (
        not is_none(payload.next_step)
        or any(not is_none(b) for b in payload.blockers or ())
        or any(not is_none(f) for f in payload.follow_ups or ())
        or any(not is_none(n) for n in payload.needs_operator or ())
        or (handoff is not None and not (is_none(handoff.active_task) and is_none(handoff.blocker)))
    )
