"""LangChain middleware that drops messages, such as ``SummarizationMiddleware`` of LangChain and of deepagents.

A refused compaction is undone: the agent goes on with every message. LangChain's middleware changes the state before
the model is called; deepagents keeps the state whole and shortens each request.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from holdfast.errors import FlushRefused
from holdfast_app.loops.hold import Hold, finished, like
from holdfast_app.loops.mirror import parse

if TYPE_CHECKING:
    from holdfast import Session
    from holdfast.models import Message


def guarded(hold: Hold, given: Any) -> Any:
    """``given`` behind the gate. A ``session`` function gets the hook's arguments: the state and the runtime, or the
    request and the handler."""
    inner = type(given)
    base = next(kind for kind in inner.__mro__ if kind.__name__ == "AgentMiddleware")

    def before_model(self: Any, state: Any, runtime: Any) -> Any:
        session = hold.opened(state, runtime)
        said = hold.keep(session, state["messages"])
        update = None if said is None else inner.before_model(self, state, runtime)
        return _checked(hold, session, said or [], update)

    async def abefore_model(self: Any, state: Any, runtime: Any) -> Any:
        session = await finished(hold.opened, state, runtime)
        said = await finished(hold.keep, session, list(state["messages"]))
        update = None if said is None else await inner.abefore_model(self, state, runtime)
        return await finished(_checked, hold, session, said or [], update)

    def wrap_model_call(self: Any, request: Any, handler: Callable[[Any], Any]) -> Any:
        session = hold.opened(request, handler)
        said = hold.keep(session, request.messages)

        def shortened(changed: Any) -> Any:
            _check(hold, session, said or [], changed)
            return handler(changed)

        try:
            return handler(request) if said is None else inner.wrap_model_call(self, request, shortened)
        except _Vetoed:
            return handler(request)

    async def awrap_model_call(self: Any, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        session = await finished(hold.opened, request, handler)
        said = await finished(hold.keep, session, list(request.messages))

        async def shortened(changed: Any) -> Any:
            await finished(_check, hold, session, said or [], changed)
            return await handler(changed)

        try:
            return await (handler(request) if said is None else inner.awrap_model_call(self, request, shortened))
        except _Vetoed:
            return await handler(request)

    hooks = (before_model, abefore_model, wrap_model_call, awrap_model_call)
    own = {hook.__name__: hook for hook in hooks if getattr(inner, hook.__name__) is not getattr(base, hook.__name__)}
    return like(given, **own, name=property(lambda self: given.name))


class _Vetoed(FlushRefused):
    """The gate refused a shortened request."""


def _checked(hold: Hold, session: Session, said: list[Message], update: Any) -> Any:
    """The ``update`` of the state, or None when its messages must not replace those ``said``."""
    if update is None or "messages" not in update:
        return update
    if not hold.may_drop(session, said):
        return None
    hold.follow(session, parse(update["messages"]))
    return update


def _check(hold: Hold, session: Session, said: list[Message], request: Any) -> None:
    if session.mirror.loses(parse(request.messages)) and not hold.may_drop(session, said):
        raise _Vetoed("The request stays whole.", next_step="Read the warning.", target="journal")
