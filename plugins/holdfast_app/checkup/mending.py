"""Restores missing note blocks, the handoff and decided lines from the receipts in the journals.

A block is restored as it was written, without an operator's override. Text that only a person or a dream wrote is lost,
and the result reports it. Nothing is overwritten: blocks are appended, and only missing documents are created.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from holdfast.config.layout import Surface
from holdfast.errors import HoldfastError
from holdfast.flush import curated, handoff, notes
from holdfast.fs import durable, private
from holdfast.journal.journal import Journal, file_stem
from holdfast.models import CuratedEntry, Payload, StateMutation
from holdfast.text.humanize import count
from holdfast_app.checkup.documents import facts_again
from holdfast_app.data_loss import audit
from holdfast_app.durable_queue import tally
from holdfast_app.sessions import rewriting

if TYPE_CHECKING:
    from holdfast.flush.interfaces import Loss
    from holdfast.models import Receipt
    from holdfast_app.services import Services

_INSTEAD = re.compile(r"(.*?)(?: \(instead of: (.*)\))?")


class Mended(NamedTuple):
    """The outcome for one loss. ``whole`` when everything was restored."""

    message: str
    whole: bool = True


def mend(services: Services, losses: Sequence[Loss]) -> Iterator[Mended]:
    """Repair as much as possible. ``losses`` come from :func:`holdfast_app.data_loss.audit.every`. Raises only the
    store's errors. Repairs made until then stay."""
    for loss in losses:
        try:
            yield _MENDERS.get(loss.kind, _document)(services, loss)
        except HoldfastError as error:
            yield Mended(f"{loss.message} It cannot be written: {error.message}", whole=False)


def _facts(services: Services, loss: Loss) -> Mended:
    again = facts_again(services)
    number = f"{again:,} stated fact{' is' if again == 1 else 's are'} stored again"
    return Mended(f"{loss.message} {number}; the store is accepted as it is")


def _waiting(services: Services, loss: Loss) -> Mended:
    put_back = services.outbox.restore(audit.flushes(services))
    tally.accept(services.private(private.OUTBOX))
    return Mended(f"{loss.message} {put_back} handed to the forges again")


def _spooled(services: Services, loss: Loss) -> Mended:
    """Keep again the flushes that no server has, from the journals."""
    again, aside = services.spool.restore(audit.unshipped(services))
    tally.accept(services.private(private.SPOOL))
    damaged = f"; damaged lines moved to state/spool.damaged-*: {aside}" if aside else ""
    return Mended(f"{loss.message} Flushes kept again from the journals: {again}{damaged}")


def _lines(services: Services, loss: Loss) -> Mended:
    tally.accept(services.private(loss.name.rpartition("/")[2]))
    return Mended(f"{loss.message} The remaining lines were accepted")


def _unproved(services: Services, loss: Loss) -> Mended:
    services.store.provenance.delete(loss.name)
    return Mended(f"{loss.message} No journal holds its text, so it was recorded as deleted")


def _damaged(services: Services, loss: Loss) -> Mended:
    """A document that could be repaired is repaired by now."""
    return Mended(loss.message.rstrip("."), whole=False)


def _journal(services: Services, loss: Loss) -> Mended:
    stem = loss.name.rpartition("/")[2].removesuffix(".jsonl")
    if file_stem(stem) == stem:
        rewriting.repair(Journal(services.state, stem))
    else:  # the session's id is unknown
        durable.remove(services.private("sessions", f"{stem}.hint"))
    return Mended(f"{loss.name} was restarted. Turns since the session's last flush are lost")


def _block(services: Services, loss: Loss) -> Mended:
    receipt = loss.receipt
    if receipt is None or not receipt.summary:
        return Mended(f"{loss.message} The journal does not hold its text", whole=False)
    block, header = audit.rebuilt(receipt), notes.header(receipt.at.date())
    surface, block_id = Surface.DAILY, receipt.flush_id
    if loss.written is not None and loss.written.surface == Surface.TRAIL:
        surface, block_id = Surface.TRAIL, block_id.partition("-")[0]
        block, header = _trail(services, receipt, block, block_id), notes.summary_header(receipt.at.date())
    block = services.gate.admit(block, surface=surface, name=loss.name)
    services.store.append(surface, loss.name, block, header, block_id)
    return Mended(f"{block_id} of session {receipt.session_id} is in {loss.name} again")


def _trail(services: Services, receipt: Receipt, note: str, block_id: str) -> str:
    """The daily summary's block, from that of the daily note."""
    [block] = notes.blocks(note)
    stated = []
    for item in block.items("State"):
        kind, _, rest = item.partition(" of ")
        target, _, summary = rest.partition(": ")
        stated.append(StateMutation(kind=kind, target=target, summary=summary))
    return notes.summary_block(
        Payload(state_mutations=stated),
        block_id=block_id,
        flush_id=receipt.flush_id,
        note=services.layout.name(Surface.DAILY, receipt.at.date()),
        session=receipt.session_id,
        at=receipt.at,
    )


def _document(services: Services, loss: Loss) -> Mended:
    """A whole document: the handoff or a curated document."""
    surface = loss.written.surface if loss.written is not None else ""
    if surface == Surface.HANDOFF:
        entries = audit.open_work(services)
        _create(services, surface, loss.name, handoff.render(entries))
        number = f"{len(entries)} open" if entries else "nothing open"
        return Mended(f"{loss.name} is rebuilt from the last receipts, with {number}")
    decided = list(_decided(services, surface)) if surface in curated.TITLES else []
    if not decided:
        what = "lines" if surface in curated.TITLES else "text"
        return Mended(f"{loss.message} No journal holds its {what}", whole=False)
    text = _create(services, surface, loss.name, curated.apply(None, decided, surface))
    lines = count(curated.count(text), "decided line")
    return Mended(f"{loss.name} is rebuilt with {lines}. Other lines are lost")


def _decided(services: Services, surface: str) -> Iterator[CuratedEntry]:
    """Curated lines from flushes, in flush order."""
    for receipt in sorted(audit.receipts(services), key=lambda r: r.at):
        for block in notes.blocks(audit.rebuilt(receipt)):
            for item in block.items(surface):
                found = _INSTEAD.fullmatch(item)
                if found is not None:
                    yield CuratedEntry(text=found[1], replaces=found[2] or "")


def _create(services: Services, surface: str, name: str, text: str) -> str:
    """Write a missing document. Returns its text."""
    text = services.gate.admit(text, surface=Surface(surface), name=name)
    services.store.change(surface, name, lambda there: text if there is None else there)
    return text


_MENDERS: Mapping[str, Callable[[Services, Loss], Mended]] = {
    "facts": _facts,
    "waiting": _waiting,
    "spooled": _spooled,
    "lines": _lines,
    "unproved": _unproved,
    "damaged": _damaged,
    "journal": _journal,
    "block": _block,
}
