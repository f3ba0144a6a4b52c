"""Missing acknowledged data (deleted or cut notes, documents, journals and facts).

Receipts name the documents that a flush wrote, ``state/stored`` all documents created here (only ``doctor`` reads it).
Marks record each journal's length and the number of facts. Data removed by a purge, a scrub or retention
is not missing, because they record the document in ``state/forgotten.json``. Curated documents may be edited, so only
missing ones count. Notes only grow, so missing blocks count, too.
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, NamedTuple

from holdfast import models
from holdfast.config.layout import Surface
from holdfast.config.serde import flushed_payload, receipt_from
from holdfast.errors import Corrupt, HoldfastError
from holdfast.flush import handoff, notes
from holdfast.fs import checkout, durable, paths, private
from holdfast.journal import emergency_log
from holdfast.journal.journal import file_stem
from holdfast.storage import Capability, block_marker, sha256
from holdfast.text.humanize import count
from holdfast_app import durable_queue
from holdfast_app.base import Services
from holdfast_app.journal import chain, journal, past
from holdfast_app.journal.journal import Journal, session_files, session_id_of
from holdfast_app.project_settings.statefolder import INDEX_SEEN, TRACKED
from holdfast_app.records import handoffs, journals, json_file, packs, work_log
from holdfast_app.records.blocks import blocks
from holdfast_app.trust import statefolders
from holdfast_file import conflicts

FORGOTTEN = "forgotten.json"
#: Number of journals whose last receipt a quick look checks, the newest first.
_NEWEST = 3
_NEVER = datetime.min.replace(tzinfo=UTC)
#: The counted lists, with the loss kind and the noun for one line.
LISTS = {
    private.OUTBOX: ("waiting", "waiting comment"),
    private.SPOOL: ("spooled", "kept flush"),
    "extract.jsonl": ("lines", "waiting turn"),
    "facts.log.jsonl": ("lines", "line"),
    "dreams.jsonl": ("lines", "line"),
}
_LIST_STEP = (
    "Restore the file from a copy, or run `holdfast doctor --fix`: it restores the journals' contents and accepts the "
    "rest as it is."
)
#: A put-aside folder's name. It has no word of more than seven letters, and no space.
_NAMED = frozenset("state.foreign-0123456789abcdefTZ")
_BLOCKS = (Surface.DAILY, Surface.TRAIL)
_DOCUMENTS = (*_BLOCKS, Surface.HANDOFF, Surface.MEMORY, Surface.USER)


class Loss(NamedTuple):
    """Stored data that is missing. ``kind`` is journal, block, document, unproved (a document without a
    receipt), facts, waiting, lines, damaged or apart (private state that nothing reads); ``name`` its document or file.
    ``receipt`` and ``written`` are the proof that it was stored, for blocks and documents."""

    kind: str
    name: str
    message: str
    next_step: str = (
        "Restore it from a copy or from git, or run `holdfast doctor --fix`: it writes the journals' contents again."
    )
    receipt: models.Receipt | None = None
    written: models.Written | None = None


def apart(root: str, state: str) -> list[Loss]:
    """Private state that nothing reads, or that git tracks; empty when there is none. Such a project is never safe."""
    losses = []
    lines = (private.read(os.path.join(state, INDEX_SEEN)) or b"").split(b"\n")
    if tracked := sum(line.startswith(TRACKED.encode()) for line in lines):  # when git's index was last read
        message = f"Git tracks {count(tracked, 'name')} in the private folder, so a commit would publish its files."
        step = f"Run `git rm -r --cached {os.path.relpath(state, root).replace(os.sep, '/')}`, and commit that."
        losses = [Loss(kind="apart", name="", message=message, next_step=step)]
    folders = statefolders.apart(root, state)
    if is_gone(state, folders):
        message = (
            "The private folder is gone, or its journals, with every turn that no flush had saved. Git removes it"
            " when told to clean ignored files, or when a commit that is checked out has a file in its place."
        )
        step = "Restore the folder from a copy, or accept the loss with `holdfast trust --adopt-state`."
        losses.append(Loss(kind="apart", name="", message=message, next_step=step))
    if not folders:
        return losses
    folder, name = os.path.split(os.path.relpath(folders[-1], root).replace(os.sep, "/"))
    if set(name) - _NAMED:  # a clone can choose it, and agents read this
        name = "..."
    more = f" and {len(folders) - 1} more" if len(folders) > 1 else ""
    message = (
        f"State of another user, machine or layout, or of a copied project, was put aside (`{folder}/{name}`{more});"
        " unflushed work may be in it."
    )
    step = "`holdfast trust --adopt-state` shows and adopts it. Remove the folder if you do not need it."
    return [*losses, Loss(kind="apart", name="", message=message, next_step=step)]


def is_gone(state: str, aside: Iterable[str]) -> bool:
    """Whether this checkout's private folder was removed, or every journal in it, and not by a call."""
    if checkout.is_lost(state, aside):
        return True
    begun = os.path.exists(os.path.join(state, emergency_log.FILE)) and not session_files(state, packed=True)
    return begun and any(head.chain != chain.GONE for head in chain.heads(state).values())


