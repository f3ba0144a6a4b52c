"""``holdfast spool``: flushes kept on this machine until the store's server takes them. List them, or send them now."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from holdfast.text.humanize import ago
from holdfast_cli import state
from holdfast_cli.args import add_json, examples
from holdfast_cli.terminal import Term

if TYPE_CHECKING:
    from datetime import datetime

    from holdfast_app.spool.kept import Kept

#: The command's help heading, and its summary line.
HEADING = "Manage"
SUMMARY = "list flushes kept on this machine while the store's server was away; send them"


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("action", nargs="?", choices=("list", "send"), default="list", help="default: list")
    add_json(parser)
    parser.epilog = (
        examples("holdfast spool", "holdfast spool send")
        + "\n\nWith `[storage] spool = true` a flush that the server does not take is kept here. It is sent"
        "\nautomatically at the next flush and when a session starts."
        "\nExit code 1 when a flush still waits after `send`."
    )


def run(args: Namespace) -> int:
    from holdfast import Holdfast

    out = Term()
    with Holdfast.open(args.root) as memory:
        written = 0
        if args.action == "send":
            sent = memory.spool.send()
            written = len(sent.written)
        items = memory.spool.items()
        failed = bool(items) and args.action == "send"
        if args.json:
            out.json({"ok": not failed, "sent": written, "waiting": len(items), "items": state.kept_table(items)})
            return 1 if failed else 0
        if written:
            out.say(f"{out.mark('ok')} {written:,} kept {'flush' if written == 1 else 'flushes'} written and read back")
        for one in items:
            _show(out, one, memory.services.now())
        if items:
            state.say_kept(out, memory.spool.sentence)
        elif not written:
            out.say(f"{out.mark('ok')} nothing waits on this machine")
    return 1 if failed else 0


def _show(out: Term, one: Kept, now: datetime) -> None:
    """One item with its session, the last failure, and the next step."""
    since = "" if one.is_damaged else out.dim(f"  {ago(one.at, now)}")
    out.say(f"{out.mark('warn')} {out.bold(out.plain(one.session or '?'))}  {out.plain(one.id)}{since}")
    if one.error:
        out.say(out.wrapped(one.error, first="    "))
    if one.next_step:
        out.say(out.wrapped(one.next_step, first=f"    {out.dim('next:')} ", rest="          "))
