"""Checks documents and facts, makes a damaged one readable, merges both sides of a git conflict, and restores missing
note blocks, the handoff and decided lines from the receipts in the journals.

A block is restored as it was written, without an operator's override. Text that only a person or a dream wrote is lost,
and the result reports it. A text changed here is kept in ``state/damaged`` or ``state/conflicts``.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from zlib import crc32

from attrs import evolve

from holdfast import Holdfast
from holdfast.config.layout import Surface
from holdfast.errors import Corrupt, HoldfastError, Unavailable
from holdfast.flush import curated, handoff, notes
from holdfast.fs import durable, private, safeopen
from holdfast.journal.journal import file_stem
from holdfast.models import Check, Payload, Receipt, StateMutation
from holdfast.storage import Capability, Condition
from holdfast.text.humanize import count
from holdfast_app import data_loss, durable_queue
from holdfast_app.checkup import threeway
from holdfast_app.data_loss import Loss
from holdfast_app.facts.rejected import Rejected
from holdfast_app.journal.journal import Journal
from holdfast_app.records import handoffs, packs
from holdfast_app.records.blocks import blocks
from holdfast_app.services import Services
from holdfast_app.sessions import rewriting
from holdfast_file import conflicts

good, warn, fail = Check.good, Check.warn, Check.fail


def repaired(message: str) -> Check:
    return evolve(good(message), repaired=True)


def failed(error: HoldfastError) -> Check:
    return fail(error.message, error.next_step or "Correct it, then try again.")


def looked(name: str, results: Iterator[Check]) -> tuple[list[Check], HoldfastError | None]:
    """The named checks of ``results`` up to an error, which is the last check and hides no other, and the error."""
    checks: list[Check] = []
    problem: HoldfastError | None = None
    try:
        for result in results:
            checks.append(result if result.name else evolve(result, name=name))  # noqa: PERF401 - those before an error stay
    except HoldfastError as error:
        problem = error
    except OSError as error:
        problem = durable.unavailable(error, error.filename or name, "look at")
    if problem is not None:
        checks.append(evolve(failed(problem), name=name))
    return checks, problem


#: Documents that are never empty, because holdfast only appends to them.
_GROWING = (Surface.DAILY, Surface.TRAIL, Surface.DIARY)


def readable(memory: Holdfast, *, repair: bool) -> Iterator[Check]:
    """Check each document, and with ``repair`` repair those that cannot be read."""
    names, broken = memory.store.names(), 0
    for name in names:
        try:
            try:
                _read_document(memory, name)
            except Corrupt:
                message = mend_document(memory.services, name) if repair else ""
                if not message:
                    raise
                _read_document(memory, name)
                yield repaired(message)
        except HoldfastError as error:
            if isinstance(error, Unavailable) and memory.services.is_remote:
                raise  # each further document would wait for the server as long
            broken += 1
            yield failed(error)
    if not broken:
        yield good(f"{len(names):,} readable" if names else "none yet")


def _read_document(memory: Holdfast, name: str) -> None:
    """Raises: as the store; Corrupt, too, when the text cannot be right."""
    document = memory.store.read(name)
    surface = memory.services.layout.surface_of(name)
    if document and not document.text and surface in _GROWING:
        step = "Restore it from git or a copy, or remove it. A purge leaves its heading."
        raise Corrupt(f"{name} is empty, so it was cut off.", next_step=step)
    if document and surface is Surface.HANDOFF and not conflicts.find(document.text):
        handoff.parse(document.text, name)


def mend_document(services: Services, name: str) -> str:
    """Repair the document, and return a sentence about it; empty when this store keeps no file that can be repaired.

    A handoff gets its whole entries and the open work of the last receipts. Other text stays, with a replacement
    character for each byte that is not UTF-8. Raises: Refused, PluginError; Corrupt; Unavailable.
    """
    path = os.path.join(services.root, services.config.storage.path, *name.split("/"))
    path = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
    if Capability.LOCAL_FILES not in services.store.backend.capabilities or not os.path.isfile(path):
        return ""
    with durable.reporting(name, "read"):
        data = safeopen.read(path, private=False)
    aside = _keep(services, "damaged", name, data)
    text = data.decode("utf-8", "replace").replace("\0", "")
    what = "bytes that are not text were replaced"
    if services.layout.surface_of(name) is Surface.HANDOFF:
        known = (*data_loss.open_work(services), *handoffs.salvaged(text))
        entries = handoffs.newest({work.session: work for work in known}.values())
        text = services.gate.admit(handoff.render(entries), surface=Surface.HANDOFF, name=name)
        what = f"it has {len(entries)} open from its whole entries and the last receipts"
    durable.replace(path, text.encode())
    return f"{name} can be read again: {what}. The damaged file is {aside}"


def _keep(services: Services, folder: str, name: str, data: bytes) -> str:
    """Keep a copy in the private folder. Returns its place. Raises: Unavailable."""
    file = f"{name.replace('/', '~')}.{'damaged-' if folder == 'damaged' else ''}{crc32(data):08x}"
    durable.replace(os.path.join(private.make(services.state, folder), file), data)
    return f"state/{folder}/{file}"


def unmerged(services: Services, *, repair: bool) -> Iterator[Check]:
    """Documents and facts that a git merge left in two versions, or that were cut. Raises: Corrupt when a side of the
    handoff cannot be read; Refused; Unavailable."""
    for name in services.store.names():
        try:
            document = services.store.read(name)
        except Corrupt:
            continue  # the check of documents reports it
        problem = conflicts.described(name, document.text) if document else ""
        surface = services.layout.surface_of(name)
        if not problem or document is None:
            continue
        if surface is None or surface not in (*_GROWING, Surface.HANDOFF):
            yield fail(problem, f"{conflicts.BY_HAND}.")
        elif not repair:
            yield fail(problem, f"{conflicts.BY_HAND}, or run `holdfast doctor --fix`, which keeps both sides.")
        else:
            _keep(services, "conflicts", name, document.text.encode())
            text = threeway.merge("", *conflicts.sides(document.text), name)
            text = services.gate.admit(text, surface=surface, name=name, previous=document.text)
            services.store.replace(surface, name, text, document.revision)
            yield repaired(f"{name} now has both sides of the merge, and a backup was kept")
    condition = Condition() if services.is_remote else services.store.backend.check(thorough=True)
    if condition.damage is not None and not repair:
        yield fail(condition.damage.message, condition.damage.next_step)
    elif condition.damage is not None:
        name = services.config.storage.facts
        _keep(services, "conflicts", name, condition.damage.data)
        again = facts_again(services)
        what = f"{name} can be read again, and a backup was kept. Stated facts put back: {again}"
        yield _in_part(f"{what}. Gone: {condition.lost - again}") if condition.lost > again else repaired(what)


def facts_again(services: Services) -> int:
    """Repair the facts, and store again those stated in payloads and not removed since. Returns how many are new."""
    backend = services.store.backend
    backend.repair()
    Rejected(services).add_pulled(services)
    before = len(list(backend.facts()))
    services.facts.restore(data_loss.flushes(services))
    return len(list(backend.facts())) - before


def _in_part(message: str) -> Check:
    return fail(f"{message}.", "Restore it from a copy or from git, or let it be flushed again.")


def mend(services: Services, losses: Sequence[Loss]) -> Iterator[Check]:
    """Repair as much as possible. ``losses`` come from :func:`holdfast_app.data_loss.every`. Raises only the
    store's errors. Repairs made until then stay."""
    for loss in losses:
        try:
            yield _MENDERS.get(loss.kind, _document)(services, loss)
        except HoldfastError as error:
            yield _in_part(f"{loss.message} It cannot be written: {error.message}")
    flushes = {loss.receipt.flush_id for loss in losses if loss.kind == "block" and loss.receipt is not None}
    if flushes and (number := data_loss.handoff_again(services, flushes=flushes)):
        yield repaired(f"Open work of these flushes is in the handoff again: {number}")


