"""``holdfast explain``: the text an agent reads at its next start, with the reasons."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from holdfast.text import recall
from holdfast.text.humanize import count
from holdfast_agents.preview import start
from holdfast_app.view.project import Project
from holdfast_cli.command import Answer, Call, Command
from holdfast_cli.terminal import Cell, Term

if TYPE_CHECKING:
    from holdfast_agents.preview import Part, Start

#: Widths of the parts' titles and bars, in cells.
_TITLE: Final = 28
_BAR: Final = 10


@Command(
    "Inspect",
    "show an agent's next brief, each line with source, date and cost",
    examples=("holdfast explain", "holdfast explain --json"),
    notes="This is the text that the clients' hooks give to a new session, at most 9,000 characters."
    "\n`holdfast why LINE` shows where a line comes from.",
)
def explain(call: Call) -> Answer:
    """The next brief and its parts."""
    found = start(Project(call.memory))
    keys = ("tokens", "text", "withheld", "parts", "left_out")
    return Answer({key: getattr(found, key) for key in keys}, lambda out: _show(out, found))


def _show(out: Term, found: Start) -> None:
    size = f"{count(found.tokens, 'token')}, {count(len(found.text), 'character')}"
    out.say(f"{out.bold('Your agent starts with this')}  {out.dim(size)}\n")
    most = max((part.tokens for part in found.parts), default=0)
    shares: list[tuple[Cell, ...]] = [
        (out.clip(part.title, _TITLE), (out.bar(part.tokens, most, _BAR), "cyan"), f"{part.tokens:,}", part.why)
        for part in found.parts
    ]
    out.say(out.table(shares, head=("part", "", "tokens", "why it is loaded"), right=(2,)))
    for part in found.parts:
        out.say(f"\n{out.bold(out.plain(part.title))}")
        out.say(_lines(out, part))
        if part.cut:
            out.say(f"  {out.mark('warn')} {count(part.cut, 'line')} left out: holdfast show {out.plain(part.name)}")
    if found.withheld:
        out.fill(found.withheld, f"\n{out.mark('warn')} ", "  ")
        for place in found.left_out:
            out.say(f"  {out.dim('withheld')}  {out.plain(place)}")


def _lines(out: Term, part: Part) -> str:
    """The part's lines as a table, without columns that are empty in all of them."""
    shown = [line for line in part.lines if line.text.strip() and line.text not in (recall.OPEN, recall.CLOSE)]
    rows = [
        (
            f"{line.at:%Y-%m-%d}" if line.at else "",
            f"{line.tokens:,}",
            line.source.rpartition(":")[2] if ":" in line.source else "",
            line.text.strip(),
        )
        for line in shown
    ]
    kept = [column for column in range(4) if column in (1, 3) or any(row[column] for row in rows)]
    head = ("last said", "tokens", "line", "text")
    return out.table(
        [[row[column] for column in kept] for row in rows],
        head=[head[column] for column in kept],
        right=[at for at, column in enumerate(kept) if column in (1, 2)],
    )
