"""``holdfast report``: the operator's report from files; with ``--morning`` also from the forges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast_cli.command import Answer, Call, Command, argument, flag, positive
from holdfast_cli.problem import UsageError
from holdfast_cli.terminal import Term

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from holdfast_app.report.report import Line


@Command(
    "Resume and search",
    "print the operator's report: events, blockers and needs",
    argument("--days", metavar="N", type=positive, help="number of days to cover, including today (default 1)"),
    flag("--morning", "cover yesterday and the night, with forge activity"),
    flag("--write", "also store the report as today's"),
    examples=("holdfast report", "holdfast report --days 7", "holdfast report --morning", "holdfast report --write"),
    notes="The nightly run of `holdfast schedule` stores the previous day's report.",
)
def report(call: Call) -> Answer:
    """The requested days' report."""
    from holdfast_app.report.report import write

    args, memory = call.args, call.memory
    if args.morning and args.days:
        raise UsageError("--morning always covers yesterday and the night.", next_step="Leave out --days.")
    if args.write and (args.morning or (args.days or 1) > 1):
        raise UsageError("A stored report covers one day.", next_step="Leave out --morning and --days, or --write.")
    remarks: Iterable[str] = ()
    extra: dict[str, Any] = {}
    if args.morning:
        morning = memory.morning()
        made, text, sections, remarks = morning.report, str(morning), morning.sections, morning.remarks
        extra = {"since": morning.since.isoformat(), "remarks": remarks}
    else:
        made = memory.report(days=args.days or 1)
        text, sections = str(made), made.sections
    if args.write:
        extra["written"] = write(memory.services, made).name
    tables = {
        title.lower().replace(" ", "_"): [{"text": line.text, "pointer": line.pointer} for line in lines]
        for title, lines in sections.items()
    }
    days = {"first_day": made.first_day.isoformat(), "last_day": made.last_day.isoformat()}
    return Answer({**days, **tables, **extra}, lambda out: _show(out, text, sections, remarks))


def _show(out: Term, text: str, sections: Mapping[str, tuple[Line, ...]], remarks: Iterable[str]) -> None:
    if not out.is_tty:
        out.exact(text)
        return
    out.say(out.bold(text.split("\n", 1)[0].lstrip("# ")))
    for section, lines in sections.items():
        out.say(f"\n{out.style(section, 'bold', 'cyan')}")
        for at, line in enumerate(lines):
            out.note("dot", line.text, indent="  ")
            last_of_source = at + 1 == len(lines) or lines[at + 1].pointer != line.pointer
            if line.pointer and last_of_source:
                out.say(f"    {out.dim(out.clip(line.pointer, out.width - 4))}")
        if not lines:
            out.say(f"  {out.dim('nothing')}")
    for remark in remarks:
        out.say()
        out.note("warn", remark)
