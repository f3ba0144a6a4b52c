"""Guards for the compactors that frameworks have. A refused compaction is undone, and the agent keeps every message.

LangChain's middleware (also of deepagents) changes the state before the model is called, or shortens each request.
Google ADK keeps every event, and replaces a span of them by its summary in requests. Microsoft Agent Framework's
strategies mark and change a list's messages in place. pydantic-ai's capabilities shorten the history before a request.
The OpenAI Agents SDK's session replaces its stored items by the server's compaction.
"""

import copy
from collections.abc import Awaitable, Callable
from typing import Any, Final

from attrs import evolve

from holdfast.api import FlushRefused, HoldfastError, Message, Session
from holdfast_app.loops.hold import Hold, finished, like, parse

#: All items of a session of the OpenAI Agents SDK.
_ALL: Final = 2**31 - 1


def langchain(hold: Hold, compactor: Any) -> Any:
    """A ``session`` function gets the hook's arguments: state and runtime, or request and handler."""
    inner = type(compactor)
    base = next(kind for kind in inner.__mro__ if kind.__name__ == "AgentMiddleware")

    def before_model(self: Any, state: Any, runtime: Any) -> Any:
        session = hold.opened(state, runtime)
        if (messages := hold.keep(session, state["messages"])) is None:
            return None
        return _checked(hold, session, messages, state, inner.before_model(self, state, runtime))

    async def abefore_model(self: Any, state: Any, runtime: Any) -> Any:
        session = await finished(hold.opened, state, runtime)
        if (messages := await finished(hold.keep, session, list(state["messages"]))) is None:
            return None
        update = await inner.abefore_model(self, state, runtime)
        return await finished(_checked, hold, session, messages, state, update)

    def wrap_model_call(self: Any, request: Any, handler: Callable[[Any], Any]) -> Any:
        session = hold.opened(request, handler)
        messages = hold.keep(session, request.messages)

        def shortened(changed: Any) -> Any:
            _check(hold, session, messages or [], changed)
            return handler(changed)

        try:
            return handler(request) if messages is None else inner.wrap_model_call(self, request, shortened)
        except _Vetoed:
            return handler(request)

    async def awrap_model_call(self: Any, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        session = await finished(hold.opened, request, handler)
        messages = await finished(hold.keep, session, list(request.messages))

        async def shortened(changed: Any) -> Any:
            await finished(_check, hold, session, messages or [], changed)
            return await handler(changed)

        try:
            return await (handler(request) if messages is None else inner.awrap_model_call(self, request, shortened))
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
    return like(compactor, **own, name=property(lambda self: compactor.name))


class _Vetoed(FlushRefused):
    """The gate refused a shortened request."""


def _checked(hold: Hold, session: Session, messages: list[Message], state: Any, update: Any) -> Any:
    """The ``update`` of the state, or None when it must not drop messages."""
    new = (update or {}).get("messages") or []
    new = new if isinstance(new, list) else [new]
    gone = {row.id for row in new if getattr(row, "type", "") == "remove"}
    kept = [] if "__remove_all__" in gone else [row for row in state["messages"] if row.id not in gone]
    return update if hold.allows(session, messages, [*kept, *new]) else None


def _check(hold: Hold, session: Session, messages: list[Message], request: Any) -> None:
    if session.mirror.loses(parse(request.messages)) and not hold.may_drop(session, messages):
        raise _Vetoed("The request stays whole.", next_step="Read the warning.", target="journal")


def google_adk(hold: Hold, compactor: Any) -> Any:
    """A refused compaction returns None, and ADK continues with all events. A ``session`` function gets the events."""
    inner = type(compactor)

    def may_drop(session: Session, events: list[Any]) -> bool:
        # Journal the events by their ids, because the spans of two compactions overlap.
        try:
            session.extend(evolve(m, id=f"{event.id}#{n}") for event in events for n, m in enumerate(parse([event])))
        except HoldfastError as error:
            return hold.vetoed(session, error)
        return hold.may_drop(session, [])

    async def maybe_summarize_events(self: Any, *, events: list[Any]) -> Any:
        session = await finished(hold.opened, events=events)
        if not await finished(may_drop, session, list(events)):
            return None
        return await inner.maybe_summarize_events(self, events=events)

    return like(compactor, maybe_summarize_events=maybe_summarize_events)


def agent_framework(hold: Hold, compactor: Any) -> Any:
    """A refused compaction is undone and returns False. A ``session`` function gets the messages."""
    inner = type(compactor)

    async def call(self: Any, messages: list[Any]) -> bool:
        session = await finished(hold.opened, messages)
        journalled = await finished(hold.keep, session, list(messages))
        if journalled is None:
            return False
        before = [(m, copy.deepcopy(m.additional_properties), list(m.contents)) for m in messages]
        allowed = False
        try:
            changed: bool = await inner.__call__(self, messages)
            allowed = not changed or await finished(hold.may_drop, session, journalled)
            return changed and allowed
        finally:
            if not allowed:
                messages[:] = [message for message, _, _ in before]
                for message, properties, contents in before:
                    message.additional_properties, message.contents = properties, contents

    return like(compactor, __call__=call)


def pydantic_ai(hold: Hold, compactor: Any) -> Any:
    """A refused history stays whole. A ``session`` function gets the run's context and the request's, or its result."""
    inner = type(compactor)

    async def before_model_request(self: Any, ctx: Any, request_context: Any) -> Any:
        whole = list(request_context.messages)
        session = await finished(hold.opened, ctx, request_context)
        messages = await finished(hold.keep, session, whole)
        if messages is None:
            return request_context
        changed = await inner.before_model_request(self, ctx, request_context)
        if not await finished(hold.allows, session, messages, list(changed.messages)):
            changed.messages = list(whole)
            ctx.messages[:] = whole
        return changed

    async def after_run(self: Any, ctx: Any, *, result: Any) -> Any:
        session = await finished(hold.opened, ctx, result)
        await finished(hold.keep, session, result.all_messages())  # the last answer
        return await inner.after_run(self, ctx, result=result)

    return like(compactor, before_model_request=before_model_request, after_run=after_run)


def openai_agents(hold: Hold, compactor: Any) -> Any:
    """``compactor`` itself, guarded. A ``session`` function gets the compaction session. The default is its own id."""
    decide, run = compactor.should_trigger_compaction, compactor.run_compaction

    def opened() -> Any:
        return hold.memory.session(compactor.session_id) if hold.session == "default" else hold.opened(compactor)

    def should_trigger_compaction(context: dict[str, Any]) -> bool:
        return bool(decide(context)) and hold.may_drop(opened(), parse(context["session_items"]))

    async def run_compaction(args: Any = None, **more: Any) -> None:
        session = await finished(opened)
        messages = await finished(hold.keep, session, await compactor.get_items(_ALL))
        forced = bool((args or {}).get("force"))
        if messages is None or (forced and not await finished(hold.may_drop, session, messages)):
            return
        await run(args, **more)
        await finished(hold.follow, session, parse(await compactor.get_items(_ALL)))

    compactor.should_trigger_compaction, compactor.run_compaction = should_trigger_compaction, run_compaction
    return compactor