def _facts(services: Services, loss: Loss) -> Check:
    again = facts_again(services)
    number = f"{again:,} stated fact{' is' if again == 1 else 's are'} stored again"
    return repaired(f"{loss.message} {number}; the store is accepted as it is")


def _waiting(services: Services, loss: Loss) -> Check:
    put_back = services.outbox.restore(data_loss.flushes(services))
    durable_queue.accept(services.private(private.OUTBOX))
    return repaired(f"{loss.message} {put_back} handed to the forges again")


def _spooled(services: Services, loss: Loss) -> Check:
    """Keep again the flushes that no server has, from the journals."""
    again, aside = services.spool.restore(data_loss.unshipped(services))
    durable_queue.accept(services.private(private.SPOOL))
    damaged = f"; damaged lines moved to state/spool.damaged-*: {aside}" if aside else ""
    return repaired(f"{loss.message} Flushes kept again from the journals: {again}{damaged}")


def _lines(services: Services, loss: Loss) -> Check:
    durable_queue.accept(services.private(loss.name.rpartition("/")[2]))
    return repaired(f"{loss.message} The remaining lines were accepted")


def _unproved(services: Services, loss: Loss) -> Check:
    services.store.provenance.delete(loss.name)
    return repaired(f"{loss.message} No journal holds its text, so it was recorded as deleted")