def newest(
    services: Services,
    contents: Mapping[str, str | None] | None = None,
    receipts: Iterable[models.Receipt] | None = None,
) -> list[Loss]:
    """A quick check at each session start for missing journals and facts, and of the newest receipts' proof.

    ``contents`` maps names to documents that the caller has just read, so they are not reread. ``receipts`` come from
    :func:`newest_receipts`. The time does not depend on the size of notes and journals. Raises: Corrupt; Unavailable.
    """
    last = newest_receipts(services) if receipts is None else receipts
    return [*lost_journals(services), *lost_facts(services), *lost_lines(services), *unproved(services, last, contents)]


def newest_receipts(services: Services) -> list[models.Receipt]:
    paths = journals.by_age(services.state)[-_NEWEST:]
    return [receipt for path in paths if (receipt := last_receipt(services, path)) is not None]


def documents(services: Services, receipts: Iterable[models.Receipt]) -> list[str]:
    return [written.name for receipt in receipts for written in receipt.written if _proves(services, receipt, written)]


def last_receipt(services: Services, path: str) -> models.Receipt | None:
    """The journal's last receipt. None also for an unreadable journal, which the session's own check reports."""
    try:
        session_id = session_id_of(path)
        checkpoint = Journal(services.state, session_id).last_checkpoint() if session_id else None
        return receipt_from(checkpoint.record["receipt"]) if checkpoint and checkpoint.record.get("receipt") else None
    except HoldfastError:
        return None


def note_forgotten(services: Services, name: str) -> None:
    """Note that a purge, a scrub or retention has changed the document ``name``, so earlier receipts no longer prove
    its content. The name itself is not kept. Raises: Unavailable."""
    private.make(services.state)
    json_file.save(services.private(FORGOTTEN), {**_forgotten(services), _key(name): services.now()})


def rewrite(path: str, data: bytes | None) -> None:
    """Write a file changed by a purge, a scrub or retention; None removes it. Counted lines that this removes
    are not reported as missing. The caller holds the file's lock. Raises: Unavailable."""
    if path != (mark := durable_queue.path_of(path)) and os.path.lexists(mark):
        durable_queue.replace(path, data or b"")
    elif data is None:
        durable.remove(path)
    else:
        durable.replace(path, data)


def _forgotten(services: Services) -> dict[str, datetime]:
    return json_file.load_if_readable(services.private(FORGOTTEN), dict[str, datetime]) or {}


def _key(name: str) -> str:
    return sha256(name)[:32]


