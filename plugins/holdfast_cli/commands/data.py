"""``migrate``, ``export``, ``import``: all in another backend or file. ``purge``, ``scrub``, ``retention``: removal."""

import os
import sys
from collections.abc import Callable, Sequence
from datetime import date
from typing import TypeVar

import attrs

from holdfast.config.serde import unstructure
from holdfast.errors import Refused
from holdfast.text.humanize import count
from holdfast_app.history.files import is_foreign
from holdfast_app.history.importing import take_all
from holdfast_app.printable import size
from holdfast_app.privacy.purge import PurgeReport, ScrubReport
from holdfast_app.privacy.transforms import Changed, Left
from holdfast_app.sessions.lookup import begun, unknown
from holdfast_app.transfer import portable
from holdfast_app.transfer.exporting import import_archive
from holdfast_app.transfer.migrate import migrate_project
from holdfast_cli.command import CONFIRMED, DRY_RUN, Answer, Call, Command, argument, flag, one_of, session_id
from holdfast_cli.imports import bundle, content, foreign, taken
from holdfast_cli.problem import UsageError
from holdfast_cli.stdin import confirmed, read_text
from holdfast_cli.terminal import Term


@Command(
    "Manage",
    "copy the store to another backend and verify it, without changing the source",
    argument("--to", metavar="BACKEND", help="target backend, like sqlite"),
    examples=("holdfast migrate --to sqlite", "holdfast migrate --to file --json"),
    notes="The store in use is only read. Run the same command again to continue after an interruption."
    "\nWithout --to, create whatever the current store needs, like database tables.",
    progress=True,
)
def migrate(call: Call) -> Answer:
    memory, out = call.memory, call.out
    name = memory.config.storage.backend
    if call.args.to is None:
        backend = memory.store.backend
        before, after = backend.check(thorough=True).version if memory.services.is_remote else (1, 1)
        if before != after:
            backend.repair()
        return Answer(
            {"backend": name, "before": before, "after": after}, f"{out.mark('ok')} the {name} store is ready"
        )
    done = migrate_project(memory.services, call.args.to)
    switch = f"holdfast config storage.backend {done.target}"
    what = f"{count(done.documents, 'document')} and {count(done.facts, 'fact')} are in {out.bold(done.target)}"
    out.say(f"{out.mark('ok')} {what}, read back and compared")
    if done.skipped:
        out.fill(f"skipped as duplicates of an earlier fact: {', '.join(done.skipped)}")
    out.say(f"  sha256 {out.dim(done.sha256)}")
    out.say(f"  The {done.source} store is untouched and still in use. To switch:\n    {switch}")
    return Answer({**attrs.asdict(done), "next_step": switch})


@Command(
    "Manage",
    "write everything to one archive file",
    argument("file", metavar="FILE", help="the archive to write, a zip file like memory.zip; the facts for NAME.mem"),
    flag("--force", "replace FILE if it exists"),
    examples=("holdfast export memory.zip", "holdfast export memory.mem", "holdfast export memory.zip --force --json"),
    notes="Documents, facts, the facts' log and journals. Secrets are masked, as in all output.",
    progress=True,
)
def export(call: Call) -> Answer:
    from holdfast_app.transfer.exporting import export

    file, out = call.args.file, call.out
    if file.endswith(portable.SUFFIX):
        counts = portable.export_bundle(call.memory, file, force=call.args.force)
        what = ", ".join(count(number, kind) for kind, number in sorted(counts.items())) or "no records"
        return Answer({"file": file, "counts": counts}, f"{out.mark('ok')} {what} written to {file}")
    done = export(call.memory, file, force=call.args.force)
    what = f"{count(done.documents, 'document')}, {count(done.facts, 'fact')} and {count(done.journals, 'journal')}"
    out.say(f"{out.mark('ok')} {what} written to {file}; secrets masked in {count(done.masked, 'item')}")
    if done.withheld:
        out.fill(f"left out, from an untrusted clone: {', '.join(done.withheld)}")
    return Answer({"file": file, **attrs.asdict(done)})


