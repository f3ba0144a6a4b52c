"""The method added to an opened project and the property added to a session (docs/hooks.md);
:mod:`holdfast.plugin.features` declares them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holdfast import Holdfast, Session
    from holdfast.session.services import Services
    from holdfast_agent_loops.mirror import Mirror


def guard(
    memory: Holdfast,
    compact: Callable[..., Any] | None = None,
    /,
    *,
    session: str | Callable[..., str] = "default",
    messages: Callable[..., Iterable[object]] | None = None,
    kept: Callable[[Any], Iterable[object]] | None = None,
) -> Any:
    from holdfast_agent_loops.guard import Guard

    wrap = Guard(memory=memory, session=session, messages=messages, kept=kept).wrap
    return wrap if compact is None else wrap(compact)


def mirror(services: Services, session: Session) -> Mirror:
    from holdfast_agent_loops.mirror import Mirror

    return Mirror(services, session)