def lost_journals(services: Services) -> Iterator[Loss]:
    """Missing journals. A truncated journal cannot be read, so its session is UNSAFE anyway."""
    folder = services.private("sessions")
    there = set(private.names(folder))
    for stem in sorted(name.removesuffix(".hint") for name in there if name.endswith(".hint")):
        path = os.path.join(folder, f"{stem}.jsonl")
        if f"{stem}.jsonl" in there or past.find(services.state, stem) is not None:
            continue
        name = f"state/sessions/{stem}.jsonl"
        message, kind = f"{paths.ending(path, 4)} is missing.", "journal"
        step = (
            "Restore the file from a copy, or run `holdfast doctor --fix` to continue without this session's "
            "messages since its last flush."
        )
        for other in there:  # a journal with another name is not lost
            if other.endswith(".jsonl") and file_stem(session_id_of(os.path.join(folder, other)) or ".") == stem:
                step, kind = f"Rename {other} to {stem}.jsonl.", "damaged"
        yield Loss(kind=kind, name=name, message=message, next_step=step)
    for pack in packs.damaged(services.state):
        step = "Restore the file from a copy, or run `holdfast doctor --fix` to continue without its ended sessions."
        name = f"state/{past.FOLDER}/{pack}"
        yield Loss(kind="packed", name=name, message=f"{name} is missing or was cut.", next_step=step)


def facts_name(services: Services) -> str:
    backend = services.store.backend
    return services.config.storage.facts if Capability.LOCAL_FILES in backend.capabilities else backend.where("facts")


def lost_facts(services: Services) -> Iterator[Loss]:
    backend, name = services.store.backend, facts_name(services)
    try:
        count = 0 if services.is_remote else backend.check().lost
    except Corrupt as error:
        yield Loss(kind="damaged", name=name, message=error.message, next_step=error.next_step)
        return
    if count:
        message = f"{count:,} stored fact{' is' if count == 1 else 's are'} missing from {name}."
        yield Loss(kind="facts", name=name, message=message, next_step=_LIST_STEP)


def lost_lines(services: Services) -> Iterator[Loss]:
    """Lines missing from lists that only grow, or that only a call shortens."""
    for file, (kind, what) in LISTS.items():
        if count := durable_queue.missing(services.private(file)):
            number = f"{count:,} {what} is" if count == 1 else f"{count:,} {what}s are"
            message = f"{number} missing from {paths.ending(services.private(file), 3)}."
            yield Loss(kind=kind, name=f"state/{file}", message=message, next_step=_LIST_STEP)
    if not services.waits(private.SPOOL):
        return
    for flush in services.spool.items():
        if flush.is_damaged:
            yield Loss(kind="spooled", name="state/spool.jsonl", message=flush.error, next_step=flush.next_step)


def unproved(
    services: Services, receipts: Iterable[models.Receipt], known: Mapping[str, str | None] | None = None
) -> Iterator[Loss]:
    """The receipts' missing content, with one loss per document or block."""
    forgotten = _forgotten(services)
    contents = dict(known or {})
    messages: set[str] = set()
    receipts = sorted(receipts, key=lambda r: r.at)
    digests = {written.sha256 for receipt in receipts for written in receipt.written}
    for receipt in receipts:
        for written in receipt.written if receipt.summary != notes.PURGED else ():
            name = written.name
            if not _proves(services, receipt, written) or receipt.at <= forgotten.get(_key(name), _NEVER):
                continue
            loss = _lost(services, receipt, written, contents, digests)
            if loss is not None and loss.message not in messages:
                messages.add(loss.message)
                yield loss._replace(next_step=_way_back(services, name) + loss.next_step)


def _way_back(services: Services, name: str) -> str:
    """The advice where the missing document's data may be in a local store of another backend."""
    storage = services.config.storage
    other, file = ("sqlite", "holdfast.db") if storage.backend == "file" else ("file", name)
    step = f"If the {other} store, which is here, was in use: `holdfast config storage.backend {other}`. Otherwise: "
    return step if os.path.exists(os.path.join(services.root, storage.path, file)) else ""


