"""``holdfast import``: add an archive's content to this project."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from holdfast.text.humanize import count
from holdfast.text.plain import in_one_line
from holdfast_cli import progress
from holdfast_cli.args import add_json, examples
from holdfast_cli.problem import caution
from holdfast_cli.terminal import Term

if TYPE_CHECKING:
    from holdfast import Holdfast

#: The help heading for the command, and its summary line.
HEADING = "Manage"
SUMMARY = "add an archive's content to this project"
_SHOWN = 20


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="an archive that `holdfast export` wrote, or a SQLite store")
    parser.add_argument("--yes", action="store_true", help="import a SQLite store without asking")
    parser.add_argument("--replace", action="store_true", help="replace existing documents that differ")
    parser.add_argument("--settings", action="store_true", help="write the archive's settings where there are none")
    add_json(parser)
    parser.epilog = (
        examples("holdfast import memory.zip", "holdfast import memory.zip --replace --json")
        + "\n\nA SQLite store is shown first. One that came with a clone, in the store's place, is renamed."
        + "\nThe archive is checked first. Run the same command again to continue after an interruption."
        + "\nFor a list of facts alone use `holdfast facts import`."
    )


def run(args: Namespace) -> int:
    import attrs

    from holdfast import Holdfast
    from holdfast.errors import Refused
    from holdfast_cli.migration.database import is_database
    from holdfast_cli.migration.importing import import_archive
    from holdfast_cli.problem import as_table

    out = Term()
    if is_database(args.file) and not _agreed(args, out):
        return 1
    with Holdfast.open(args.root) as memory, progress.shown(quiet=args.json) as bar:
        caution(memory.services.notices)
        file = _put_aside(memory, args.file, out if not args.json else None)
        try:
            done = import_archive(memory, file, replace=args.replace, settings=args.settings, progress=bar)
        except KeyboardInterrupt:
            raise KeyboardInterrupt("imported data is kept, run the same command again to continue") from None
    if args.json:
        problem = Refused("Some of the archive was refused.", next_step="See `refused` for the reasons.")
        error = {"error": as_table(problem)} if done.refused else {}
        out.json({"ok": not done.refused, **attrs.asdict(done), **error})
        return 1 if done.refused else 0
    new = done.added
    what = f"{count(new.documents, 'document')}, {count(new.facts, 'fact')} and {count(new.journals, 'journal')}"
    out.say(f"{out.mark('ok')} {what} added")
    if done.replaced:
        out.say(out.wrapped(f"replaced: {', '.join(done.replaced)}", first="  "))
    if done.different:
        out.say(out.wrapped(f"left alone, different here: {', '.join(done.different)}", first="  "))
    if done.evicted:
        out.say(f"  {count(done.evicted, 'weaker fact')} removed, because the store is full")
    for told in done.left:
        out.say(out.wrapped(f"left alone, {told}", first="  "))
    for one in done.refused:
        out.say(out.wrapped(f"refused {one.name}: {one.why}", first="  "))
    return 1 if done.refused else 0


def _agreed(args: Namespace, out: Term) -> bool:
    """Show what a database holds, and ask."""
    from holdfast_cli.ask import confirmed
    from holdfast_cli.migration.database import Database

    with Database(args.file) as given:
        facts = [fact.content for fact in given.store.facts()]
        names = [name for name, _ in given.store.documents()]
    if args.yes:
        return True
    step = f"Read them, then run `holdfast import {args.file} --yes`."
    if args.json:
        error = {"kind": "Refused", "message": "A database is imported only with --yes.", "next_step": step}
        out.json({"ok": False, "facts": facts, "documents": names, "error": {**error, "exit_code": 1}})
        return False
    out.say(f"{out.plain(args.file)} holds {count(len(facts), 'fact')} and {count(len(names), 'document')}:")
    for title, lines in (("fact", facts), ("document", names)):
        for line in lines[:_SHOWN]:
            out.say(f"  {out.dim(title)}  {out.clip(in_one_line(line), out.width - 12)}")
        if len(lines) > _SHOWN:
            out.say(f"  {out.dim(f'and {len(lines) - _SHOWN:,} more')}")
    if sys.stdin is not None and sys.stdin.isatty():
        return confirmed("Import them?")
    out.say(f"\n  next: {step}")
    return False


def _put_aside(memory: Holdfast, path: str, out: Term | None) -> str:
    """Rename a database of another origin that is where the store belongs. Returns the path to import."""
    aside = getattr(memory.store.backend, "put_aside", None)
    new: str = aside(path) if aside is not None else path
    if new != path and out is not None:
        out.say(f"{out.mark('dot')} {out.plain(path)} was renamed to {out.plain(os.path.basename(new))}")
    return new
