"""The receipt as people read it, and as ``--json`` prints it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.text.humanize import count, size

if TYPE_CHECKING:
    from datetime import datetime

    from holdfast.models import Receipt
    from holdfast_cli.terminal import Term

DIGEST_CHARS = 12


def as_table(receipt: Receipt) -> dict[str, Any]:
    """The receipt with ``ok`` first: true when everything is written and read back."""
    from holdfast.config.serde import unstructure

    return {"ok": not receipt.overridden, **unstructure(receipt)}


def show(out: Term, receipt: Receipt, *, now: datetime) -> None:
    """Print it."""
    from holdfast.text.humanize import ago

    session = out.bold(out.plain(receipt.session_id))
    if receipt.overridden:
        out.say(
            f"{out.mark('fail')} {out.red('not saved', bold=True)}: session {session} continues by operator's override"
        )
        out.say(out.wrapped(receipt.overridden, first="    reason: "))
    elif receipt.repeated:
        when = ago(receipt.at, now)
        out.say(f"{out.mark('ok')} session {session} is flushed already, {when}; no new messages since")
    elif receipt.spooled:
        out.say(f"{out.mark('warn')} session {session} is flushed ({receipt.reason}) to this machine")
    else:
        out.say(f"{out.mark('ok')} session {session} is flushed ({receipt.reason}) and was read back")
    if receipt.flush_id:
        out.say(f"  {out.dim(receipt.flush_id + f' at {receipt.at:%Y-%m-%d %H:%M %Z}'.rstrip())}")
    if receipt.written:
        out.say()
        out.say(
            out.table(
                [
                    (out.mark_cell("ok"), w.surface, w.name, size(w.size), (w.sha256[:DIGEST_CHARS], "dim"))
                    for w in receipt.written
                ],
                right=(3,),
            )
        )
    for item in receipt.evidence:
        if item.pointer:
            out.say(f"  {out.mark('ok')}  {out.plain(item.target)}  {out.plain(item.pointer)}")
    _remarks(out, receipt)


def _remarks(out: Term, receipt: Receipt) -> None:
    remarks = list(receipt.warnings)
    if receipt.spooled:
        remarks.append(
            f"Kept on this machine, not yet on {receipt.spooled}. It is written there by the next flush, session start "
            "or `holdfast spool send`; until then only this machine has it."
        )
    if receipt.pending:
        verb, which = ("waits", "it") if receipt.pending == 1 else ("wait", "them")
        remarks.append(
            f"Degraded: {count(receipt.pending, 'item')} {verb} to be published and will be sent later "
            f"(`holdfast outbox`); until then the daily summary lists {which}."
        )
    if receipt.derived or receipt.not_found or remarks:
        out.say()
    if receipt.derived:
        names = ", ".join(name.replace("_", " ") for name in receipt.derived)
        out.say(out.wrapped(names, first="  derived from the messages: ", rest="    "))
    if receipt.not_found:
        names = ", ".join(name.replace("_", " ") for name in receipt.not_found)
        out.say(out.wrapped(names, first="  nothing was said about: ", rest="    "))
    for remark in remarks:
        out.say(out.wrapped(remark, first=f"  {out.mark('warn')} ", rest="    "))
