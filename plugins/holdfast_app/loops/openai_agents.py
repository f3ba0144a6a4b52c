"""The OpenAI Agents SDK's compaction session, which replaces its stored items by the server's compaction."""

from __future__ import annotations

from typing import Any

from holdfast_app.loops.hold import Hold, finished
from holdfast_app.loops.mirror import parse

_ALL = 2**31 - 1


def guarded(hold: Hold, given: Any) -> Any:
    """``given`` itself, guarded. A refused compaction leaves its items. A ``session`` function gets the compaction
    session. The default is its own id."""
    decide, run = given.should_trigger_compaction, given.run_compaction

    def opened() -> Any:
        return hold.memory.session(given.session_id) if hold.session == "default" else hold.opened(given)

    def should_trigger_compaction(context: dict[str, Any]) -> bool:
        return bool(decide(context)) and hold.may_drop(opened(), parse(context["session_items"]))

    async def run_compaction(args: Any = None, **more: Any) -> None:
        session = await finished(opened)
        said = await finished(hold.keep, session, await given.get_items(_ALL))
        forced = bool((args or {}).get("force"))
        if said is None or (forced and not await finished(hold.may_drop, session, said)):
            return
        await run(args, **more)
        await finished(hold.follow, session, parse(await given.get_items(_ALL)))

    given.should_trigger_compaction, given.run_compaction = should_trigger_compaction, run_compaction
    return given
