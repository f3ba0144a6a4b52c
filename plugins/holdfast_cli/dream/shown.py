"""Display of dreams, for ``holdfast dream``, ``holdfast dream --log`` and ``holdfast dream review``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from holdfast.config.serde import unstructure
from holdfast.text.humanize import ago, count
from holdfast_app.dream.dreamlog import Status

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from holdfast_app.dream.dreamlog import DreamResult, Gone
    from holdfast_cli.terminal import Term

_MARKS = {
    Status.DONE: "ok",
    Status.UNDONE: "ok",
    Status.REJECTED: "ok",
    Status.PROPOSED: "warn",
    Status.SKIPPED: "dot",
    Status.FAILED: "fail",
}
_COUNTED = ("kept", "added", "merged", "replaced", "archived", "dropped", "refused")


def as_table(result: DreamResult) -> dict[str, Any]:
    """A run for programs."""
    return {"ok": result.ok, **unstructure(result)}


def counts(result: DreamResult) -> str:
    """``3 kept, 2 added, 1 refused``."""
    numbers = {name: len(getattr(result, name)) for name in _COUNTED}
    return ", ".join(f"{number} {name}" for name, number in numbers.items() if number)


#: Lists of a run's lines: attribute, label, mark, style.
GONE: Final = (
    ("merged", "merged into other lines", "~", "cyan"),
    ("replaced", "replaced by newer statements", ">", "cyan"),
    ("archived", "moved to the archive", "=", "cyan"),
    ("dropped", "dropped", "-", "yellow"),
    ("refused", "refused, because the notes do not say it", "x", "red"),
)


def show(out: Term, result: DreamResult) -> None:
    """Show a run's changes, line by line."""
    status = str(result.status) + (f" by {result.plugin}" if result.plugin else "")
    out.note(_MARKS.get(result.status, "dot"), ": ".join(filter(None, (f"dream {status}", counts(result)))))
    if result.reason:
        out.fill(result.reason)
    show_new(out, result)
    for name, _, mark, style in GONE:
        show_gone(out, getattr(result, name), mark, style)
    for warning in result.warnings:
        out.note("warn", warning, indent="  ")
    if result.diary:
        out.say(f"  {out.dim('diary:')} holdfast show {out.plain(result.diary)}")
    if result.next_step:
        out.next_step(result.next_step)


def show_new(out: Term, result: DreamResult) -> None:
    """Show the new lines with their sources."""
    for line in result.lines:
        if not line.kept:
            out.fill(line.text, f"  {out.style('+', 'green')} ", "    ")
            if line.sources:
                out.say(f"    {out.dim('from ' + ', '.join(line.sources))}")


def show_gone(out: Term, gone: Sequence[Gone], mark: str, style: str) -> None:
    """Show a list of a run."""
    for one in gone:
        out.fill(one.text, f"  {out.style(mark, style)} ", "    ")
        if one.reason:
            out.fill(one.reason, "    ")


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
