"""``holdfast sessions``: every session that has a journal."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from holdfast.cli import state
from holdfast.cli.args import add_json, examples
from holdfast.cli.term import Term
from holdfast.cli.words import ago, count


def configure(parser: ArgumentParser) -> None:
    add_json(parser)
    parser.epilog = examples("holdfast sessions", "holdfast sessions --json")


def run(args: Namespace) -> int:
    from holdfast import Holdfast
    from holdfast.status import status

    with Holdfast.open(args.root) as memory:
        now = status(memory.services)
    out = Term()
    if args.json:
        out.json({"ok": True, "sessions": [state.session_table(s) for s in now.sessions]})
    elif not now.sessions:
        out.say("No session has begun. `holdfast add user TEXT --session ID` begins one.")
    else:
        rows = []
        for one in now.sessions:
            held = count(one.context_tokens, "token")
            last = ago(one.last_turn_at, now.at) if one.last_turn_at else "never"
            rows.append((*state.cells(out, one), "ended" if one.ended else held, last))
        out.say(out.table(rows, head=("", "session", "state", "in context", "last turn")))
    return 0
