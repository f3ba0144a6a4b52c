"""``holdfast uninstall``: take holdfast out of a client again. The memory itself stays."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from holdfast.cli.args import add_json, examples
from holdfast.cli.term import Term, home_short
from holdfast_agents.setup.install import add_arguments, as_tables, named, say_files, where_of

#: The heading of the help under which the command is listed, and its line there.
HEADING = "Guard a client"
SUMMARY = "take them out again"


def configure(parser: ArgumentParser) -> None:
    add_arguments(parser)
    add_json(parser)
    parser.epilog = (
        examples("holdfast uninstall claude-code", "holdfast uninstall codex --scope user")
        + "\n\nA file that nobody else has changed since becomes what it was, byte by byte. The memory stays."
    )


def run(args: Namespace) -> int:
    from holdfast_agents.setup import placing
    from holdfast_agents.setup.clients import CLIENTS, needed

    where = where_of(args)
    done = placing.take_out(needed(args.client, where).places)
    out = Term()
    if args.json:
        out.json({"ok": True, **named(args, where), "files": as_tables(done), "by_hand": []})
        return 0
    gone = any(d.fate in (placing.Fate.RESTORED, placing.Fate.CLEANED, placing.Fate.REMOVED) for d in done)
    place = home_short(where.root) if where.in_project else "your own settings"
    told = "no longer guarded" if gone else "not guarded, so nothing was changed"
    out.say(f"{out.mark('ok' if gone else 'dot')} {CLIENTS[args.client]} is {told} in {out.bold(place)}")
    say_files(out, [d for d in done if d.fate is not placing.Fate.ABSENT])
    if gone:
        out.say("\n  the memory is still there; from now on context is dropped without a flush")
    return 0
