"""``holdfast timeline``: flushes, blocked compactions and dreams, day by day."""

from __future__ import annotations

from math import ceil, sqrt
from typing import TYPE_CHECKING, Final

from holdfast.text.humanize import count
from holdfast_app.view.events import COUNTS, history, interruptions, since_first, totals
from holdfast_app.view.project import Project
from holdfast_cli.command import Answer, Call, Command, argument, positive
from holdfast_cli.terminal import Term

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from holdfast_app.view.events import Day, Interruption

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


@Command(
    "Inspect",
    "plot the sessions, flushes, blocked compactions and dreams of each day",
    argument(
        "--days", metavar="N", type=positive, help=f"days up to today (default: {_DAYS}, from the first event on)"
    ),
    examples=("holdfast timeline", "holdfast timeline --days 7", "holdfast timeline --days 365 --json"),
    notes="If the days do not fit, a column covers several days. `blocked` counts refused flushes, after which"
    "\nnothing left the context. `compacted` counts flushes made for a compaction.",
)
def timeline(call: Call) -> Answer:
    """The days, and the newest refused flushes."""
    asked: int | None = call.args.days
    project = Project(call.memory)
    days = history(project, min(asked or _DAYS, _MOST_DAYS))
    stopped = interruptions(project, project.status(), days[0].day)
    titles = project.titles({one.session for one in stopped[:_LISTED]})

    def show(out: Term) -> None:
        whole = totals(days)
        if whole.is_quiet:
            out.say(f"{out.mark('dot')} Nothing happened in the last {count(len(days), 'day')}.")
            out.next_step("holdfast timeline --days 365, or holdfast install CLIENT to begin")
            return
        _plot(out, days if asked else since_first(days, least=_LEAST_DAYS), whole)
        _say_stopped(out, stopped, titles)
        if whole.failed:
            out.say(f"\n{out.mark('warn')} {count(whole.failed, 'dream')} failed")
            out.next_step("holdfast dream --log")
        if project.facts_withheld:
            out.say(f"\n{out.mark('warn')} Facts are withheld, because they came with a clone.")
            out.next_step("holdfast trust")

    rows = [
        {"day": day.day.isoformat(), **{name: getattr(day, name) for name in COUNTS}, "note": day.note} for day in days
    ]
    return Answer(
        {"days": rows, "interruptions": [{**one._asdict(), "day": one.day.isoformat()} for one in stopped]}, show
    )


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
        out.note(mark, said)
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
