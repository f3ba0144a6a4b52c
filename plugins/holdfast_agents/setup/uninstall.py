"""``holdfast uninstall``: remove holdfast from a client. The memory stays."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from holdfast_agents.setup.install import add_arguments, as_tables, named, say_files, where_of
from holdfast_cli.args import add_json, examples
from holdfast_cli.terminal import Term, home_short

#: The help section that lists the command, and its line there.
HEADING = "Guard a client"
SUMMARY = "remove holdfast's hooks from a client"


def configure(parser: ArgumentParser) -> None:
    add_arguments(parser)
    add_json(parser)
    parser.epilog = (
        examples("holdfast uninstall claude-code", "holdfast uninstall codex --scope user")
        + "\n\nA file that only holdfast changed gets its original content back, byte for byte. The memory stays."
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
        out.say("\n  The memory is still there. From now on this client drops context without a flush.")
    return 0
