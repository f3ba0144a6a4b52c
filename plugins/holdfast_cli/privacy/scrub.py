"""``holdfast scrub``: mask secrets and personal data stored before a rule could recognise them."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from holdfast.text.humanize import count
from holdfast_cli import progress
from holdfast_cli.args import add_json, examples
from holdfast_cli.ask import add_yes, confirmed, require_person
from holdfast_cli.privacy import shown
from holdfast_cli.problem import UsageError
from holdfast_cli.terminal import Term

if TYPE_CHECKING:
    from holdfast_app.privacy.scrub import ScrubReport

#: The help heading for the command, and its summary line.
HEADING = "Manage"
SUMMARY = "mask secrets stored before a rule could recognise them"


def configure(parser: ArgumentParser) -> None:
    add_yes(parser)
    add_json(parser)
    parser.epilog = (
        examples("holdfast scrub --dry-run", "holdfast scrub", "holdfast scrub --yes --json")
        + "\n\nThe enabled validators check everything stored as if it were being written now. Exit code 1 if"
        "\nanything they reject is left."
    )


def run(args: Namespace) -> int:
    from holdfast import Holdfast

    if not (args.yes or args.dry_run):
        require_person("A scrub")
    out = Term()
    with Holdfast.open(args.root) as memory:
        if args.dry_run or not args.yes:
            with progress.shown(quiet=args.json):
                report = memory.scrub(dry_run=True)
            if args.dry_run:
                return _tell(out, report, as_json=args.json)
            shown.say_changed(Term(sys.stderr), report.changed, would=True)
            if not confirmed(f"Mask {count(report.secrets, 'different secret')} permanently?"):
                raise UsageError("Nothing was masked.", next_step="Answer `y`, or pass --yes.")
        with progress.shown(quiet=args.json):
            report = memory.scrub()
        return _tell(out, report, as_json=args.json)


def _tell(out: Term, report: ScrubReport, *, as_json: bool) -> int:
    code = 0 if report.clean or report.dry_run else 1
    if as_json:
        from holdfast.config.serde import unstructure

        out.json({"ok": code == 0, "clean": report.clean, "counts": report.counts, **unstructure(report)})
        return code
    if report.rules:
        out.say(out.table([(rule, f"{number:,}") for rule, number in report.rules.items()], head=("rule", "found")))
    shown.say_changed(out, report.changed, would=report.dry_run)
    shown.say_left(out, report.left)
    shown.say_elsewhere(out, report.elsewhere)
    for name in report.allowed:
        out.say(f"{out.mark('dot')} {out.plain(name)} holds a secret that the policy allows there")
    out.say(out.wrapped(f"validators: {', '.join(report.judges) or 'none (no enabled plugin validates)'}", first="  "))
    total = count(report.secrets, "different secret")
    if report.dry_run:
        out.say(f"{out.mark('dot')} {total} would be masked. Nothing was written.")
    else:
        looked = f"{shown.searched(report.files, report.size)} searched"
        done = f"{total} masked; {looked}, {'nothing' if report.clean else count(len(report.left), 'place')} left"
        out.say(f"{out.mark('ok' if report.clean else 'fail')} {done}")
    return code
