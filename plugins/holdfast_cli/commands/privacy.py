"""``holdfast purge``, ``holdfast scrub`` and ``holdfast retention``: what must not stay."""

from __future__ import annotations

import sys
from datetime import date
from typing import TYPE_CHECKING, TypeVar

from holdfast.config.serde import unstructure
from holdfast.text.humanize import count, size
from holdfast_cli.command import CONFIRMED, DRY_RUN, Answer, Call, Command, argument, flag, one_of, session_id
from holdfast_cli.problem import UsageError
from holdfast_cli.stdin import confirmed, read_text
from holdfast_cli.terminal import Term

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from holdfast_app.privacy.purge import PurgeReport
    from holdfast_app.privacy.scrub import ScrubReport
    from holdfast_app.privacy.transforms import Changed, Left

_SHOWN = 12
_WHAT = "data to forget"
_Report = TypeVar("_Report", "PurgeReport", "ScrubReport")


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise UsageError(f"--before takes a day, not {text!a}.", next_step="Write it like 2026-01-31.") from None


@Command(
    "Manage",
    "permanently forget a subject, a session, old data or everything",
    one_of(
        argument("--subject", metavar="TEXT", help="everything that contains this text; `-` reads stdin", group=_WHAT),
        argument("--session", metavar="ID", type=session_id, help="everything recorded for this session"),
        argument("--before", metavar="DATE", type=_day, help="everything older than this day, like 2026-01-31"),
        flag("--all", "everything except the settings"),
        required=True,
    ),
    *CONFIRMED,
    examples=(
        'holdfast purge --subject "Jane Doe" --dry-run',
        "holdfast purge --subject - --yes < name.txt  # not in the shell's history",
        "holdfast purge --session fix-login",
        "holdfast purge --before 2026-01-01 --yes --json",
    ),
    notes="Searches every byte afterwards and exits with code 1 if anything is left. To complete an interrupted"
    "\npurge, run the same command again. Limits: docs/retention.md.",
    progress=True,
)
def purge(call: Call) -> Answer:
    """Forget it. Exit code 1 when something is left."""
    args, subject = call.args, call.args.subject
    if subject == "-":
        if not (args.yes or args.dry_run):
            raise UsageError(
                "Stdin cannot supply both the subject and the answer.", next_step="Pass --dry-run or --yes."
            )
        subject = read_text().strip()
    call.require_person("A purge")

    def purged(dry_run: bool) -> PurgeReport:
        return call.memory.purge(
            subject=subject, session=args.session, before=args.before, everything=args.all, dry_run=dry_run
        )

    def asked(report: PurgeReport) -> str:
        return f"Forget {count(sum(report.counts.values()), 'thing')} permanently?"

    report = _done(call, purged, asked, "Nothing was removed.")
    table = {**unstructure(report), "clean": report.clean, "counts": report.counts}
    return Answer(table, lambda out: _say_purge(out, report), ok=report.dry_run or report.clean)


def _say_purge(out: Term, report: PurgeReport) -> None:
    _say_rest(out, report)
    for other in report.unfinished:
        out.say(f"{out.mark('warn')} a purge by {other} was interrupted: run the same command again")
    total = count(sum(report.counts.values()), "item")
    if report.dry_run:
        out.say(f"{out.mark('dot')} {total} would be removed. Nothing was written.")
    elif report.clean:
        out.say(f"{out.mark('ok')} {total} forgotten; {_searched(report)}, nothing left in holdfast's files")
    else:
        out.say(f"{out.mark('fail')} {total} forgotten, {count(len(report.left), 'place')} left; run the command again")


@Command(
    "Manage",
    "mask secrets stored before a rule could recognise them",
    *CONFIRMED,
    examples=("holdfast scrub --dry-run", "holdfast scrub", "holdfast scrub --yes --json"),
    notes="The enabled validators check everything stored as if it were being written now. Exit code 1 if"
    "\nanything they reject is left.",
    progress=True,
)
def scrub(call: Call) -> Answer:
    """Mask secrets and personal data stored before a rule could recognise them."""
    call.require_person("A scrub")
    report = _done(
        call,
        lambda dry_run: call.memory.scrub(dry_run=dry_run),
        lambda found: f"Mask {count(found.secrets, 'different secret')} permanently?",
        "Nothing was masked.",
    )
    table = {**unstructure(report), "clean": report.clean, "counts": report.counts}
    return Answer(table, lambda out: _say_scrub(out, report), ok=report.dry_run or report.clean)


