"""``holdfast doctor``: does everything work, and what to do where it does not."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from holdfast.text.humanize import count
from holdfast_cli.args import add_json, examples
from holdfast_cli.terminal import Term

#: The help section that lists the command, and its line there.
HEADING = "Manage"
SUMMARY = "check that everything works, and repair what can be repaired"


def configure(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--fix",
        "--repair",
        dest="repair",
        action="store_true",
        help="repair damaged and missing files, without losing data",
    )
    add_json(parser)
    parser.epilog = examples("holdfast doctor", "holdfast doctor --fix", "holdfast doctor --json")


def run(args: Namespace) -> int:
    from holdfast.config import settings
    from holdfast.config.serde import unstructure
    from holdfast.plugin.checks import Outcome
    from holdfast_cli.doctor.examine import examine

    checks = examine(settings.find_root(args.root), repair=args.repair)
    failed = [c for c in checks if c.outcome is Outcome.FAIL]
    warned = [c for c in checks if c.outcome is Outcome.WARN]
    out = Term()
    if args.json:
        out.json({"ok": not failed, "checks": [unstructure(c) for c in checks]})
        return 1 if failed else 0
    width = max(len(c.name) for c in checks)
    indent = " " * (width + 4)
    for check in checks:
        told = f"{check.message} (repaired)" if check.repaired else check.message
        out.say(out.wrapped(told, first=f"{out.mark(check.outcome.value)} {check.name.ljust(width)}  ", rest=indent))
        if check.next_step:
            out.say(out.wrapped(check.next_step, first=f"{indent}{out.dim('next:')} ", rest=indent + " " * 6))
    out.say()
    if failed:
        out.say(f"{out.red(count(len(failed), 'problem'), bold=True)} to solve")
    elif warned:
        out.say(f"all works; {count(len(warned), 'warning')}")
    else:
        out.say("no problems found")
    return 1 if failed else 0
