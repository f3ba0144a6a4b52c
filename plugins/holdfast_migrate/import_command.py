"""``holdfast import``: add an archive's content to this project."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from holdfast.cli import progress
from holdfast.cli.args import add_json, examples
from holdfast.cli.humanize import count
from holdfast.cli.problem import caution
from holdfast.cli.terminal import Term

#: The help heading for the command, and its summary line.
HEADING = "Manage"
SUMMARY = "add an archive's content to this project"


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="an archive that `holdfast export` wrote")
    parser.add_argument("--replace", action="store_true", help="replace existing documents that differ")
    parser.add_argument("--settings", action="store_true", help="write the archive's settings where there are none")
    add_json(parser)
    parser.epilog = (
        examples("holdfast import memory.zip", "holdfast import memory.zip --replace --json")
        + "\n\nThe archive is checked first. Run the same command again to continue after an interruption."
        + "\nFor a list of facts alone use `holdfast facts import`."
    )


def run(args: Namespace) -> int:
    import attrs

    from holdfast import Holdfast
    from holdfast.cli.problem import as_table
    from holdfast.errors import Refused
    from holdfast_migrate.importing import import_archive

    out = Term()
    with Holdfast.open(args.root) as memory, progress.shown(quiet=args.json) as bar:
        caution(memory.services.notices)
        try:
            done = import_archive(memory, args.file, replace=args.replace, settings=args.settings, progress=bar)
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
