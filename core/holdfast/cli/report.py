"""``holdfast report``: what an operator wants to know, from files only."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from holdfast.cli.args import add_json, examples, positive
from holdfast.cli.term import Term


def configure(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--days", metavar="N", type=positive("days"), default=1, help="how many days back, today included"
    )
    add_json(parser)
    parser.epilog = examples("holdfast report", "holdfast report --days 7", "holdfast report --json")


def run(args: Namespace) -> int:
    from holdfast import Holdfast

    with Holdfast.open(args.root) as memory:
        report = memory.report(days=args.days)
    out = Term()
    if args.json:
        sections = {
            title.lower().replace(" ", "_"): [{"text": line.text, "pointer": line.pointer} for line in lines]
            for title, lines in report.sections.items()
        }
        out.json(
            {
                "ok": True,
                "first_day": report.first_day.isoformat(),
                "last_day": report.last_day.isoformat(),
                **sections,
            }
        )
    elif not out.is_tty:
        out.exact(str(report))
    else:
        out.say(out.bold(str(report).split("\n", 1)[0].lstrip("# ")))
        for title, lines in report.sections.items():
            out.say(f"\n{out.style(title, 'bold', 'cyan')}")
            for at, line in enumerate(lines):
                out.say(out.wrapped(line.text, first=f"  {out.mark('dot')} ", rest="    "))
                last_of_source = at + 1 == len(lines) or lines[at + 1].pointer != line.pointer
                if line.pointer and last_of_source:
                    out.say(f"    {out.dim(out.clip(line.pointer, out.width - 4))}")
            if not lines:
                out.say(f"  {out.dim('nothing')}")
    return 0
