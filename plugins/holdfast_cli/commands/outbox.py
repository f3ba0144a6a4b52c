"""``holdfast outbox``: what waits to be published on a forge; ``holdfast spool``: flushes kept on this machine until
the store's server takes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.text.humanize import ago, count
from holdfast_cli import state
from holdfast_cli.command import Answer, Call, Command, argument
from holdfast_cli.problem import UsageError
from holdfast_cli.terminal import Term

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from holdfast_app.outbox.outbox import Item
    from holdfast_app.spool.kept import Kept

#: Characters of an id to show.
_ID_CHARS = 16

outbox = Command(
    "Manage",
    "list comments waiting to be published on a forge; send, drop or retarget them",
    argument("--reason", metavar="TEXT", help="why the item is dropped, for the daily note"),
    examples=(
        "holdfast outbox",
        "holdfast outbox send",
        'holdfast outbox drop ID --reason "the issue is gone"',
        "holdfast outbox retarget owner/old owner/new",
    ),
    notes="Waiting items are sent automatically at the next flush and when a session starts."
    "\nExit code 1 when something still waits after `send`.",
)


@outbox.action("list", default=True)
def _list(call: Call) -> Answer:
    items = call.memory.outbox.items()
    return Answer(
        {"pending": len(items), "items": items},
        lambda out: _show_items(out, items, call.memory.services.now(), "; `holdfast outbox send` tries now"),
    )


@outbox.action("send")
def _send(call: Call) -> Answer:
    results = call.memory.outbox.send()
    left = [one.item for one in results if one.evidence is None]
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

    def show(out: Term) -> None:
        for one in results:
            if one.evidence is not None:
                pointer = out.plain(one.evidence.pointer)
                out.say(f"{out.mark('ok')} {out.bold(out.plain(one.item.target))}  {pointer}")
        _show_items(out, left, call.memory.services.now(), f" still wait{'s' if len(left) == 1 else ''}")

    return Answer({"pending": len(left), "results": rows}, show, ok=not left)


@outbox.action("drop ID", "reason")
def _drop(call: Call) -> Answer:
    reason = call.args.reason or ""
    if not reason.strip():
        raise UsageError("Dropping needs a reason.", next_step='Say why: --reason "..."')
    item = call.memory.outbox.drop(call.names[0], reason)
    what = call.out.bold(call.out.plain(item.target or item.id))
    return Answer(
        {"id": item.id, "target": item.target, "reason": reason},
        f"{call.out.mark('ok')} {what} will not be published. The reason is in the daily note",
    )


@outbox.action("retarget OLD NEW")
def _retarget(call: Call) -> Answer:
    moved = call.memory.outbox.retarget(*call.names)
    return Answer(
        {"items": moved},
        lambda out: _show_items(
            out, moved, call.memory.services.now(), " retargeted; `holdfast outbox send` tries now"
        ),
    )


def _show_items(out: Term, items: Sequence[Item], now: datetime, end: str) -> None:
    for item in items:
        tried = f", tried {count(item.attempts, 'time')}" if item.attempts else ""
        since = "" if item.is_damaged else f"  {ago(item.at, now)}{tried}"
        _show_one(out, item, f"{out.bold(out.plain(item.target or '?'))}  {out.plain(item.id[:_ID_CHARS])}", since)
    if items:
        out.say(f"\n{count(len(items), 'item')}{end}")
    else:
        out.say(f"{out.mark('ok')} nothing waits to be published")


def _show_one(out: Term, item: Item | Kept, what: str, since: str) -> None:
    """What waits, the last try's outcome, and the next step."""
    out.say(f"{out.mark('warn')} {what}{out.dim(since)}")
    if item.error:
        out.fill(item.error, "    ")
    if item.next_step:
        out.next_step(item.next_step, indent="    ")


spool = Command(
    "Manage",
    "list flushes kept on this machine while the store's server was away; send them",
    examples=("holdfast spool", "holdfast spool send"),
    notes="With `[storage] spool = true` a flush that the server does not take is kept here. It is sent"
    "\nautomatically at the next flush and when a session starts."
    "\nExit code 1 when a flush still waits after `send`.",
)


@spool.action("list", default=True)
def _kept(call: Call) -> Answer:
    return _spooled(call, 0)


@spool.action("send")
def _send_kept(call: Call) -> Answer:
    return _spooled(call, len(call.memory.spool.send().written))


def _spooled(call: Call, sent: int) -> Answer:
    memory = call.memory
    items = memory.spool.items()

    def show(out: Term) -> None:
        if sent:
            out.say(f"{out.mark('ok')} {sent:,} kept {'flush' if sent == 1 else 'flushes'} written and read back")
        for one in items:
            since = "" if one.is_damaged else f"  {ago(one.at, memory.services.now())}"
            _show_one(out, one, f"{out.bold(out.plain(one.session or '?'))}  {out.plain(one.id)}", since)
        if items:
            state.say_kept(out, memory.spool.sentence)
        elif not sent:
            out.say(f"{out.mark('ok')} nothing waits on this machine")

    ok = not items or call.args.action != "send"
    return Answer({"sent": sent, "waiting": len(items), "items": state.kept_table(items)}, show, ok=ok)
