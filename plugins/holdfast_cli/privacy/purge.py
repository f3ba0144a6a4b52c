"""``holdfast purge``: forget a subject, a session, data before a given day, or everything."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from holdfast.text.humanize import count
from holdfast_cli import progress
from holdfast_cli.args import add_json, examples, session_id
from holdfast_cli.ask import add_yes, confirmed, require_person
from holdfast_cli.privacy import shown
from holdfast_cli.problem import UsageError
from holdfast_cli.terminal import Term

if TYPE_CHECKING:
    from datetime import date

    from holdfast_app.privacy.purge import PurgeReport

#: The help heading for the command, and its summary line.
HEADING = "Manage"
SUMMARY = "permanently forget a subject, a session, old data or everything"


def configure(parser: ArgumentParser) -> None:
    what = parser.add_argument_group("data to forget").add_mutually_exclusive_group(required=True)
    what.add_argument("--subject", metavar="TEXT", help="everything that contains this text; `-` reads stdin")
    what.add_argument("--session", metavar="ID", type=session_id, help="everything recorded for this session")
    what.add_argument("--before", metavar="DATE", type=_day, help="everything older than this day, like 2026-01-31")
    what.add_argument("--all", action="store_true", help="everything except the settings")
    add_yes(parser)
    add_json(parser)
    parser.epilog = (
        examples(
            'holdfast purge --subject "Jane Doe" --dry-run',
            "holdfast purge --subject - --yes < name.txt  # not in the shell's history",
            "holdfast purge --session fix-login",
            "holdfast purge --before 2026-01-01 --yes --json",
        )
        + "\n\nSearches every byte afterwards and exits with code 1 if anything is left. To complete an interrupted"
        "\npurge, run the same command again. Limits: docs/retention.md."
    )


def run(args: Namespace) -> int:
    from holdfast import Holdfast

    subject = _subject(args)
    if not (args.yes or args.dry_run):
        require_person("A purge")
    out = Term()
    what = {"subject": subject, "session": args.session, "before": args.before, "everything": args.all}
    with Holdfast.open(args.root) as memory:
        if args.dry_run or not args.yes:
            with progress.shown(quiet=args.json):
                report = memory.purge(**what, dry_run=True)
            if args.dry_run:
                return _tell(out, report, as_json=args.json)
            shown.say_changed(Term(sys.stderr), report.changed, would=True)
            if not confirmed(f"Forget {count(sum(report.counts.values()), 'thing')} permanently?"):
                raise UsageError("Nothing was removed.", next_step="Answer `y`, or give --yes.")
        with progress.shown(quiet=args.json):
            report = memory.purge(**what)
        return _tell(out, report, as_json=args.json)


def _subject(args: Namespace) -> str | None:
    if args.subject != "-":
        text: str | None = args.subject
        return text
    if not (args.yes or args.dry_run):
        raise UsageError("Stdin cannot supply both the subject and the answer.", next_step="Pass --dry-run or --yes.")
    from holdfast_cli.stdin import read_text

    return read_text().strip()


def _tell(out: Term, report: PurgeReport, *, as_json: bool) -> int:
    code = 0 if report.dry_run or report.clean else 1
    if as_json:
        from holdfast.config.serde import unstructure

        out.json({"ok": code == 0, "clean": report.clean, "counts": report.counts, **unstructure(report)})
        return code
    shown.say_changed(out, report.changed, would=report.dry_run)
    shown.say_left(out, report.left)
    shown.say_elsewhere(out, report.elsewhere)
    for other in report.unfinished:
        out.say(f"{out.mark('warn')} a purge by {other} was interrupted: run the same command again")
    total = count(sum(report.counts.values()), "item")
    if report.dry_run:
        out.say(f"{out.mark('dot')} {total} would be removed. Nothing was written.")
    elif report.clean:
        looked = f"{shown.searched(report.files, report.size)} searched"
        out.say(f"{out.mark('ok')} {total} forgotten; {looked}, nothing left in holdfast's files")
    else:
        out.say(f"{out.mark('fail')} {total} forgotten, {count(len(report.left), 'place')} left; run the command again")
    return code


def _day(text: str) -> date:
    from datetime import date

    try:
        return date.fromisoformat(text)
    except ValueError:
        raise UsageError(f"--before takes a day, not {text!a}.", next_step="Write it like 2026-01-31.") from None
