"""``holdfast outbox``: what waits to be published on a forge. Send it, drop it with a reason, or change its target."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from holdfast.text.humanize import ago, count
from holdfast_cli.args import add_json, examples
from holdfast_cli.problem import UsageError
from holdfast_cli.terminal import Term

if TYPE_CHECKING:
    from datetime import datetime

    from holdfast import Holdfast
    from holdfast_app.outbox.outbox import Item

#: The command's help heading, and its summary line.
HEADING = "Manage"
SUMMARY = "list comments waiting to be published on a forge; send, drop or retarget them"

#: Characters of an id to show.
_ID_CHARS = 16


def configure(parser: ArgumentParser) -> None:
    parser.add_argument(
        "action", nargs="?", choices=("list", "send", "drop", "retarget"), default="list", help="default: list"
    )
    parser.add_argument("id", nargs="?", metavar="ID", help="the item to drop, or the old target to retarget")
    parser.add_argument("new", nargs="?", metavar="NEW", help="the new target or repository, with retarget")
    parser.add_argument("--reason", metavar="TEXT", help="why the item is dropped, for the daily note")
    add_json(parser)
    parser.epilog = (
        examples(
            "holdfast outbox",
            "holdfast outbox send",
            'holdfast outbox drop ID --reason "the issue is gone"',
            "holdfast outbox retarget owner/old owner/new",
        )
        + "\n\nWaiting items are sent automatically at the next flush and when a session starts."
        "\nExit code 1 when something still waits after `send`."
    )


def run(args: Namespace) -> int:
    from holdfast import Holdfast

    if args.new is not None and args.action != "retarget":
        raise UsageError(f"`{args.action}` takes no second name.", next_step="See `holdfast outbox --help`.")
    if args.action == "retarget":
        if not args.new or args.reason is not None:
            raise UsageError(
                "`holdfast outbox retarget` takes the old and the new target.",
                next_step="Write it like `holdfast outbox retarget owner/old owner/new`.",
            )
    elif args.action == "drop":
        if not args.id:
            raise UsageError("`holdfast outbox drop` takes one ID.", next_step="`holdfast outbox` lists the ids.")
        if not (args.reason or "").strip():
            raise UsageError("Dropping needs a reason.", next_step='Say why: --reason "..."')
    elif args.id or args.reason is not None:
        raise UsageError(
            f"`{args.action}` takes neither an id nor a reason.", next_step="See `holdfast outbox --help`."
        )
    out = Term()
    with Holdfast.open(args.root) as memory:
        if args.action == "drop":
            return _drop(memory, args, out)
        if args.action == "retarget":
            return _retarget(memory, args, out)
        if args.action == "send":
            return _send(memory, args, out)
        return _list(memory, args, out)


def _list(memory: Holdfast, args: Namespace, out: Term) -> int:
    items = memory.outbox.items()
    if args.json:
        out.json({"ok": True, "pending": len(items), "items": [_table(item) for item in items]})
        return 0
    for item in items:
        _show(out, item, memory.services.now())
    if items:
        out.say(f"\n{count(len(items), 'item')}; `holdfast outbox send` tries now")
    else:
        out.say(f"{out.mark('ok')} nothing waits to be published")
    return 0


def _send(memory: Holdfast, args: Namespace, out: Term) -> int:
    results = memory.outbox.send()
    left = sum(one.evidence is None for one in results)
    if args.json:
        rows = [
            {
                "id": one.item.id,
                "target": one.item.target,
                "sent": one.evidence is not None,
                "pointer": one.evidence.pointer if one.evidence else "",
                "error": "" if one.evidence else one.item.error,
                "next_step": "" if one.evidence else one.item.next_step,
            }
            for one in results
        ]
        out.json({"ok": not left, "pending": left, "results": rows})
        return 1 if left else 0
    for one in results:
        if one.evidence is not None:
            pointer = out.plain(one.evidence.pointer)
            out.say(f"{out.mark('ok')} {out.bold(out.plain(one.item.target))}  {pointer}")
        else:
            _show(out, one.item, memory.services.now())
    if left:
        out.say(f"\n{count(left, 'item')} still wait{'s' if left == 1 else ''}")
    else:
        out.say(f"{out.mark('ok')} nothing waits to be published")
    return 1 if left else 0


def _retarget(memory: Holdfast, args: Namespace, out: Term) -> int:
    moved = memory.outbox.retarget(args.id, args.new)
    if args.json:
        out.json({"ok": True, "items": [_table(item) for item in moved]})
        return 0
    for item in moved:
        _show(out, item, memory.services.now())
    out.say(f"{out.mark('ok')} {count(len(moved), 'item')} retargeted; `holdfast outbox send` tries now")
    return 0


def _drop(memory: Holdfast, args: Namespace, out: Term) -> int:
    item = memory.outbox.drop(args.id, args.reason)
    if args.json:
        out.json({"ok": True, "id": item.id, "target": item.target, "reason": args.reason})
    else:
        what = out.bold(out.plain(item.target or item.id))
        out.say(f"{out.mark('ok')} {what} will not be published. The reason is in the daily note")
    return 0


def _table(item: Item) -> dict[str, Any]:
    """One item for programs."""
    from holdfast.config.serde import unstructure

    table: dict[str, Any] = unstructure(item)
    return table


def _show(out: Term, item: Item, now: datetime) -> None:
    """An item with its id, the last try's outcome, and the next step."""
    target = out.bold(out.plain(item.target or "?"))
    tried = f", tried {count(item.attempts, 'time')}" if item.attempts else ""
    since = "" if item.is_damaged else out.dim(f"  {ago(item.at, now)}{tried}")
    out.say(f"{out.mark('warn')} {target}  {out.plain(item.id[:_ID_CHARS])}{since}")
    if item.error:
        out.say(out.wrapped(item.error, first="    "))
    if item.next_step:
        out.say(out.wrapped(item.next_step, first=f"    {out.dim('next:')} ", rest="          "))
