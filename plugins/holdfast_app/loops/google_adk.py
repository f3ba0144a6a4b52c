"""Google ADK's event summarizers. ADK keeps every event, and replaces a span of them by its summary in requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import evolve

from holdfast.errors import HoldfastError
from holdfast_app.loops.hold import Hold, finished, like
from holdfast_app.loops.mirror import parse

if TYPE_CHECKING:
    from holdfast import Session


def guarded(hold: Hold, given: Any) -> Any:
    """``given``, guarded. A refused compaction returns None, and ADK continues with all events. A ``session``
    function gets the events."""
    inner = type(given)

    async def maybe_summarize_events(self: Any, *, events: list[Any]) -> Any:
        session = await finished(hold.opened, events=events)
        if not await finished(_may_drop, hold, session, list(events)):
            return None
        return await inner.maybe_summarize_events(self, events=events)

    return like(given, maybe_summarize_events=maybe_summarize_events)


def _may_drop(hold: Hold, session: Session, events: list[Any]) -> bool:
    """Journal the events by their ids, because the spans of two compactions overlap, and pass the gate."""
    try:
        said = [evolve(m, id=f"{event.id}#{n}") for event in events for n, m in enumerate(parse([event]))]
        session.extend(said)
    except HoldfastError as error:
        return hold.vetoed(session, error)
    return hold.may_drop(session, [])
