"""``holdfast timeline``: what was saved and what was blocked, day by day."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from math import ceil, sqrt
from typing import TYPE_CHECKING, Final

from holdfast.cli.args import add_json, examples, positive
from holdfast.cli.term import Term
from holdfast.cli.words import count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast_web.timeline import Day

#: The help section that lists the command, and its line there.
HEADING = "See it"
SUMMARY = "plot the sessions, flushes, blocked compactions and dreams of each day"

_DAYS: Final = 60
_MOST_DAYS: Final = 3_660
#: Rows of the plot: attribute, label, style.
_LANES: Final = (
    ("saved", "flushes", "green"),
    ("blocked", "blocked", "red"),
    ("sessions", "sessions", ""),
    ("dreams", "dreams", "cyan"),
)
_BLOCKS: Final = (" ▁▂▃▄▅▆▇█", " .:-=+*#@")
_GUTTER: Final = 12
_TOTAL: Final = 8


def configure(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--days", metavar="N", type=positive("days"), default=_DAYS, help=f"days up to today (default: {_DAYS})"
    )
    add_json(parser)
    parser.epilog = (
        examples("holdfast timeline", "holdfast timeline --days 7", "holdfast timeline --days 365 --json")
        + "\n\nOn a narrow terminal one column stands for several days. A blocked compaction dropped nothing."
    )


def run(args: Namespace) -> int:
    from holdfast import Holdfast
    from holdfast_web.pages.overview import events, totals
    from holdfast_web.project import Project

    out = Term()
    with Holdfast.open(args.root) as memory:
        project = Project(memory)
        shown = list(events(project, project.status(), min(args.days, _MOST_DAYS)).values())
    total = totals(shown)
    if args.json:
        names = ("saved", "blocked", "sessions", "dreams", "failed", "note")
        rows = [{"day": day.day.isoformat(), **{name: getattr(day, name) for name in names}} for day in shown]
        out.json({"ok": True, "days": rows})
        return 0
    if total.is_quiet:
        out.say(f"{out.mark('dot')} Nothing happened in the last {count(len(shown), 'day')}.")
        out.say(f"  {out.dim('next:')} holdfast timeline --days 365, or holdfast demo to see one")
        return 0
    _plot(out, shown, total)
    failed = f", {count(total.failed, 'dream')} failed" if total.failed else ""
    busy = sum(not day.is_quiet for day in shown)
    out.say(f"\n  {count(busy, 'busy day')} of {len(shown):,}{failed}")
    for day in [day for day in shown if day.blocked][-5:]:
        flushes = "1 flush" if day.blocked == 1 else f"{day.blocked:,} flushes"
        out.say(f"  {out.mark('fail')} {day.day:%Y-%m-%d}: {flushes} refused, and nothing was dropped")
    return 0


def _plot(out: Term, days: Sequence[Day], total: Day) -> None:
    step = ceil(len(days) / max(1, out.width - _GUTTER - _TOTAL))
    # Counted from the newest day, so that the last column is a whole one.
    groups = [days[max(0, end - step) : end] for end in range(len(days), 0, -step)][::-1]
    for name, label, style in _LANES:
        values = [sum(getattr(day, name) for day in group) for group in groups]
        most = max(values)
        cells = "".join(_block(out, value, most) for value in values)
        out.say(f"  {label:<{_GUTTER - 2}}{out.style(cells, style)} {getattr(total, name):>{_TOTAL - 2},}")
    first, last = f"{days[0].day:%d %b}", f"{days[-1].day:%d %b}"
    space = max(1, len(groups) - len(first) - len(last))
    out.say(f"{'':{_GUTTER}}{out.dim(first + ' ' * space + last)}")
    if step > 1:
        out.say(f"{'':{_GUTTER}}{out.dim(f'one column is {step} days')}")


def _block(out: Term, value: int, most: int) -> str:
    """One cell. Heights grow with the square root, so that a busy day does not flatten the others."""
    shades = _BLOCKS[0 if out.unicode else 1]
    return shades[max(1, round(sqrt(value / most) * (len(shades) - 1)))] if value else shades[0]
