"""``holdfast migrate``: copy the store to another backend, or bring the one in use up to date."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from holdfast.text.humanize import count
from holdfast_cli import progress
from holdfast_cli.args import add_json, examples
from holdfast_cli.terminal import Term

#: The help heading for the command, and its summary line.
HEADING = "Manage"
SUMMARY = "copy the store to another backend and verify it, without changing the source"


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("--to", metavar="BACKEND", help="target backend, like sqlite")
    add_json(parser)
    parser.epilog = (
        examples("holdfast migrate --to sqlite", "holdfast migrate --to file --json")
        + "\n\nThe store in use is only read. Run the same command again to continue after an interruption."
        + "\nWithout --to, create or upgrade whatever the current store needs, like database tables."
    )


def run(args: Namespace) -> int:
    from holdfast import Holdfast
    from holdfast_cli.migration.migrate import migrate_project

    out = Term()
    if args.to is None:
        return _upgrade(args, out)
    with Holdfast.open(args.root) as memory, progress.shown(quiet=args.json) as bar:
        try:
            done = migrate_project(memory.services, args.to, bar)
        except KeyboardInterrupt:
            kept = f"the {memory.config.storage.backend} store is untouched and still in use; copied data is kept"
            raise KeyboardInterrupt(f"{kept}, run the same command again to continue") from None
    switch = f"holdfast config storage.backend {done.target}"
    if args.json:
        import attrs

        out.json({"ok": True, **attrs.asdict(done), "next_step": switch})
        return 0
    what = f"{count(done.documents, 'document')} and {count(done.facts, 'fact')}"
    verb = "were there already" if done.unchanged else "copied"
    out.say(f"{out.mark('ok')} {what} {verb}: {done.source} to {out.bold(done.target)}, read back and compared")
    if done.skipped:
        out.say(out.wrapped(f"skipped as duplicates of an earlier fact: {', '.join(done.skipped)}", first="  "))
    out.say(f"  sha256 {out.dim(done.sha256)}")
    out.say(f"  The {done.source} store is untouched and still in use. To switch:")
    out.say(f"    {switch}")
    return 0


def _upgrade(args: Namespace, out: Term) -> int:
    from holdfast import Holdfast

    with Holdfast.open(args.root) as memory:
        backend = memory.store.backend
        before, after = backend.check(thorough=True).version if memory.services.is_remote else (1, 1)
        if before != after:
            backend.repair()
        name = memory.config.storage.backend
    if args.json:
        out.json({"ok": True, "backend": name, "before": before, "after": after})
        return 0
    if before == after:
        told = f"the {name} store is up to date"
    elif before:
        told = f"the {name} store was upgraded from version {before} to {after}"
    else:
        told = f"the {name} store is ready"
    out.say(f"{out.mark('ok')} {told}")
    return 0