@Command(
    "Manage",
    "add an archive, the clients' past sessions, or what another program remembers",
    argument("file", metavar="FILE", nargs="?", help="a file of any program below, or a folder of them"),
    flag("--history", "import what Claude Code, Codex, opencode and pi recorded in this project"),
    flag("--dry-run", "only list what would be imported"),
    flag("--yes", "accept the memory in FILE without asking"),
    flag("--replace", "replace existing documents that differ"),
    examples=(
        "holdfast import memory.zip",
        "holdfast import --history --dry-run",
        "holdfast import ~/Downloads/chatgpt-export.zip --dry-run",
    ),
    notes="Reads archives of `holdfast export`, SQLite stores, memory of claude-mem, basic-memory, mem0, the MCP"
    "\nmemory server, Claude Code and Codex, conversations exported from ChatGPT and Claude, and Markdown notes."
    "\nThe content decides, not the name. Memory of another origin is shown first. The files stay as they are."
    "\nRun the same command again to continue after an interruption; nothing is added twice."
    "\nFor a list of facts alone use `holdfast facts import`.",
    caution=True,
    progress=True,
)
def import_(call: Call) -> Answer:
    """Add missing items. Exit code 1 when a part was refused."""
    args = call.args
    if args.history:
        return taken(call, list(take_all(call.memory, dry_run=args.dry_run)), (), "--history")
    if args.file is None:
        raise UsageError("`holdfast import` needs FILE or --history.", next_step="See `holdfast import --help`.")
    if portable.is_bundle(args.file):
        return bundle(call)
    if is_foreign(args.file):
        return foreign(call)
    return content(call) or _archive(call)


def _archive(call: Call) -> Answer:
    args, out = call.args, call.out
    put_aside = getattr(call.memory.store.backend, "put_aside", None)
    file = put_aside(args.file) if put_aside is not None else args.file  # a database in the store's own place
    if file != args.file:
        out.say(f"{out.mark('dot')} {out.plain(args.file)} was renamed to {out.plain(os.path.basename(file))}")
    done = import_archive(call.memory, file, replace=args.replace)
    new = done.added
    what = f"{count(new.documents, 'document')}, {count(new.facts, 'fact')} and {count(new.journals, 'journal')}"
    evicted = f"; {count(done.evicted, 'weaker fact')} evicted to make room" if done.evicted else ""
    out.say(f"{out.mark('ok')} {what} added{evicted}")
    for label, names in (("replaced", done.replaced), ("left alone, different here", done.different)):
        if names:
            out.fill(f"{label}: {', '.join(names)}")
    for refused in done.refused:
        out.fill(f"refused {refused.name}: {refused.why}")
    problem = Refused("Some of the archive was refused.", next_step="The reasons are above. The rest was imported.")
    return Answer(attrs.asdict(done), error=problem if done.refused else None)


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
    *one_of(
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
        "holdfast purge --before 2026-01-01 --yes --json",
    ),
    notes="Searches every byte afterwards and exits with code 1 if anything is left. To complete an interrupted"
    "\npurge, run the same command again. Limits: docs/retention.md.",
    progress=True,
)
def purge(call: Call) -> Answer:
    args = call.args
    call.require_person("A purge")
    subject = read_text().strip() if args.subject == "-" else args.subject
    known = begun(call.memory, args.session, printed=True) if args.session else ""

    def purged(dry_run: bool) -> PurgeReport:
        report = call.memory.purge(
            subject=subject, session=known or args.session, before=args.before, everything=args.all, dry_run=dry_run
        )
        # A purged session has no journal, but the same command completes an interrupted purge.
        if args.session and not known and report.clean and not any(report.counts.values()):
            raise unknown(call.memory, args.session)
        return report

    return _forgotten(call, purged, lambda report: count(sum(report.counts.values()), "item"), "forgotten")


