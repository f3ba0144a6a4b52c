"""The receipt as people read it, and as ``--json`` prints it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.text.humanize import ago, count, size

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
    session = out.bold(out.plain(receipt.session_id))
    if receipt.overridden:
        out.say(
            f"{out.mark('fail')} {out.red('not saved', bold=True)}: session {session} continues by operator's override"
        )
        out.fill(receipt.overridden, "    reason: ")
    elif receipt.repeated:
        when = ago(receipt.at, now)
        out.say(f"{out.mark('ok')} session {session} is flushed already, {when}; no new messages since")
    else:
        where = "to this machine" if receipt.spooled else "and was read back"
        mark = out.mark("warn" if receipt.spooled else "ok")
        out.say(f"{mark} session {session} is flushed ({receipt.reason}) {where}")
    if receipt.flush_id:
        out.say(f"  {out.dim(receipt.flush_id + f' at {receipt.at:%Y-%m-%d %H:%M %Z}'.rstrip())}")
    if receipt.written:
        ok = out.mark_cell("ok")
        rows = [(ok, w.surface, w.name, size(w.size), (w.sha256[:DIGEST_CHARS], "dim")) for w in receipt.written]
        out.say()
        out.say(out.table(rows, right=(3,)))
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
    for label, names in (("derived from the messages", receipt.derived), ("nothing was said about", receipt.not_found)):
        if names:
            out.fill(", ".join(name.replace("_", " ") for name in names), f"  {label}: ", "    ")
    for remark in remarks:
        out.note("warn", remark, indent="  ")
