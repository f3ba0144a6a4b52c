"""``holdfast timeline``: flushes, blocked compactions and dreams, day by day."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from math import ceil, sqrt
from typing import TYPE_CHECKING, Final

from holdfast.text.humanize import count
from holdfast_cli.args import add_json, examples, positive
from holdfast_cli.terminal import Term

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from holdfast_app.view.events import Day, Interruption

#: The help section that lists the command, and its line there.
HEADING = "Inspect"
SUMMARY = "plot the sessions, flushes, blocked compactions and dreams of each day"

_DAYS: Final = 60
_MOST_DAYS: Final = 3_660
#: Fewest days of a plot that begins with the first event.
_LEAST_DAYS: Final = 14
#: Rows of the plot: attribute, label, style.
_LANES: Final = (
    ("sessions", "sessions", ""),
    ("flushes", "flushes", "green"),
    ("blocked", "blocked", "red"),
    ("compactions", "compacted", ""),
    ("dreams", "dreams", "cyan"),
    ("added", "facts new", ""),
    ("left", "facts left", "yellow"),
)
_BLOCKS: Final = (" ▁▂▃▄▅▆▇█", " .:-=+*#@")
#: Cells left of the plot and right of it.
_GUTTER: Final = 14
_TOTAL: Final = 8
#: Cells of a day and its gap, the widest first.
_COLUMNS: Final = ((3, 1), (1, 1), (1, 0))
#: Maximum interruptions to list.
_LISTED: Final = 5


def configure(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--days",
        metavar="N",
        type=positive("days"),
        help=f"days up to today (default: {_DAYS}, from the first event on)",
    )
    add_json(parser)
    parser.epilog = (
        examples("holdfast timeline", "holdfast timeline --days 7", "holdfast timeline --days 365 --json")
        + "\n\nIf the days do not fit, a column covers several days. `blocked` counts refused flushes, after which"
        "\nnothing left the context. `compacted` counts flushes made for a compaction."
    )


def run(args: Namespace) -> int:
    from holdfast import Holdfast
    from holdfast_app.view.events import COUNTS, history, interruptions, since_first, totals
    from holdfast_app.view.project import Project

    out = Term()
    with Holdfast.open(args.root) as memory:
        project = Project(memory)
        days = history(project, min(args.days or _DAYS, _MOST_DAYS))
        stopped = interruptions(project, project.status(), days[0].day)
        titles = project.titles({one.session for one in stopped[:_LISTED]})
        withheld = project.facts_withheld
    if args.json:
        rows = [
            {"day": day.day.isoformat(), **{name: getattr(day, name) for name in COUNTS}, "note": day.note}
            for day in days
        ]
        found = [{**one._asdict(), "day": one.day.isoformat()} for one in stopped]
        out.json({"ok": True, "days": rows, "interruptions": found})
        return 0
    whole = totals(days)
    if whole.is_quiet:
        out.say(f"{out.mark('dot')} Nothing happened in the last {count(len(days), 'day')}.")
        out.say(out.wrapped("holdfast timeline --days 365, or holdfast install CLIENT to begin", first=_next(out)))
        return 0
    _plot(out, days if args.days else since_first(days, least=_LEAST_DAYS), whole)
    _say_stopped(out, stopped, titles)
    if whole.failed:
        out.say(f"\n{out.mark('warn')} {count(whole.failed, 'dream')} failed\n{_next(out)}holdfast dream --log")
    if withheld:
        out.say(f"\n{out.mark('warn')} Facts are withheld, because they came with a clone.\n{_next(out)}holdfast trust")
    return 0


def _next(out: Term) -> str:
    return f"  {out.dim('next:')} "


def _say_stopped(out: Term, stopped: Sequence[Interruption], titles: Mapping[str, str]) -> None:
    """List the newest refused flushes and overrides, one per day and session."""
    if stopped:
        out.say()
    for one in stopped[:_LISTED]:
        flushes = "1 flush" if one.times == 1 else f"{one.times:,} flushes"
        if one.overridden:
            said, mark = f"{one.day}: an operator let context go unsaved: {one.why}", "warn"
        else:
            where = f" at the {one.why}" if one.why else ""
            said, mark = f"{one.day}: {flushes} refused{where}, nothing was dropped", "fail"
        out.say(out.wrapped(said, first=f"{out.mark(mark)} ", rest="  "))
        title = f"  {titles[one.session]}" if one.session in titles else ""
        out.say(f"  {out.dim(out.clip(f'{one.session}{title}', out.width - 2))}")
    if len(stopped) > _LISTED:
        out.say(f"  and {count(len(stopped) - _LISTED, 'earlier entry')}: --json lists all")


def _plot(out: Term, days: Sequence[Day], whole: Day) -> None:
    room = out.width - _GUTTER - _TOTAL
    bar, gap = next((pair for pair in _COLUMNS if len(days) * sum(pair) <= room), _COLUMNS[-1])
    step = ceil(len(days) * (bar + gap) / room)
    # Counted from the newest day, so that the last column is a whole one.
    groups = [days[max(0, end - step) : end] for end in range(len(days), 0, -step)][::-1]
    for name, label, style in _LANES:
        values = [sum(getattr(day, name) for day in group) for group in groups]
        most = max(values)
        cells = (" " * gap).join(_block(out, value, most) * bar for value in values)
        out.say(f"  {label:<{_GUTTER - 2}}{out.style(cells, style)} {getattr(whole, name):>{_TOTAL - 2},}")
    if bar > 1:
        out.say(f"{'':{_GUTTER}}{out.dim(' '.join(f'{day.day:%d} ' for day in days))}".rstrip())
    first, last = f"{days[0].day:%d %b}", f"{days[-1].day:%d %b}"
    space = max(1, len(groups) * (bar + gap) - gap - len(first) - len(last))
    out.say(f"{'':{_GUTTER}}{out.dim(first + ' ' * space + last)}")
    if step > 1:
        out.say(f"{'':{_GUTTER}}{out.dim(f'one column is {step} days')}")


def _block(out: Term, value: int, most: int) -> str:
    """One cell. Heights grow with the square root, so that a busy day does not flatten the others."""
    shades = _BLOCKS[0 if out.unicode else 1]
    return shades[max(1, round(sqrt(value / most) * (len(shades) - 1)))] if value else shades[0]
