"""``holdfast retention``: remove data past its retention limit."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from holdfast.text.humanize import count
from holdfast_cli import progress
from holdfast_cli.args import add_json, examples
from holdfast_cli.privacy import shown
from holdfast_cli.terminal import Term

#: The help heading for the command, and its summary line.
HEADING = "Manage"
SUMMARY = "remove data past its retention limit"


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("action", choices=("run",), metavar="run", help="remove expired data (no other command does)")
    parser.add_argument("--dry-run", action="store_true", help="show what would be removed, without writing")
    add_json(parser)
    parser.epilog = (
        examples(
            "holdfast retention run --dry-run", "holdfast config retention.daily 365", "holdfast retention run --json"
        )
        + "\n\nSet the limits in `[retention]`. Data still in use is kept at any age: docs/retention.md."
    )


def run(args: Namespace) -> int:
    from holdfast import Holdfast

    out = Term()
    with Holdfast.open(args.root) as memory, progress.shown(quiet=args.json):
        report = memory.retention(dry_run=args.dry_run)
    code = 1 if report.failed else 0
    if args.json:
        from holdfast.config.serde import unstructure

        out.json({"ok": code == 0, **unstructure(report)})
        return code
    shown.say_changed(out, report.removed, would=report.dry_run)
    for one in report.kept:
        out.say(out.wrapped(f"{one.name} is kept: {one.why}", first=f"{out.mark('dot')} ", rest="  "))
    shown.say_left(out, report.failed)
    total = count(sum(one.count for one in report.removed), "item")
    said = f"{total} would be removed. Nothing was written." if report.dry_run else f"{total} removed"
    out.say(f"{out.mark('ok' if not code else 'fail')} {said}")
    return code
