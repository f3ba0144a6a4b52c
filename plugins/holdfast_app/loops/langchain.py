"""LangChain middleware that drops messages, such as ``SummarizationMiddleware`` of LangChain and of deepagents.

A refused compaction is undone, and the agent keeps every message. LangChain's middleware changes the state before
the model is called; deepagents keeps the state whole and shortens each request.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final

from holdfast.errors import FlushRefused
from holdfast_app.loops.hold import Hold, finished, like
from holdfast_app.loops.mirror import parse

if TYPE_CHECKING:
    from holdfast import Session
    from holdfast.models import Message

#: LangGraph's id for the removal of all messages.
_EVERY: Final = "__remove_all__"


def guarded(hold: Hold, given: Any) -> Any:
    """``given``, guarded. A ``session`` function gets the hook's arguments: state and runtime, or request and
    handler."""
    inner = type(given)
    base = next(kind for kind in inner.__mro__ if kind.__name__ == "AgentMiddleware")

    def before_model(self: Any, state: Any, runtime: Any) -> Any:
        session = hold.opened(state, runtime)
        if (said := hold.keep(session, state["messages"])) is None:
            return None
        update = inner.before_model(self, state, runtime)
        return _checked(hold, session, said, state, update)

    async def abefore_model(self: Any, state: Any, runtime: Any) -> Any:
        session = await finished(hold.opened, state, runtime)
        if (said := await finished(hold.keep, session, list(state["messages"]))) is None:
            return None
        update = await inner.abefore_model(self, state, runtime)
        return await finished(_checked, hold, session, said, state, update)

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

    def after_agent(self: Any, state: Any, runtime: Any) -> Any:
        hold.keep(hold.opened(state, runtime), state["messages"])
        return inner.after_agent(self, state, runtime)

    async def aafter_agent(self: Any, state: Any, runtime: Any) -> Any:
        await finished(hold.keep, await finished(hold.opened, state, runtime), list(state["messages"]))
        return await inner.aafter_agent(self, state, runtime)

    hooks = (before_model, abefore_model, wrap_model_call, awrap_model_call)
    own = {hook.__name__: hook for hook in hooks if getattr(inner, hook.__name__) is not getattr(base, hook.__name__)}
    own |= {"after_agent": after_agent, "aafter_agent": aafter_agent}  # the last answer
    return like(given, **own, name=property(lambda self: given.name))


class _Vetoed(FlushRefused):
    """The gate refused a shortened request."""


def _checked(hold: Hold, session: Session, said: list[Message], state: Any, update: Any) -> Any:
    """The ``update`` of the state, or None when it must not drop messages."""
    new = (update or {}).get("messages") or []
    new = new if isinstance(new, list) else [new]
    gone = {row.id for row in new if getattr(row, "type", "") == "remove"}
    kept = [] if _EVERY in gone else [row for row in state["messages"] if row.id not in gone]
    return update if hold.allows(session, said, [*kept, *new]) else None


def _check(hold: Hold, session: Session, said: list[Message], request: Any) -> None:
    if session.mirror.loses(parse(request.messages)) and not hold.may_drop(session, said):
        raise _Vetoed("The request stays whole.", next_step="Read the warning.", target="journal")
