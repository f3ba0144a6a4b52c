"""``holdfast export``: everything in one archive."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from holdfast.text.humanize import count
from holdfast_cli import progress
from holdfast_cli.args import add_json, examples
from holdfast_cli.terminal import Term

#: The help heading for the command, and its summary line.
HEADING = "Manage"
SUMMARY = "write everything to one archive file"


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the archive to write, a zip file like memory.zip")
    parser.add_argument("--force", action="store_true", help="replace FILE if it exists")
    add_json(parser)
    parser.epilog = (
        examples("holdfast export memory.zip", "holdfast export memory.zip --force --json")
        + "\n\nDocuments, facts, the facts' log, journals, the settings file, waiting comments,"
        "\nthe dreams' copies and archived messages. Secrets are masked, as in all output."
    )


def run(args: Namespace) -> int:
    import attrs

    from holdfast import Holdfast
    from holdfast_cli.migration.exporting import export

    out = Term()
    with Holdfast.open(args.root) as memory, progress.shown(quiet=args.json) as bar:
        done = export(memory, args.file, force=args.force, progress=bar)
    if args.json:
        out.json({"ok": True, "file": args.file, **attrs.asdict(done)})
        return 0
    what = f"{count(done.documents, 'document')}, {count(done.facts, 'fact')} and {count(done.journals, 'journal')}"
    out.say(f"{out.mark('ok')} {what} written to {args.file}")
    if done.masked:
        out.say(f"  secrets were masked in {count(done.masked, 'item')}")
    if done.withheld:
        out.say(out.wrapped(f"left out, from an untrusted clone: {', '.join(done.withheld)}", first="  "))
    return 0