def _say_scrub(out: Term, report: ScrubReport) -> None:
    if report.rules:
        out.say(out.table([(rule, f"{number:,}") for rule, number in report.rules.items()], head=("rule", "found")))
    _say_rest(out, report)
    for name in report.allowed:
        out.say(f"{out.mark('dot')} {out.plain(name)} holds a secret that the policy allows there")
    out.fill(f"validators: {', '.join(report.judges) or 'none (no enabled plugin validates)'}")
    total = count(report.secrets, "different secret")
    if report.dry_run:
        out.say(f"{out.mark('dot')} {total} would be masked. Nothing was written.")
    else:
        left = "nothing" if report.clean else count(len(report.left), "place")
        out.say(f"{out.mark('ok' if report.clean else 'fail')} {total} masked; {_searched(report)}, {left} left")


retention = Command(
    "Manage",
    "remove data past its retention limit",
    DRY_RUN,
    examples=(
        "holdfast retention run --dry-run", "holdfast config retention.daily 365", "holdfast retention run --json"
    ),
    notes="No other command removes expired data. Set the limits in `[retention]`. Data still in use is kept at any"
    "\nage: docs/retention.md.",
    progress=True,
)  # fmt: skip


@retention.action("run")
def _run(call: Call) -> Answer:
    report = call.memory.retention(dry_run=call.args.dry_run)

    def show(out: Term) -> None:
        _say_changed(out, report.removed, would=report.dry_run)
        for one in report.kept:
            out.note("dot", f"{one.name} is kept: {one.why}")
        _say_left(out, report.failed)
        total = count(sum(one.count for one in report.removed), "item")
        said = f"{total} would be removed. Nothing was written." if report.dry_run else f"{total} removed"
        out.say(f"{out.mark('fail' if report.failed else 'ok')} {said}")

    return Answer(unstructure(report), show, ok=not report.failed)


def _done(call: Call, act: Callable[[bool], _Report], asked: Callable[[_Report], str], refused: str) -> _Report:
    """The report of ``act``, which takes whether it is a dry run. Without ``--yes`` it asks the user first. Raises:
    UsageError for another answer than yes."""
    if not call.args.dry_run and not call.args.yes:
        found = act(True)
        if call.bar is not None:
            call.bar.clear()
        _say_changed(Term(sys.stderr), found.changed, would=True)
        if not confirmed(asked(found)):
            raise UsageError(refused, next_step="Answer `y`, or pass --yes.")
    return act(call.args.dry_run)


def _say_rest(out: Term, report: PurgeReport | ScrubReport) -> None:
    """The changes, what could not be cleared, and the files that holdfast does not touch."""
    _say_changed(out, report.changed, would=report.dry_run)
    _say_left(out, report.left)
    if report.elsewhere:
        out.say(f"{out.mark('warn')} not touched; edit or delete these yourself:")
    for pointer in report.elsewhere:
        out.fill(pointer, "  ", "    ")


def _say_changed(out: Term, changed: Sequence[Changed], *, would: bool) -> None:
    """Show one row per place; past a limit, only how many more there are."""
    rows = []
    for one in changed[:_SHOWN]:
        verb = ("would go" if would else "removed") if one.removed else ("would change" if would else "changed")
        rows.append((one.kind, verb if one.count == 1 else f"{one.count:,} {verb}", one.name))
    if rows:
        out.say(out.table(rows))
    if len(changed) > _SHOWN:
        out.say(f"  {out.ellipsis} and {count(len(changed) - _SHOWN, 'more place')}; --json lists them all")


def _say_left(out: Term, left: Sequence[Left]) -> None:
    """Show the places that could not be cleared, with their next steps."""
    for one in left:
        out.note("fail", f"{one.name}: {one.why}")
        if one.next_step:
            out.next_step(one.next_step)


def _searched(report: PurgeReport | ScrubReport) -> str:
    """``34 files, 12.3 kB searched``."""
    return f"{count(report.files, 'file')}, {size(report.size)} searched"