def _lost(
    services: Services,
    receipt: models.Receipt,
    written: models.Written,
    contents: dict[str, str | None],
    digests: Container[str],
) -> Loss | None:
    """The content proved by ``receipt`` that a document lacks. ``contents`` are the documents read so far. A handoff
    with one of the ``digests`` is whole, and need not be parsed, which takes long at a start."""
    name = written.name
    try:
        if name not in contents:
            document = services.store.read(name)
            contents[name] = document.text if document else None
        text = contents[name]
        if written.surface == Surface.HANDOFF and text and sha256(text) not in digests and not conflicts.find(text):
            handoff.parse(text, name)
    except Corrupt as error:
        return Loss(kind="damaged", name=name, message=error.message, next_step=error.next_step)
    if written.surface not in _BLOCKS:
        message = f"{name} is {'missing' if text is None else 'empty'}."
        return None if text else Loss(kind="document", name=name, message=message, receipt=receipt, written=written)
    is_trail = written.surface == Surface.TRAIL
    block = receipt.flush_id.partition("-")[0] if is_trail else receipt.flush_id
    if text is not None and block_marker(block) in text and _filled(text).get(block, True):
        return None  # its text may have been edited
    what = f"The {'state changes' if is_trail else 'block'} {block} of session {receipt.session_id}"
    message = f"{what} {'are' if is_trail else 'is'} missing from {name}."
    return Loss(kind="block", name=name, message=message, receipt=receipt, written=written)


def _proves(services: Services, receipt: models.Receipt, written: models.Written) -> bool:
    """Whether the document must still exist. The layout may have been changed since."""
    if written.surface not in _DOCUMENTS:
        return False
    day = receipt.at.date() if written.surface in _BLOCKS else None
    return written.name == services.layout.name(Surface(written.surface), day)


@lru_cache(maxsize=4)  # a day's note proves all of its receipts, and is long
def _filled(text: str) -> Mapping[str, bool]:
    """Whether each block of a note has content, by id."""
    return {
        block.id: any(line.strip() and not line.startswith(("<!--", "## ")) for line in block.text.split("\n"))
        for block in blocks(text)
    }


def every(services: Services) -> list[Loss]:
    """A full check of every receipt's proof and of documents without one. An unreadable journal is skipped."""
    lost = list(unproved(services, (receipt for receipt, _ in proofs(services))))
    others = _created(services, {loss.name for loss in lost})
    losses = [*lost_journals(services), *lost_facts(services), *lost_lines(services), *lost, *others]
    return [*{loss.message: loss for loss in losses}.values()]  # a folder that is not one may have held many documents


def here(services: Services) -> list[Loss]:
    """The missing journals and lines of lists on this machine, without a request to the store."""
    return [*lost_journals(services), *lost_lines(services)]


def _created(services: Services, named: Container[str]) -> Iterator[Loss]:
    """Missing documents without a receipt that holdfast created here: diaries, reports, summaries."""
    created = services.store.provenance.stored()
    there = set(services.store.names()) if created else ()
    in_files = Capability.LOCAL_FILES in services.store.backend.capabilities
    place = durable.StoreFolder(services.root, services.config.storage.path)
    for name in created:
        if name not in there and name not in named and services.layout.surface_of(name) is not None:
            step = "Restore it from a copy or from git. `holdfast doctor --fix` accepts it as deleted."
            loss = Loss(kind="unproved", name=name, message=f"{name} is missing.", next_step=step)
            try:
                if in_files:
                    place.check_folders(name)
            except Corrupt as error:  # its documents may be sound elsewhere
                loss = Loss(kind="damaged", name=name, message=error.message, next_step=error.next_step)
            yield loss