@Command(
    "Manage",
    "redact (mask) secrets stored before a rule could recognise them",
    *CONFIRMED,
    examples=("holdfast scrub --dry-run", "holdfast scrub", "holdfast scrub --yes --json"),
    notes="The enabled validators check everything stored as if it were being written now. Exit code 1 if"
    "\nanything they reject is left.",
    progress=True,
)
def scrub(call: Call) -> Answer:
    call.require_person("A scrub")
    return _forgotten(
        call,
        lambda dry_run: call.memory.scrub(dry_run=dry_run),
        lambda report: count(report.secrets, "different secret"),
        "masked",
    )


retention = Command(
    "Manage",
    "remove data past its retention limit",
    DRY_RUN,
    examples=("holdfast config retention.daily 365", "holdfast retention run --dry-run"),
    notes="No other command removes expired data. Set the limits in `[retention]`. Data still in use is kept at any"
    "\nage: docs/retention.md.",
    progress=True,
)


@retention.action("run")
def _run(call: Call) -> Answer:
    report, out = call.memory.retention(dry_run=call.args.dry_run), call.out
    _say_changed(out, report.removed, would=report.dry_run)
    for entry in report.kept:
        out.note("dot", f"{entry.name} is kept: {entry.why}")
    _say_left(out, report.failed)
    total = count(sum(changed.count for changed in report.removed), "item")
    summary = f"{total} would be removed. Nothing was written." if report.dry_run else f"{total} removed"
    out.say(f"{out.mark('fail' if report.failed else 'ok')} {summary}")
    return Answer(unstructure(report), ok=not report.failed)


def _forgotten(call: Call, act: Callable[[bool], _Report], total: Callable[[_Report], str], done: str) -> Answer:
    """What ``act`` has ``done``; it takes whether it is a dry run. Without ``--yes`` it asks the user first. Raises:
    UsageError for another answer than yes."""
    if not call.args.dry_run and not call.args.yes:
        preview = act(True)
        call.bar.clear()
        _say_changed(Term(sys.stderr), preview.changed, would=True)
        if not confirmed(f"{total(preview)} will be {done} permanently. Go on?"):
            raise UsageError(f"Nothing was {done}.", next_step="Answer `y`, or pass --yes.")
    report, out = act(call.args.dry_run), call.out
    if isinstance(report, ScrubReport):
        if report.rules:
            rules = [(rule, f"{number:,}") for rule, number in report.rules.items()]
            out.say(out.table(rules, head=("rule", "found")))
        for name in report.allowed:
            out.say(f"{out.mark('dot')} {out.plain(name)} holds a secret that the policy allows there")
        out.fill(f"validators: {', '.join(report.judges) or 'none (no enabled plugin validates)'}")
    _say_changed(out, report.changed, would=report.dry_run)
    _say_left(out, report.left)
    for pointer in report.elsewhere:
        out.note("warn", f"not touched; edit or delete it yourself: {pointer}")
    ok = report.dry_run or report.clean
    left = (
        "nothing left in holdfast's files" if ok else f"{count(len(report.left), 'place')} left; run the command again"
    )
    summary = f"{done}; {count(report.files, 'file')}, {size(report.size)} searched, {left}"
    summary = f"would be {done}. Nothing was written." if report.dry_run else summary
    out.say(f"{out.mark('ok' if ok else 'fail')} {total(report)} {summary}")
    return Answer({**unstructure(report), "clean": report.clean, "counts": report.counts}, ok=ok)


def _say_changed(out: Term, changed: Sequence[Changed], *, would: bool) -> None:
    """Show one row per place; past a limit, only how many more there are."""
    verbs = ("would change", "would go") if would else ("changed", "removed")
    if changed:
        out.say(out.table((row.kind, f"{row.count:,} {verbs[row.removed]}", row.name) for row in changed[:_SHOWN]))
    if len(changed) > _SHOWN:
        out.say(f"  {out.ellipsis} and {count(len(changed) - _SHOWN, 'more place')}; --json lists them all")


def _say_left(out: Term, left: Sequence[Left]) -> None:
    for place in left:
        out.note("fail", f"{place.name}: {place.why}")
        if place.next_step:
            out.next_step(place.next_step)
