"""``holdfast spool``: flushes kept on this machine until the store's server takes them. List them, or send them now."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from holdfast.cli import spool_view
from holdfast.cli.args import add_json, examples
from holdfast.cli.terminal import Term


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
            out.json({"ok": not failed, "sent": written, "waiting": len(items), "items": spool_view.table(items)})
            return 1 if failed else 0
        if written:
            out.say(f"{out.mark('ok')} {written:,} kept {'flush' if written == 1 else 'flushes'} written and read back")
        for one in items:
            spool_view.show(out, one, memory.services.now())
        if items:
            spool_view.say_kept(out, items)
        elif not written:
            out.say(f"{out.mark('ok')} nothing waits on this machine")
    return 1 if failed else 0
