"""Display of flushes kept on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.cli.humanize import ago
from holdfast.flush.spool.kept import sentence

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from holdfast.cli.terminal import Term
    from holdfast.flush.spool import lastbrief
    from holdfast.flush.spool.kept import Kept


def table(items: Sequence[Kept]) -> list[dict[str, Any]]:
    """The items for programs."""
    return [
        {
            "id": one.id,
            "session": one.session,
            "at": one.at.isoformat(),
            "server": one.server,
            "damaged": one.is_damaged,
            "error": one.error,
            "next_step": one.next_step,
        }
        for one in items
    ]


def told_of(items: Sequence[Kept]) -> str:
    """One sentence; empty when nothing waits."""
    return sentence(items, None)


def told_of_copy(kept: lastbrief.Kept | None, now: datetime) -> str:
    """The last brief's age, in one sentence."""
    if kept is None:
        return "No earlier brief is kept on this machine."
    return f"The last brief that this machine has read is from {ago(kept.at, now)}."


def say_kept(out: Term, items: Sequence[Kept]) -> None:
    """Print the sentence and the next step, or nothing if no flush waits."""
    if told := told_of(items):
        out.say(out.wrapped(told, first=f"\n{out.mark('warn')} ", rest="  "))
        out.say(f"  {out.dim('next:')} `holdfast spool send` writes them now. The next flush and start also do")


def show(out: Term, one: Kept, now: datetime) -> None:
    """One item with its session, the last failure, and the next step."""
    since = "" if one.is_damaged else out.dim(f"  {ago(one.at, now)}")
    out.say(f"{out.mark('warn')} {out.bold(out.plain(one.session or '?'))}  {out.plain(one.id)}{since}")
    if one.error:
        out.say(out.wrapped(one.error, first="    "))
    if one.next_step:
        out.say(out.wrapped(one.next_step, first=f"    {out.dim('next:')} ", rest="          "))
