"""``holdfast sessions``: every session with a journal, and the messages of one."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from holdfast.config.serde import moment
from holdfast.text.humanize import ago, count
from holdfast_app.sessions.lookup import messages, resolve, short, titles
from holdfast_cli import state
from holdfast_cli.args import add_json, examples, session_id
from holdfast_cli.problem import UsageError
from holdfast_cli.terminal import Term

if TYPE_CHECKING:
    from holdfast import Holdfast

HEADING = "Manage"
SUMMARY = "list the sessions with a journal, or show one conversation"
#: Number of newest UUID-named sessions to list with their first words. Each costs a read of its journal.
_TITLED = 40
#: Messages shown before and after the message that --around names.
_AROUND = 5


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("action", nargs="?", choices=("list", "show"), default="list", metavar="show", help="show ID")
    parser.add_argument(
        "id",
        nargs="?",
        type=session_id,
        metavar="ID",
        help="the session to read, with show (the first characters of its id are enough)",
    )
    parser.add_argument(
        "--around", metavar="TURN", help=f"with show: only this message and the {_AROUND} before and after it"
    )
    add_json(parser)
    parser.epilog = examples(
        "holdfast sessions",
        "holdfast sessions --json",
        "holdfast sessions show fix-login",
        "holdfast sessions show fix-login --around msg_0a1b2c3d",
    )


def run(args: Namespace) -> int:
    from holdfast import Holdfast

    if (args.action == "show") != (args.id is not None) or (args.around is not None and args.action != "show"):
        raise UsageError(
            "`holdfast sessions show` takes one session id, and --around belongs to it.",
            next_step="Write `holdfast sessions show ID`; `holdfast sessions` lists the ids.",
        )
    with Holdfast.open(args.root) as memory:
        return _show(memory, args) if args.action == "show" else _list(memory, args)


def _list(memory: Holdfast, args: Namespace) -> int:
    from holdfast.session.status import status

    now = status(memory.services)
    out = Term()
    newest = sorted(now.sessions, key=lambda one: (one.last_turn_at is not None, one.last_turn_at), reverse=True)
    begun = titles(memory, [one.id for one in newest if short(one.id) != one.id][:_TITLED])
    if args.json:
        shown = [state.session_table(one) | {"title": begun.get(one.id, "")} for one in now.sessions]
        out.json({"ok": True, "sessions": shown})
    elif not now.sessions:
        out.say("No session has begun. `holdfast add user TEXT --session ID` begins one.")
    else:
        rows = []
        for one in now.sessions:
            held = count(one.context_tokens, "token")
            last = ago(one.last_turn_at, now.at) if one.last_turn_at else "never"
            mark, _, word = state.cells(out, one)
            named = (short(one.id), "bold")
            rows.append((mark, named, word, "ended" if one.ended else held, last, out.plain(begun.get(one.id, ""))))
        out.say(out.table(rows, head=("", "session", "state", "in context", "last turn", "began with"), clipped=5))
    return 0


def _show(memory: Holdfast, args: Namespace) -> int:
    out = Term()
    session = resolve(memory, args.id)
    found = messages(memory, session, around=args.around, span=_AROUND)
    texts = memory.services.gate.outgoing_all([one["text"] for one in found], surface="journal")
    if args.json:
        shown = [{k: one[k] for k in ("id", "at", "role")} | {"text": t} for one, t in zip(found, texts, strict=True)]
        out.json({"ok": True, "session": session, "messages": shown})
        return 0
    for one, text in zip(found, texts, strict=True):
        at = moment(one["at"]).astimezone(memory.config.tz)
        out.say(f"{out.bold(one['role'])} {out.dim(f'{at:%Y-%m-%d %H:%M:%S}')} {out.dim(one['id'])}")
        for line in text.split("\n"):
            out.say(f"  {out.plain(line)}".rstrip())
        out.say()
    return 0