def proofs(services: Services) -> list[tuple[models.Receipt, dict[str, Any] | None]]:
    """All receipts that journals hold, each once with its session's record of the flush. Raises: Unavailable."""
    by_flush: dict[str, dict[str, Any]] = {}
    for each in journal.every(services.state, packed=True):
        with suppress(Corrupt):  # the check of journals reports it
            for record in (entry.record for entry in each.of_kinds("checkpoint", "shipped")):
                if receipt := record.get("receipt"):  # of a shipped flush the second one, whose record has no flush
                    by_flush[receipt["flush_id"]] = by_flush.get(receipt["flush_id"], {}) | record
    return [(receipt_from(record["receipt"]), record.get("flush") or None) for record in by_flush.values()]


def flushes(services: Services) -> list[tuple[models.Receipt, models.Payload]]:
    """The flushes whose receipt and payload the journals hold, oldest first. Raises: Unavailable."""
    return [(receipt, flushed_payload(flush)) for receipt, flush in _oldest_first(proofs(services))]


def _oldest_first(
    recorded: Iterable[tuple[models.Receipt, dict[str, Any] | None]],
) -> list[tuple[models.Receipt, dict[str, Any]]]:
    """The recorded flushes that were not purged, by time; those of one session as their journal has them, because its
    clock may have gone back."""
    reached: dict[str, datetime] = {}
    timed: list[tuple[datetime, models.Receipt, dict[str, Any]]] = []
    for receipt, flush in recorded:
        if flush and receipt.summary != notes.PURGED:
            reached[receipt.session_id] = max(receipt.at, reached.get(receipt.session_id, receipt.at))
            timed.append((reached[receipt.session_id], receipt, flush))
    return [(receipt, flush) for _, receipt, flush in sorted(timed, key=lambda row: row[0])]


def open_work(services: Services) -> list[handoff.Work]:
    """The open work of every session whose last flush left some open."""
    entries: list[handoff.Work] = []
    payloads = {receipt.flush_id: payload for receipt, payload in flushes(services)}
    receipts = (last_receipt(services, path) for path in session_files(services.state, packed=True))
    for receipt in sorted(filter(None, receipts), key=lambda r: r.at, reverse=True):
        decided = work_log.of_flush(services.state, receipt.session_id, receipt.flush_id)
        if decided is not None and decided.open and decided.work is not None:
            entries.append(handoffs.reopened(decided.work, decided.because))
            continue
        payload = payloads.get(receipt.flush_id)
        if decided is not None or payload is None or not any(w.surface == Surface.HANDOFF for w in receipt.written):
            continue
        work = handoffs.entry(receipt, payload)
        entries += [work] if work.is_open else []
    return entries


def handoff_again(services: Services, *, but: str = "", flushes: Container[str] | None = None) -> int:
    """Put the open work that the handoff lacks into it again: of these ``flushes``, or of every session ``but`` one,
    whose flush writes it. Returns its number. Raises: Refused, PluginError; Corrupt; Unavailable."""
    name, absent = services.layout.name(Surface.HANDOFF), list[handoff.Work]()
    entries = [w for w in open_work(services) if w.session != but and (flushes is None or w.flush in flushes)]

    def completed(text: str | None) -> str:
        there = handoff.parse(text, name) if text else ()
        known = {work.session for work in there}
        absent[:] = [work for work in entries if work.session not in known]
        whole = handoff.render(handoffs.newest([*there, *absent]))
        return services.gate.admit(whole, surface=Surface.HANDOFF, name=name) if absent or not text else text

    services.store.change(Surface.HANDOFF, name, completed)
    return len(absent)


def unshipped(services: Services) -> list[tuple[models.Receipt, dict[str, Any]]]:
    """The flushes that no server has taken, oldest first, with the journal's record. Raises: Unavailable."""
    recorded = proofs(services)
    stored = {receipt.flush_id.partition("-")[0] for receipt, _ in recorded if not receipt.spooled}
    return _oldest_first(pair for pair in recorded if pair[0].flush_id not in stored)
