"""Writes kept flushes to the store's server, in order, each exactly as its flush would have written it.

Every step is idempotent by the flush's id: blocks, the handoff entry, curated lines, published comments and stated
facts. A process killed at any point leaves the flush in the spool, and the next one completes it.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from attrs import evolve

from holdfast.config.serde import flushed_payload, stamp, unstructure
from holdfast.errors import FlushRefused, HoldfastError, Unavailable
from holdfast.flush import notes, verify
from holdfast.flush.apply import Documents
from holdfast.journal.journal import Journal
from holdfast.storage import deadline
from holdfast.text.lazy import log
from holdfast_app.facts.flushing import FlushedFacts
from holdfast_app.spool.kept import FILE, Kept, Spool

if TYPE_CHECKING:
    from holdfast.models import Payload, Receipt
    from holdfast_app.base import Services

logger = log(__name__)

#: Seconds that a flush gives the server before it is kept on this machine. Clients wait about 50 s for all of it.
PATIENCE_S: Final = 12.0
#: Journal record for a kept flush that is on the server now.
SHIPPED: Final = "shipped"


class Shipped(NamedTuple):
    """``written`` are on the server now, ``left`` still wait, both in order. ``down`` is the server's error when it did
    not answer."""

    written: tuple[Kept, ...] = ()
    left: tuple[Kept, ...] = ()
    down: HoldfastError | None = None


def keep(services: Services, receipt: Receipt, flushed: dict[str, Any], why: HoldfastError | None) -> None:
    """Put a flush into the spool, durably. ``why`` is the server's error. Raises: FlushRefused."""
    kept = Kept(
        id=receipt.flush_id,
        session=receipt.session_id,
        at=receipt.at,
        server=receipt.spooled,
        receipt=receipt,
        flushed=flushed,
        error=why.message if why else "",
        next_step=why.next_step if why else "",
    )
    try:
        Spool(services.state).put([kept], replace=True)
    except Unavailable as error:
        message = f"{kept.error} The flush could not be kept on this machine either: {error.message} Context is kept."
        raise FlushRefused(message.lstrip(), next_step=error.next_step, target="spool") from error


def ship_before(services: Services, last: Receipt | None, flushed: dict[str, Any] | None) -> Shipped:
    """:func:`ship`, before a flush of a session with the last flush ``last``, which is kept again first if it waited
    and the spool has lost it. Raises: FlushRefused when it cannot be kept again; Unavailable."""
    waited = last is not None and last.spooled and last.summary != notes.PURGED
    if last is not None and flushed and waited and not services.spool.waits_for(last):
        keep(services, last, flushed, None)
    return ship(services, limit_s=PATIENCE_S)


def ship(services: Services, *, limit_s: float) -> Shipped:
    """Write kept flushes to the server for ``limit_s`` seconds at most. Never raises.

    It stops at the first flush that the server does not take now. A flush that fails for another reason
    keeps the later ones of its session back, not those of other sessions.
    """
    if not services.waits(FILE):
        return Shipped()
    spool, ends = Spool(services.state), time.monotonic() + limit_s
    try:
        with spool.sending(timeout_s=limit_s):
            return _all(services, spool, ends)
    except HoldfastError as error:
        logger.warning("kept flushes could not be written: %s", error.message)
        try:
            return Shipped(left=tuple(spool.items()), down=error)
        except HoldfastError:
            return Shipped(down=error)


def _all(services: Services, spool: Spool, ends: float) -> Shipped:
    written: list[Kept] = []
    held: set[str] = set()
    down: HoldfastError | None = None
    with deadline(max(0.1, ends - time.monotonic())):
        for one in spool.items():
            if one.is_damaged or one.session in held:
                continue
            if time.monotonic() >= ends:
                down = Unavailable(f"{services.spool.server} is slow, so kept flushes still wait.")
                break
            try:
                ship_one(services, one)
            except HoldfastError as error:
                logger.warning("the kept flush %s could not be written: %s", one.id, error.message)
                spool.failed(one, error.message, error.next_step)
                held.add(one.session)
                if isinstance(error, Unavailable):
                    down = error
                    break
            else:
                spool.remove([one.id])
                written.append(one)
    return Shipped(tuple(written), tuple(spool.items()), down)


def ship_one(services: Services, one: Kept) -> None:
    """Write one kept flush to the store, publish it, and record its receipt in the journal. Raises: Conflict, Corrupt,
    Unavailable, Refused, PluginError, FlushRefused."""
    assert one.receipt is not None
    services.plugins.require_all()
    payload = flushed_payload(one.flushed)
    receipt = _written(services, one.receipt, one.flushed, payload)
    receipt = verify.publish(services, payload, receipt)
    unstored = FlushedFacts(services).state(payload, session=one.session, flush=one.id, at=receipt.at)
    receipt = evolve(receipt, warnings=(*receipt.warnings, *unstored))
    journal = Journal(services.state, one.session)
    if journal.exists():
        record = {"kind": SHIPPED, "at": stamp(services.now()), "receipt": unstructure(receipt)}
        try:
            journal.append(record)
        except HoldfastError as error:  # the flush is stored; only its proof is not recorded
            logger.warning("a receipt could not be journalled: %s", error.message)


def _written(services: Services, receipt: Receipt, flushed: dict[str, Any], payload: Payload) -> Receipt:
    documents = Documents(services=services, session_id=receipt.session_id, is_later=True)
    at = receipt.at.astimezone(services.config.tz)
    documents.read_ahead(at)
    overrides = tuple(flushed.get("overrides", ()))
    flush_id = documents.write(
        payload,
        receipt.flush_id,
        at,
        lambda block_id: notes.of_receipt(evolve(receipt, flush_id=block_id), at=at, overrides=overrides),
        agent=str(flushed.get("agent", "")),
    )
    warnings = (*receipt.warnings, *documents.warnings)
    return evolve(receipt, flush_id=flush_id, written=documents.written, warnings=warnings, spooled="")
