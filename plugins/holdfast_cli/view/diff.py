"""``holdfast diff``: a dream's changes to MEMORY.md."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import evolve

from holdfast.text.humanize import ago, count
from holdfast_app.dream.dreamlog import Status
from holdfast_app.view.project import Project
from holdfast_cli.command import Answer, Call, Command, argument
from holdfast_cli.dream import shown
from holdfast_cli.problem import UsageError
from holdfast_cli.terminal import Term

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast import Holdfast
    from holdfast_app.dream.dreamlog import DreamResult, Gone

_MASKED = ("merged", "replaced", "archived", "dropped", "refused", "judged", "quoted")


@Command(
    "Inspect",
    "list the changes that the last dream, or a given night's, made to MEMORY.md",
    argument("night", nargs="?", metavar="NIGHT", help="a date, or how many changes back: 1 is the last (default)"),
    examples=("holdfast diff", "holdfast diff 2", "holdfast diff 2026-11-02 --json"),
    notes="Nights that changed nothing do not count. `holdfast dream --log` lists every run, "
    "and `holdfast dream --undo` undoes the last one.",
)
def diff(call: Call) -> Answer:
    """One run's changes."""
    memory, out = call.memory, call.out
    runs = [one for one in memory.dreams() if not one.dry_run and one.status is Status.DONE]
    changed = [one for one in runs if one.diff.strip()]
    if not changed:
        why = "has changed anything yet" if runs else "has run yet"
        step = f"  {out.dim('next:')} holdfast dream --dry-run shows what one would change"
        return Answer({"run": None}, f"{out.mark('dot')} No dream {why}.\n{step}")
    result = _masked(memory, _chosen(changed, call.args.night, memory))
    return Answer({"run": result}, lambda out: _show(out, result, memory))


def _show(out: Term, result: DreamResult, memory: Holdfast) -> None:
    at = result.at.astimezone(memory.config.tz)
    said = f"{ago(result.at, memory.services.now())}, by {result.plugin}"
    out.say(f"{out.bold(f'Dream of {at:%Y-%m-%d %H:%M}')}  {out.dim(said)}\n")
    if result.lines:
        kept = sum(line.kept for line in result.lines)
        out.say(f"  {len(result.lines) - kept or 'nothing'} new, {kept} kept")
        shown.show_new(out, result)
    else:  # an older run's record
        out.diff(result.diff, indent="  ")
    for name, label, mark, style in shown.GONE:
        gone = getattr(result, name)
        if gone:
            out.say(f"\n  {len(gone)} {label}")
            shown.show_gone(out, gone, mark, style)
    if result.diary:
        out.say(f"\n  {out.dim('diary:')} holdfast show {out.plain(result.diary)}")


def _chosen(changed: Sequence[DreamResult], night: str | None, memory: Holdfast) -> DreamResult:
    """The run that ``night`` names. Raises: UsageError."""
    if night is None:
        return changed[-1]
    most = len(changed)
    if night.isascii() and night.isdigit():
        if 1 <= int(night) <= most:
            return changed[-int(night)]
        raise UsageError(
            f"Only {count(most, 'dream')} changed anything.",
            next_step=f"Use a number from 1 to {most}." if most > 1 else "See it with `holdfast diff`.",
        )
    days = {f"{one.at.astimezone(memory.config.tz):%Y-%m-%d}": one for one in changed}
    if night in days:
        return days[night]
    raise UsageError(
        f"No dream of {night!a} changed anything.", next_step=f"Name a night with changes, like {[*days][-1]}."
    )


def _masked(memory: Holdfast, result: DreamResult) -> DreamResult:
    """The run as it may leave the store."""
    project = Project(memory)

    def gone(listed: Sequence[Gone]) -> tuple[Gone, ...]:
        masked = project.masked(*(text for entry in listed for text in (entry.text, entry.reason)))
        pairs = zip(listed, masked[::2], masked[1::2], strict=True)
        return tuple(evolve(entry, text=text, reason=reason) for entry, text, reason in pairs)

    cleaned: dict[str, Any] = {name: gone(getattr(result, name)) for name in _MASKED}
    lines = project.masked(*(line.text for line in result.lines))
    return evolve(
        result,
        diff=project.masked(result.diff)[0],
        added=project.masked(*result.added),
        lines=[evolve(line, text=text) for line, text in zip(result.lines, lines, strict=True)],
        **cleaned,
    )
