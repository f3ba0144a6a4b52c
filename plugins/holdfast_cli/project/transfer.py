"""``holdfast migrate``, ``holdfast export`` and ``holdfast import``: everything in another backend, or in one file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import attrs

from holdfast.errors import Refused
from holdfast.text.humanize import count
from holdfast.text.plain import in_one_line
from holdfast_cli.command import Answer, Call, Command, argument, flag
from holdfast_cli.problem import UsageError
from holdfast_cli.stdin import can_ask, confirmed
from holdfast_cli.terminal import Term

if TYPE_CHECKING:
    from holdfast_app.transfer.importing import Imported

_SHOWN = 20


@Command(
    "Manage",
    "copy the store to another backend and verify it, without changing the source",
    argument("--to", metavar="BACKEND", help="target backend, like sqlite"),
    examples=("holdfast migrate --to sqlite", "holdfast migrate --to file --json"),
    notes="The store in use is only read. Run the same command again to continue after an interruption."
    "\nWithout --to, create or upgrade whatever the current store needs, like database tables.",
    progress=True,
)
def migrate(call: Call) -> Answer:
    """Copy the store, or bring the one in use up to date."""
    from holdfast_app.transfer.migrate import migrate_project

    memory, mark = call.memory, call.out.mark("ok")
    name = memory.config.storage.backend
    if call.args.to is None:
        backend = memory.store.backend
        before, after = backend.check(thorough=True).version if memory.services.is_remote else (1, 1)
        if before != after:
            backend.repair()
        state = "is ready" if not before else f"was upgraded from version {before} to {after}"
        state = "is up to date" if before == after else state
        return Answer({"backend": name, "before": before, "after": after}, f"{mark} the {name} store {state}")
    try:
        done = migrate_project(memory.services, call.args.to)
    except KeyboardInterrupt:
        kept = f"the {name} store is untouched and still in use; copied data is kept"
        raise KeyboardInterrupt(f"{kept}, run the same command again to continue") from None
    switch = f"holdfast config storage.backend {done.target}"

    def show(out: Term) -> None:
        what = f"{count(done.documents, 'document')} and {count(done.facts, 'fact')}"
        verb = "were there already" if done.unchanged else "copied"
        out.say(f"{mark} {what} {verb}: {done.source} to {out.bold(done.target)}, read back and compared")
        if done.skipped:
            out.fill(f"skipped as duplicates of an earlier fact: {', '.join(done.skipped)}")
        out.say(f"  sha256 {out.dim(done.sha256)}")
        out.say(f"  The {done.source} store is untouched and still in use. To switch:")
        out.say(f"    {switch}")

    return Answer({**attrs.asdict(done), "next_step": switch}, show)


@Command(
    "Manage",
    "write everything to one archive file",
    argument("file", metavar="FILE", help="the archive to write, a zip file like memory.zip"),
    flag("--force", "replace FILE if it exists"),
    examples=("holdfast export memory.zip", "holdfast export memory.zip --force --json"),
    notes="Documents, facts, the facts' log, journals, the settings file, waiting comments,"
    "\nthe dreams' copies and archived messages. Secrets are masked, as in all output.",
    progress=True,
)
def export(call: Call) -> Answer:
    """Write the archive."""
    from holdfast_app.transfer.exporting import export

    file = call.args.file
    done = export(call.memory, file, force=call.args.force)

    def show(out: Term) -> None:
        what = f"{count(done.documents, 'document')}, {count(done.facts, 'fact')} and {count(done.journals, 'journal')}"
        out.say(f"{out.mark('ok')} {what} written to {file}")
        if done.masked:
            out.say(f"  secrets were masked in {count(done.masked, 'item')}")
        if done.withheld:
            out.fill(f"left out, from an untrusted clone: {', '.join(done.withheld)}")

    return Answer({"file": file, **attrs.asdict(done)}, show)


@Command(
    "Manage",
    "add an archive's content to this project, or the clients' past sessions in it",
    argument("file", metavar="FILE", nargs="?", help="an archive that `holdfast export` wrote, or a SQLite store"),
    flag("--history", "import what Claude Code, Codex, opencode and pi recorded in this project"),
    flag("--dry-run", "with --history, only list the sessions"),
    flag("--yes", "import a SQLite store without asking"),
    flag("--replace", "replace existing documents that differ"),
    flag("--settings", "write the archive's settings where there are none"),
    examples=("holdfast import memory.zip", "holdfast import --history --dry-run", "holdfast import --history"),
    notes="A SQLite store is shown first. One that came with a clone, in the store's place, is renamed."
    "\nThe archive is checked first. Run the same command again to continue after an interruption."
    "\nFor a list of facts alone use `holdfast facts import`.",
    caution=True,
    progress=True,
)
def import_(call: Call) -> Answer:
    """Add missing items. Exit code 1 when a part was refused."""
    from holdfast_app.transfer.database import is_database
    from holdfast_app.transfer.importing import import_archive

    args, out = call.args, call.out
    if args.history:
        return _history(call)
    if args.file is None or args.dry_run:
        problem = "--dry-run goes with --history" if args.file else "`holdfast import` needs FILE or --history"
        raise UsageError(f"{problem}.", next_step="See `holdfast import --help`.")
    if is_database(args.file) and (unread := _unread(call)):
        return unread
    put_aside = getattr(call.memory.store.backend, "put_aside", None)
    file = put_aside(args.file) if put_aside is not None else args.file  # a database in the store's own place
    if file != args.file and not call.json:
        out.say(f"{out.mark('dot')} {out.plain(args.file)} was renamed to {out.plain(os.path.basename(file))}")
    try:
        done = import_archive(call.memory, file, replace=args.replace, settings=args.settings)
    except KeyboardInterrupt:
        raise KeyboardInterrupt("imported data is kept, run the same command again to continue") from None
    problem = Refused("Some of the archive was refused.", next_step="The reasons are above. The rest was imported.")
    return Answer(attrs.asdict(done), lambda out: _say(out, done), error=problem if done.refused else None)


def _history(call: Call) -> Answer:
    from holdfast_app.history.importing import take_all

    taken = list(take_all(call.memory, dry_run=call.args.dry_run))
    failed = [one for one in taken if one.outcome == "failed"]

    def show(out: Term) -> None:
        rows = [(one.at, one.client, one.session[:36], f"{one.messages:,}", one.outcome, one.why) for one in taken]
        out.say(
            out.table(rows, head=("ended", "client", "session", "new messages", "", ""), right=(3,))
            if rows
            else "No client recorded a session in this project."
        )
        if call.args.dry_run:
            out.next_step("`holdfast import --history` imports the new ones")
        elif any(one.outcome == "imported" for one in taken):
            out.next_step("`holdfast dream` adds what the notes have to MEMORY.md")

    problem = Refused(
        f"{count(len(failed), 'session')} could not be imported.",
        next_step="The reasons are above. Run it again to continue.",
    )
    return Answer({"sessions": [attrs.asdict(one) for one in taken]}, show, error=problem if failed else None)


def _say(out: Term, done: Imported) -> None:
    new = done.added
    what = f"{count(new.documents, 'document')}, {count(new.facts, 'fact')} and {count(new.journals, 'journal')}"
    out.say(f"{out.mark('ok')} {what} added")
    if done.replaced:
        out.fill(f"replaced: {', '.join(done.replaced)}")
    if done.different:
        out.fill(f"left alone, different here: {', '.join(done.different)}")
    if done.evicted:
        out.say(f"  {count(done.evicted, 'weaker fact')} removed, because the store is full")
    for text in (*(f"left alone, {text}" for text in done.left), *(f"refused {r.name}: {r.why}" for r in done.refused)):
        out.fill(text)


def _unread(call: Call) -> Answer | None:
    """A database's content, unless the user agrees to import it."""
    from holdfast_app.transfer.database import Database

    file, out = call.args.file, call.out
    with Database(file) as given:
        facts = [fact.content for fact in given.store.facts()]
        names = [name for name, _ in given.store.documents()]
    if call.args.yes:
        return None
    step = f"Read them, then run `holdfast import {file} --yes`."
    if call.json:
        problem = Refused("A database is imported only with --yes.", next_step=step)
        return Answer({"facts": facts, "documents": names}, error=problem)
    out.say(f"{out.plain(file)} holds {count(len(facts), 'fact')} and {count(len(names), 'document')}:")
    for title, lines in (("fact", facts), ("document", names)):
        for line in lines[:_SHOWN]:
            out.say(f"  {out.dim(title)}  {out.clip(in_one_line(line), out.width - 12)}")
        if len(lines) > _SHOWN:
            out.say(f"  {out.dim(f'and {len(lines) - _SHOWN:,} more')}")
    if can_ask():
        return None if confirmed("Import them?") else Answer({}, ok=False)
    return Answer({}, f"\n  next: {step}", ok=False)
