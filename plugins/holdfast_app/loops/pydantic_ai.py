"""pydantic-ai capabilities that shorten the history before a request, such as ``ProcessHistory``."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from holdfast_app.loops.hold import Hold, finished, like
from holdfast_app.loops.mirror import parse

if TYPE_CHECKING:
    from holdfast import Session
    from holdfast.models import Message


def guarded(hold: Hold, given: Any) -> Any:
    """``given`` behind the gate; a refused history stays whole. A ``session`` function gets the run's context and the
    request's."""
    inner = type(given)

    async def before_model_request(self: Any, ctx: Any, request_context: Any) -> Any:
        whole = list(request_context.messages)
        session = await finished(hold.opened, ctx, request_context)
        said = await finished(hold.keep, session, whole)
        if said is None:
            return request_context
        changed = await inner.before_model_request(self, ctx, request_context)
        if not await finished(_checked, hold, session, said, list(changed.messages)):
            changed.messages = list(whole)
            ctx.messages[:] = whole
        return changed

    return like(given, before_model_request=before_model_request)


def _checked(hold: Hold, session: Session, said: list[Message], messages: list[Any]) -> bool:
    left = parse(messages)
    if not Counter((m.role, m.tool, m.text) for m in said) - Counter((m.role, m.tool, m.text) for m in left):
        return True
    if not hold.may_drop(session, said):
        return False
    hold.follow(session, left)
    return True
