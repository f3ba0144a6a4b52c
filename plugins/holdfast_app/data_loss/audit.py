"""The full check for missing data, and the receipts and flushes of all journals, which `doctor` restores it from."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from datetime import UTC
from typing import TYPE_CHECKING, Any, TypeVar

from holdfast.config.layout import Surface
from holdfast.config.serde import flushed_payload, receipt_from, stamp
from holdfast.errors import Corrupt
from holdfast.flush import handoff, notes, work_log
from holdfast.flush.interfaces import Loss
from holdfast.journal.journal import Journal, session_files, session_id_of
from holdfast_app.data_loss import losses

if TYPE_CHECKING:
    from datetime import datetime

    from holdfast.models import Payload, Receipt
    from holdfast_app.base import Services

_T = TypeVar("_T")


def every(services: Services) -> list[Loss]:
    """A full check of every receipt's proof in every journal, and of documents without a receipt. An unreadable journal
    is skipped."""
    journals = session_files(services.state, missing=True)
    unproved = list(losses.unproved(services, receipts(services)))
    others = _created(services, {loss.name for loss in unproved})
    return [*losses.journals(services, journals), *losses.facts(services), *losses.lists(services), *unproved, *others]


def here(services: Services) -> list[Loss]:
    """The missing journals and lines of lists on this machine, without a request to the store."""
    journals = session_files(services.state, missing=True)
    return [*losses.journals(services, journals), *losses.lists(services)]


def _created(services: Services, named: Container[str]) -> Iterator[Loss]:
    """Missing documents without a receipt that holdfast created here: diaries, reports, summaries."""
    created = services.store.provenance.stored()
    there = set(services.store.names()) if created else ()
    for name in created:
        if name not in there and name not in named and services.layout.surface_of(name) is not None:
            step = "Restore it from a copy or from git. `holdfast doctor --fix` accepts it as deleted."
            yield Loss(kind="unproved", name=name, message=f"{name} is missing.", next_step=step)


def receipts(services: Services) -> list[Receipt]:
    """All receipts that journals hold, each once. Raises: Unavailable."""
    found = map(receipt_from, (record["receipt"] for record in _checkpoints(services)))
    return list({receipt.flush_id: receipt for receipt in found}.values())


def _checkpoints(services: Services) -> Iterator[dict[str, Any]]:
    """The checkpoints with a receipt, of every journal as far as it can be read."""
    for path in session_files(services.state):
        session_id = session_id_of(path)
        if session_id is None:
            continue
        try:
            for entry in Journal(services.state, session_id).entries():
                if entry.record["kind"] in ("checkpoint", "shipped") and entry.record.get("receipt"):
                    yield entry.record
        except Corrupt:
            continue  # the check of journals reports it


def flushes(services: Services) -> list[tuple[Receipt, Payload]]:
    """The flushes whose receipt and payload the journals hold, oldest first. Raises: Unavailable."""
    found: dict[str, tuple[Receipt, Payload]] = {}
    for record in _checkpoints(services):
        receipt = receipt_from(record["receipt"])
        if record.get("flush") and receipt.summary != notes.PURGED:
            found[receipt.flush_id] = receipt, flushed_payload(record["flush"])
    return _oldest_first(found.values())


def _oldest_first(pairs: Iterable[tuple[Receipt, _T]]) -> list[tuple[Receipt, _T]]:
    """Flushes by time, those of one session as their journal has them, because its clock may have gone back."""
    reached: dict[str, datetime] = {}
    times: dict[str, datetime] = {}
    found = list(pairs)
    for receipt, _ in found:
        times[receipt.flush_id] = reached[receipt.session_id] = max(
            receipt.at, reached.get(receipt.session_id, receipt.at)
        )
    return sorted(found, key=lambda pair: times[pair[0].flush_id])


def last_receipts(services: Services) -> list[Receipt]:
    """The last receipt of each session. Raises: Unavailable."""
    found = (losses.last_receipt(services, path) for path in session_files(services.state))
    return [receipt for receipt in found if receipt is not None]


def open_work(services: Services) -> list[handoff.Work]:
    """The open work of every session whose last flush left some open."""
    entries: list[handoff.Work] = []
    payloads = {receipt.flush_id: payload for receipt, payload in flushes(services)}
    for receipt in sorted(last_receipts(services), key=lambda r: r.at, reverse=True):
        decided = work_log.of_flush(services.state, receipt.session_id, receipt.flush_id)
        if decided is not None and decided.open and decided.work is not None:
            entries.append(handoff.reopened(decided.work, decided.because))
            continue
        payload = payloads.get(receipt.flush_id)
        if decided is not None or payload is None or not any(w.surface == Surface.HANDOFF for w in receipt.written):
            continue
        note, at = services.layout.name(Surface.DAILY, receipt.at.date()), stamp(receipt.at.astimezone(UTC))
        work = handoff.of(payload, session=receipt.session_id, flush=receipt.flush_id, note=note, at=at)
        entries += [work] if work.is_open else []
    return entries


def unshipped(services: Services) -> list[tuple[Receipt, dict[str, Any]]]:
    """The flushes that a server has not taken, by the journals: receipt and the journal's record, oldest first. Raises:
    Unavailable."""
    found: dict[str, tuple[Receipt, dict[str, Any]]] = {}
    gone: set[str] = set()
    for record in _checkpoints(services):
        receipt = receipt_from(record["receipt"])
        if not receipt.spooled:
            gone.add(receipt.flush_id.partition("-")[0])
        elif record.get("flush") and receipt.summary != notes.PURGED:
            found[receipt.flush_id] = receipt, record["flush"]
    return _oldest_first(pair for key, pair in found.items() if key not in gone)


def rebuilt(receipt: Receipt) -> str:
    """The daily note's block as originally written, from the receipt, without an operator's override."""
    return notes.of_receipt(receipt)
