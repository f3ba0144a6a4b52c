"""pydantic-ai capabilities that shorten the history before a request, such as ``ProcessHistory``."""

from __future__ import annotations

from typing import Any

from holdfast_app.loops.hold import Hold, finished, like


def guarded(hold: Hold, given: Any) -> Any:
    """``given``, guarded. A refused history stays whole. A ``session`` function gets the run's context and the
    request's, or its result."""
    inner = type(given)

    async def before_model_request(self: Any, ctx: Any, request_context: Any) -> Any:
        whole = list(request_context.messages)
        session = await finished(hold.opened, ctx, request_context)
        said = await finished(hold.keep, session, whole)
        if said is None:
            return request_context
        changed = await inner.before_model_request(self, ctx, request_context)
        if not await finished(hold.allows, session, said, list(changed.messages)):
            changed.messages = list(whole)
            ctx.messages[:] = whole
        return changed

    async def after_run(self: Any, ctx: Any, *, result: Any) -> Any:
        session = await finished(hold.opened, ctx, result)
        await finished(hold.keep, session, result.all_messages())  # the last answer
        return await inner.after_run(self, ctx, result=result)

    return like(given, before_model_request=before_model_request, after_run=after_run)