def _journal(services: Services, loss: Loss) -> Check:
    stem = loss.name.rpartition("/")[2].removesuffix(".jsonl")
    if file_stem(stem) == stem:
        rewriting.repair(Journal(services.state, stem))
    else:  # the session's id is unknown
        durable.remove(services.private("sessions", f"{stem}.hint"))
    return repaired(f"{loss.name} was restarted. Turns since the session's last flush are lost")


def _packed(services: Services, loss: Loss) -> Check:
    packs.accept(services.state)
    return _in_part(f"{loss.name} continues with the sessions that are still in it")


def _block(services: Services, loss: Loss) -> Check:
    receipt = loss.receipt
    if receipt is None or not receipt.summary:
        return _in_part(f"{loss.message} The journal does not hold its text")
    block, header = notes.of_receipt(receipt), notes.header(receipt.at.date())
    surface, block_id = Surface.DAILY, receipt.flush_id
    if loss.written is not None and loss.written.surface == Surface.TRAIL:
        surface, block_id = Surface.TRAIL, block_id.partition("-")[0]
        block, header = _trail(services, receipt, block, block_id), notes.summary_header(receipt.at.date())
    block = services.gate.admit(block, surface=surface, name=loss.name)
    services.store.append(surface, loss.name, block, header, block_id)
    return repaired(f"{block_id} of session {receipt.session_id} is in {loss.name} again")


def _trail(services: Services, receipt: Receipt, note: str, block_id: str) -> str:
    """The daily summary's block, from that of the daily note."""
    [block] = blocks(note)
    stated = []
    for kind, _, rest in (item.partition(" of ") for item in block.items("State")):
        target, _, summary = rest.partition(": ")
        stated.append(StateMutation(kind=kind, target=target, summary=summary))
    payload, name = Payload(state_mutations=stated), services.layout.name(Surface.DAILY, receipt.at.date())
    return notes.summary_block(payload, block_id=block_id, flush_id=receipt.flush_id, note=name, at=receipt.at)


def _document(services: Services, loss: Loss) -> Check:
    """A whole document, the handoff or a curated one."""
    surface = loss.written.surface if loss.written is not None else ""
    if surface == Surface.HANDOFF:
        number = data_loss.handoff_again(services) or "nothing"
        return repaired(f"{loss.name} is rebuilt from the last receipts, with {number} open")
    if surface not in curated.TITLES:
        return _in_part(f"{loss.message} No journal holds its text")
    stated = [payload.curated for _, payload in data_loss.flushes(services) if payload.curated is not None]
    decided = [entry for lines in stated for entry in (lines.memory if surface == Surface.MEMORY else lines.user)]
    if not decided:
        return _in_part(f"{loss.message} No journal holds its lines")
    new = curated.apply(None, decided, surface)
    text = services.gate.admit(new, surface=Surface(surface), name=loss.name)
    services.store.change(surface, loss.name, lambda there: there or text)
    lines = count(sum(1 for _ in curated.bullets(text)), "decided line")
    return repaired(f"{loss.name} is rebuilt with {lines}. Other lines are lost")


_MENDERS: Mapping[str, Callable[[Services, Loss], Check]] = {
    "facts": _facts,
    "waiting": _waiting,
    "spooled": _spooled,
    "lines": _lines,
    "unproved": _unproved,
    # A document that could be repaired is repaired by now.
    "damaged": lambda _, loss: fail(loss.message, loss.next_step),
    "journal": _journal,
    "packed": _packed,
    "block": _block,
}
