"""Restores missing note blocks, the handoff and decided lines from the receipts in the journals.

A block is restored as it was written, without an operator's override. Text that only a person or a dream wrote is lost,
and the result reports it. Nothing is overwritten: blocks are appended, and only missing documents are created.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from attrs import frozen

from holdfast.config.layout import Surface
from holdfast.errors import HoldfastError
from holdfast.flush import curated, handoff, notes
from holdfast.fs import durable, private
from holdfast.journal.journal import Journal, file_stem
from holdfast_app.data_loss import audit
from holdfast_app.durable_queue import tally
from holdfast_app.sessions import rewriting

if TYPE_CHECKING:
    from holdfast.flush.interfaces.losses import Loss
    from holdfast.models import Receipt
    from holdfast.session.services import Services

_INSTEAD = re.compile(r"(.*?)(?: \(instead of: (.*)\))?")


@frozen(kw_only=True)
class Mended:
    """The outcome for one loss. ``whole`` when everything was restored."""

    loss: Loss
    message: str
    whole: bool = True


def mend(services: Services, losses: Sequence[Loss]) -> Iterator[Mended]:
    """Repair as much as possible. ``losses`` come from :func:`holdfast_app.data_loss.audit.every`. Raises only the
    store's errors. Repairs made until then stay."""
    for loss in losses:
        try:
            yield _mended(services, loss, losses)
        except HoldfastError as error:
            yield Mended(loss=loss, message=f"{loss.message} It cannot be written: {error.message}", whole=False)


def _mended(services: Services, loss: Loss, losses: Sequence[Loss]) -> Mended:
    if loss.kind == "facts":
        return _facts(services, loss)
    if loss.kind == "waiting":
        return _waiting(services, loss)
    if loss.kind == "spooled":
        return _spooled(services, loss)
    if loss.kind == "lines":
        tally.accept(services.private(loss.name.rpartition("/")[2]))
        return Mended(loss=loss, message=f"{loss.message} The remaining lines were accepted")
    if loss.kind == "unproved":
        if services.store.provenance is not None:
            services.store.provenance.delete(loss.name)
        return Mended(loss=loss, message=f"{loss.message} No journal holds its text, so it was recorded as deleted")
    if loss.kind == "damaged":  # a document that could be repaired is repaired by now
        return Mended(loss=loss, message=loss.message.rstrip("."), whole=False)
    if loss.kind == "journal":
        return _without(services, loss)
    assert loss.written is not None
    assert loss.receipt is not None
    if loss.kind == "block":
        return _block(services, loss, loss.receipt)
    if loss.written.surface == Surface.HANDOFF:
        return _handoff(services, loss)
    if loss.written.surface in curated.TITLES:
        return _curated(services, loss, loss.written.surface)
    return Mended(loss=loss, message=f"{loss.message} No journal holds its text", whole=False)


def _without(services: Services, loss: Loss) -> Mended:
    stem = loss.name.rpartition("/")[2].removesuffix(".jsonl")
    if file_stem(stem) == stem:
        rewriting.repair(Journal(services.state, stem))
    else:  # the session's id is unknown
        durable.remove(services.private("sessions", f"{stem}.hint"))
    message = f"{loss.name} was restarted. Turns since the session's last flush are lost"
    return Mended(loss=loss, message=message)


def _facts(services: Services, loss: Loss) -> Mended:
    """Store again the facts stated in payloads since a call last removed or changed a fact. Earlier facts may have been
    removed on purpose, and the fact log does not hold their text."""
    backend = services.store.backend
    backend.repair()
    before = backend.count_facts()
    services.facts.restore(audit.flushes(services))
    again = backend.count_facts() - before
    number = f"{again:,} stated fact{' is' if again == 1 else 's are'} stored again"
    return Mended(loss=loss, message=f"{loss.message} {number}; the store is accepted as it is")


def _waiting(services: Services, loss: Loss) -> Mended:
    put_back = services.outbox.restore(audit.flushes(services))
    tally.accept(services.private(private.OUTBOX))
    return Mended(loss=loss, message=f"{loss.message} {put_back} handed to the forges again")


def _spooled(services: Services, loss: Loss) -> Mended:
    """Keep again the flushes that no server has, from the journals."""
    again, aside = services.spool.restore(audit.unshipped(services))
    tally.accept(services.private(private.SPOOL))
    message = f"{loss.message} Flushes kept again from the journals: {again}"
    if aside:
        message = f"{message}; damaged lines moved to state/spool.damaged-*: {aside}"
    return Mended(loss=loss, message=message)


def _block(services: Services, loss: Loss, receipt: Receipt) -> Mended:
    if not receipt.summary:
        return Mended(loss=loss, message=f"{loss.message} The journal does not hold its text", whole=False)
    block, header = audit.rebuilt(receipt), notes.header(receipt.at.date())
    surface, block_id = Surface.DAILY, receipt.flush_id
    if loss.written is not None and loss.written.surface == Surface.TRAIL:
        surface, block_id = Surface.TRAIL, block_id.partition("-")[0]
        block, header = _trail(services, receipt, block, block_id), notes.summary_header(receipt.at.date())
    block = services.gate.admit(block, surface=surface, name=loss.name)
    services.store.append(surface, loss.name, block, header, block_id)
    return Mended(loss=loss, message=f"{block_id} of session {receipt.session_id} is in {loss.name} again")


def _trail(services: Services, receipt: Receipt, note: str, block_id: str) -> str:
    """The daily summary's block, from that of the daily note."""
    from holdfast.models import Payload, StateMutation

    [block] = notes.blocks(note)
    stated = []
    for item in block.items("State"):
        kind, _, rest = item.partition(" of ")
        target, _, summary = rest.partition(": ")
        stated.append(StateMutation(kind=kind, target=target, summary=summary))
    name = services.layout.name(Surface.DAILY, receipt.at.date())
    return notes.summary_block(
        Payload(state_mutations=stated),
        block_id=block_id,
        flush_id=receipt.flush_id,
        note=name,
        session=receipt.session_id,
        at=receipt.at,
    )


def _handoff(services: Services, loss: Loss) -> Mended:
    entries = audit.open_work(services)
    text = services.gate.admit(handoff.render(entries), surface=Surface.HANDOFF, name=loss.name)
    services.store.change(Surface.HANDOFF, loss.name, lambda there: text if there is None else there)
    number = f"{len(entries)} open" if entries else "nothing open"
    return Mended(loss=loss, message=f"{loss.name} is rebuilt from the last receipts, with {number}")


def _curated(services: Services, loss: Loss, surface: str) -> Mended:
    """Curated lines from flushes, in flush order."""
    from holdfast.models import CuratedEntry

    entries = []
    for receipt in sorted(audit.receipts(services), key=lambda r: r.at):
        for block in notes.blocks(audit.rebuilt(receipt)):
            for item in block.items(surface):
                found = _INSTEAD.fullmatch(item)
                if found is not None:
                    entries.append(CuratedEntry(text=found[1], replaces=found[2] or ""))
    if not entries:
        return Mended(loss=loss, message=f"{loss.message} No journal holds its lines", whole=False)
    text = services.gate.admit(curated.apply(None, entries, surface), surface=Surface(surface), name=loss.name)
    services.store.change(surface, loss.name, lambda there: text if there is None else there)
    lines = curated.count(text)
    message = f"{loss.name} is rebuilt with {lines} decided line{'' if lines == 1 else 's'}. Other lines are lost"
    return Mended(loss=loss, message=message)
