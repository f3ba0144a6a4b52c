"""How what waits to be published is shown, by ``holdfast outbox`` and ``holdfast status``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.cli.humanize import ago, count

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from holdfast.cli.terminal import Term
    from holdfast.flush.publish.outbox import Item


#: An id is shown as far as people need it.
ID_CHARS = 16


def item_table(item: Item) -> dict[str, Any]:
    """One item for programs."""
    from holdfast.config.serde import unstructure

    table: dict[str, Any] = unstructure(item)
    return table


def show(out: Term, item: Item, now: datetime) -> None:
    """An item with its id, what became of the last try, and what to do."""
    target = out.bold(out.plain(item.target or "?"))
    tried = f", tried {count(item.attempts, 'time')}" if item.attempts else ""
    since = "" if item.is_damaged else out.dim(f"  {ago(item.at, now)}{tried}")
    out.say(f"{out.mark('warn')} {target}  {out.plain(item.id[:ID_CHARS])}{since}")
    if item.error:
        out.say(out.wrapped(item.error, first="    "))
    if item.next_step:
        out.say(out.wrapped(item.next_step, first=f"    {out.dim('next:')} ", rest="          "))


def say_pending(out: Term, items: Sequence[Item], now: datetime) -> None:
    """Print one line with the reason for waiting; print nothing when the outbox is empty."""
    if not items:
        return
    out.say()
    oldest = "" if items[0].is_damaged else f", the oldest {ago(items[0].at, now)}"
    verb = "waits" if len(items) == 1 else "wait"
    out.say(f"{out.mark('warn')} {count(len(items), 'item')} {verb} to be published{oldest}: `holdfast outbox`")
    for error, step in dict.fromkeys((item.error, item.next_step) for item in items if item.error):
        out.say(out.wrapped(error, first="  "))
        out.say(out.wrapped(step, first=f"  {out.dim('next:')} ", rest="        "))
