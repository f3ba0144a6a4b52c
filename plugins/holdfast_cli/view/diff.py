"""``holdfast diff``: a dream's changes to MEMORY.md."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any, Final

from attrs import evolve

from holdfast.text.humanize import ago, count
from holdfast_app.dream.dreamlog import Status
from holdfast_cli.args import add_json, examples
from holdfast_cli.problem import UsageError
from holdfast_cli.terminal import Term

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast import Holdfast
    from holdfast_app.dream.dreamlog import DreamResult, Gone

#: The help section that lists the command, and its line there.
HEADING = "Inspect"
SUMMARY = "list the changes that the last dream, or a given night's, made to MEMORY.md"

#: Lists of a run: attribute, label, mark, style.
_GONE: Final = (
    ("merged", "merged into other lines", "~", "cyan"),
    ("replaced", "replaced by newer statements", ">", "cyan"),
    ("archived", "moved to the archive", "=", "cyan"),
    ("dropped", "dropped", "-", "yellow"),
    ("refused", "refused, because the notes do not say it", "x", "red"),
)


def configure(parser: ArgumentParser) -> None:
    parser.add_argument(
        "night", nargs="?", metavar="NIGHT", help="a date, or how many changes back: 1 is the last (default)"
    )
    add_json(parser)
    parser.epilog = (
        examples("holdfast diff", "holdfast diff 2", "holdfast diff 2026-11-02 --json")
        + "\n\nNights that changed nothing do not count. `holdfast dream --log` lists every run, "
        "and `holdfast dream --undo` undoes the last one."
    )


def run(args: Namespace) -> int:
    from holdfast import Holdfast

    out = Term()
    with Holdfast.open(args.root) as memory:
        runs = [one for one in memory.dreams() if not one.dry_run and one.status is Status.DONE]
        changed = [one for one in runs if one.diff.strip()]
        if not changed:
            if args.json:
                out.json({"ok": True, "run": None})
            else:
                why = "has changed anything yet" if runs else "has run yet"
                out.say(f"{out.mark('dot')} No dream {why}.")
                out.say(f"  {out.dim('next:')} holdfast dream --dry-run shows what one would change")
            return 0
        one = _masked(memory, _chosen(changed, args.night, memory))
        now = memory.services.now()
        at = one.at.astimezone(memory.services.config.tz)
    if args.json:
        out.json({"ok": True, "run": _table(one)})
        return 0
    out.say(f"{out.bold(f'Dream of {at:%Y-%m-%d %H:%M}')}  {out.dim(f'{ago(one.at, now)}, by {one.plugin}')}")
    _lines(out, one)
    for name, label, mark, style in _GONE:
        _gone(out, getattr(one, name), label, mark, style)
    if one.diary:
        out.say(f"\n  {out.dim('diary:')} holdfast show {out.plain(one.diary)}")
    return 0


def _chosen(changed: Sequence[DreamResult], night: str | None, memory: Holdfast) -> DreamResult:
    """The run that ``night`` names. Raises: UsageError."""
    if night is None:
        return changed[-1]
    if night.isascii() and night.isdigit():
        if 1 <= int(night) <= len(changed):
            return changed[-int(night)]
        most = len(changed)
        raise UsageError(
            f"Only {count(most, 'dream')} changed anything.",
            next_step=f"Use a number from 1 to {most}." if most > 1 else "See it with `holdfast diff`.",
        )
    zone = memory.services.config.tz
    days = [f"{one.at.astimezone(zone):%Y-%m-%d}" for one in changed]
    if night in days:
        return changed[len(days) - 1 - days[::-1].index(night)]
    raise UsageError(
        f"No dream of {night!a} changed anything.", next_step=f"Name a night with changes, like {days[-1]}."
    )


def _masked(memory: Holdfast, one: DreamResult) -> DreamResult:
    """The run as it may leave the store."""
    from holdfast_app.view.project import Project

    project = Project(memory)

    def gone(listed: Sequence[Gone]) -> tuple[Gone, ...]:
        texts = project.masked(*(text for entry in listed for text in (entry.text, entry.reason)))
        pairs = zip(listed, texts[::2], texts[1::2], strict=True)
        return tuple(evolve(entry, text=text, reason=reason) for entry, text, reason in pairs)

    lines = project.masked(*(line.text for line in one.lines))
    return evolve(
        one,
        diff=project.masked(one.diff)[0],
        added=project.masked(*one.added),
        lines=[evolve(line, text=text) for line, text in zip(one.lines, lines, strict=True)],
        merged=gone(one.merged),
        replaced=gone(one.replaced),
        archived=gone(one.archived),
        dropped=gone(one.dropped),
        refused=gone(one.refused),
        judged=gone(one.judged),
        quoted=gone(one.quoted),
    )


def _lines(out: Term, one: DreamResult) -> None:
    """New lines with their sources, or the plain diff of an older run's record."""
    new = [line for line in one.lines if not line.kept]
    if one.lines:
        kept = len(one.lines) - len(new)
        out.say(f"\n  {len(new)} new, {kept} kept" if new else f"\n  nothing new, {kept} kept")
        for line in new:
            out.say(out.wrapped(line.text, first=f"  {out.style('+', 'green')} ", rest="    "))
            if line.sources:
                out.say(f"    {out.dim('from ' + ', '.join(line.sources))}")
        return
    out.say()
    for text in one.diff.splitlines():
        out.say("  " + out.style(out.plain(text), {"+": "green", "-": "red", "@": "cyan"}.get(text[:1], "")))


def _gone(out: Term, listed: Sequence[Gone], label: str, mark: str, style: str) -> None:
    if listed:
        out.say(f"\n  {len(listed)} {label}")
    for one in listed:
        out.say(out.wrapped(one.text, first=f"  {out.style(mark, style)} ", rest="    "))
        if one.reason:
            out.say(out.wrapped(one.reason, first="    "))


def _table(one: DreamResult) -> dict[str, Any]:
    from holdfast.config.serde import unstructure

    table: dict[str, Any] = unstructure(one)
    return table
