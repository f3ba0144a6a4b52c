"""``holdfast report``: the operator's report from files; with ``--morning`` also from the forges."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from holdfast_cli.args import add_json, examples, positive
from holdfast_cli.problem import UsageError
from holdfast_cli.terminal import Term

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from holdfast_app.report.report import Line

#: The help heading for the command, and its summary line.
HEADING = "Resume and search"
SUMMARY = "print the operator's report: events, blockers and needs"


def configure(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--days", metavar="N", type=positive("days"), help="number of days to cover, including today (default 1)"
    )
    parser.add_argument("--morning", action="store_true", help="cover yesterday and the night, with forge activity")
    parser.add_argument("--write", action="store_true", help="also store the report as today's")
    add_json(parser)
    parser.epilog = (
        examples("holdfast report", "holdfast report --days 7", "holdfast report --morning", "holdfast report --write")
        + "\n\nThe nightly run of `holdfast schedule` stores the previous day's report."
    )


def run(args: Namespace) -> int:
    from holdfast import Holdfast
    from holdfast_app.report.report import write

    if args.morning and args.days:
        raise UsageError("--morning always covers yesterday and the night.", next_step="Leave out --days.")
    if args.write and (args.morning or (args.days or 1) > 1):
        raise UsageError("A stored report covers one day.", next_step="Leave out --morning and --days, or --write.")
    out = Term()
    sections: Mapping[str, tuple[Line, ...]]
    with Holdfast.open(args.root) as memory:
        if args.morning:
            morning = memory.morning()
            report, text, sections, remarks = morning.report, str(morning), morning.sections, morning.remarks
            extra: dict[str, Any] = {"since": morning.since.isoformat(), "remarks": remarks}
        else:
            report = memory.report(days=args.days or 1)
            text, sections, remarks, extra = str(report), report.sections, (), {}
        if args.write:
            extra = {**extra, "written": write(memory.services, report).name}
    if args.json:
        tables = {
            title.lower().replace(" ", "_"): [{"text": line.text, "pointer": line.pointer} for line in lines]
            for title, lines in sections.items()
        }
        days = {"first_day": report.first_day.isoformat(), "last_day": report.last_day.isoformat()}
        out.json({"ok": True, **days, **tables, **extra})
    elif not out.is_tty:
        out.exact(text)
    else:
        _show(out, text.split("\n", 1)[0].lstrip("# "), sections, remarks)
    return 0


def _show(out: Term, title: str, sections: Mapping[str, tuple[Line, ...]], remarks: Iterable[str]) -> None:
    out.say(out.bold(title))
    for section, lines in sections.items():
        out.say(f"\n{out.style(section, 'bold', 'cyan')}")
        for at, line in enumerate(lines):
            out.say(out.wrapped(line.text, first=f"  {out.mark('dot')} ", rest="    "))
            last_of_source = at + 1 == len(lines) or lines[at + 1].pointer != line.pointer
            if line.pointer and last_of_source:
                out.say(f"    {out.dim(out.clip(line.pointer, out.width - 4))}")
        if not lines:
            out.say(f"  {out.dim('nothing')}")
    for remark in remarks:
        out.say()
        out.say(out.wrapped(remark, first=f"{out.mark('warn')} ", rest="  "))
