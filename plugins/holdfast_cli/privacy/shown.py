"""Display of purge, scrub and retention reports: changes, leftovers, and files that holdfast does not touch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.text.humanize import count, size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast_app.privacy.transforms import Changed, Left
    from holdfast_cli.terminal import Term

_SHOWN = 12


def say_changed(out: Term, changed: Sequence[Changed], *, would: bool) -> None:
    """Show one row per place; past a limit, only how many more there are."""
    rows = []
    for one in changed[:_SHOWN]:
        verb = ("would go" if would else "removed") if one.removed else ("would change" if would else "changed")
        rows.append((one.kind, verb if one.count == 1 else f"{one.count:,} {verb}", one.name))
    if rows:
        out.say(out.table(rows))
    if len(changed) > _SHOWN:
        out.say(f"  {out.ellipsis} and {count(len(changed) - _SHOWN, 'more place')}; --json lists them all")


def say_left(out: Term, left: Sequence[Left]) -> None:
    """Show the places that could not be cleared, with their next steps."""
    for one in left:
        out.say(out.wrapped(f"{one.name}: {one.why}", first=f"{out.mark('fail')} ", rest="  "))
        if one.next_step:
            out.say(out.wrapped(one.next_step, first=f"  {out.dim('next:')} ", rest="        "))


def say_elsewhere(out: Term, elsewhere: Sequence[str]) -> None:
    """Show the files that holdfast does not touch."""
    if elsewhere:
        out.say(f"{out.mark('warn')} not touched; edit or delete these yourself:")
        for pointer in elsewhere:
            out.say(out.wrapped(out.plain(pointer), first="  ", rest="    "))


def searched(files: int, bytes_: int) -> str:
    """``34 files, 12.3 kB``."""
    return f"{count(files, 'file')}, {size(bytes_)}"
