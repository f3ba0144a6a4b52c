"""Display of dreams, for ``holdfast dream``, ``holdfast dream --log`` and ``holdfast dream review``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.text.humanize import ago, count
from holdfast_app.dream.dreamlog import Status

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from holdfast_app.dream.dreamlog import DreamResult
    from holdfast_cli.terminal import Term

_MARKS = {
    Status.DONE: "ok",
    Status.UNDONE: "ok",
    Status.REJECTED: "ok",
    Status.PROPOSED: "warn",
    Status.SKIPPED: "dot",
    Status.FAILED: "fail",
}


def as_table(result: DreamResult) -> dict[str, Any]:
    """A run for programs."""
    from holdfast.config.serde import unstructure

    return {"ok": result.ok, **unstructure(result)}


def counts(result: DreamResult) -> str:
    """``3 kept, 2 added, 1 refused``."""
    parts = (
        (len(result.kept), "kept"),
        (len(result.added), "added"),
        (len(result.merged), "merged"),
        (len(result.replaced), "replaced"),
        (len(result.archived), "archived"),
        (len(result.dropped), "dropped"),
        (len(result.refused), "refused"),
    )
    return ", ".join(f"{number} {what}" for number, what in parts if number)


def show(out: Term, result: DreamResult) -> None:
    """Show a run's changes, line by line."""
    status = str(result.status) + (f" by {result.plugin}" if result.plugin else "")
    head = ": ".join(filter(None, (f"dream {status}", counts(result))))
    out.say(out.wrapped(head, first=f"{out.mark(_MARKS.get(result.status, 'dot'))} ", rest="  "))
    if result.reason:
        out.say(out.wrapped(result.reason, first="  "))
    for line in result.lines:
        if not line.kept:
            out.say(out.wrapped(line.text, first=f"  {out.style('+', 'green')} ", rest="    "))
            if line.sources:
                out.say(f"    {out.dim('from ' + ', '.join(line.sources))}")
    moved = (("~", result.merged), (">", result.replaced), ("=", result.archived))
    for mark, gone in (*moved, ("-", result.dropped), ("x", result.refused)):
        for one in gone:
            style = {"-": "yellow", "x": "red"}.get(mark, "cyan")
            out.say(out.wrapped(one.text, first=f"  {out.style(mark, style)} ", rest="    "))
            out.say(out.wrapped(one.reason, first="    "))
    for warning in result.warnings:
        out.say(out.wrapped(warning, first=f"  {out.mark('warn')} ", rest="    "))
    if result.diary:
        out.say(f"  {out.dim('diary:')} holdfast show {out.plain(result.diary)}")
    if result.next_step:
        out.say(out.wrapped(result.next_step, first=f"  {out.dim('next:')} ", rest="        "))


def show_diff(out: Term, diff: str) -> None:
    """Show a unified diff in colours."""
    for line in diff.splitlines():
        style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")
        out.say("  " + out.style(out.plain(line), style))


def show_log(out: Term, runs: Sequence[DreamResult], now: datetime) -> None:
    """Show every run on a line, newest last."""
    rows = [
        (
            out.mark_cell(_MARKS.get(run.status, "dot")),
            f"{run.at:%Y-%m-%d %H:%M}",
            str(run.status) + (" (trial)" if run.dry_run else ""),
            run.plugin or "-",
            counts(run) + (f" ({run.reason})" if run.reason and counts(run) else run.reason),
        )
        for run in runs
    ]
    if not rows:
        out.say(f"{out.mark('dot')} no dream yet; `holdfast dream` is the first")
        return
    out.say(out.table(rows, head=("", "at", "what", "by", "outcome")))
    out.say(f"\n  {count(len(rows), 'run')}, the last {ago(runs[-1].at, now)}")
