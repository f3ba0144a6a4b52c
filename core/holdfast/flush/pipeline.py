"""The flush, which makes a session durable, and the only source of receipts. Five steps, one file each:

    plan -> check -> apply -> verify -> record

The UNSAFE marker is on disk before the first step. A failure leaves it, keeps the context and raises
:class:`~holdfast.errors.FlushRefused`. A retry completes the flush that the marker holds, so no block is written twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from attrs import evolve

from holdfast.config.serde import stamp
from holdfast.errors import FlushRefused, HoldfastError, NothingToFlush, Unavailable
from holdfast.flush import contract, plan, record, refused_payloads, verify
from holdfast.flush.apply import Documents
from holdfast.flush.check import check
from holdfast.flush.plan import Attempt
from holdfast.fs import durable, private
from holdfast.journal import order, safety
from holdfast.journal.safety import Stated
from holdfast.models import payload_of
from holdfast.text import lazy

if TYPE_CHECKING:
    from holdfast.flush.context import Context
    from holdfast.models import Payload, Receipt
    from holdfast.services.interfaces import Spool
    from holdfast.services.services import Services

logger = lazy.log(__name__)

REASONS = ("compaction", "end", "handoff", "switch", "manual", "trim", "overflow", "daily")


def flush(
    services: Services,
    session: Context,
    payload: Payload | Mapping[str, Any] | None,
    *,
    reason: str,
    on_summary: Callable[[str], object] | None = None,
    agent: str = "",
) -> Receipt:
    """Flush ``session``. See :meth:`holdfast.session.Session.flush`."""
    if reason not in REASONS:
        raise ValueError(f"reason must be in {', '.join(REASONS)}, not {reason!r}")
    payload = payload_of(payload)
    stated = Stated(digest=refused_payloads.digest(payload), at=stamp(services.now())) if payload is not None else None
    documents = Documents(services=services, session_id=session.id)
    attempt = Attempt(
        services=services,
        session=session,
        reason=reason,
        agent=agent,
        given=payload,
        stated=stated,
        documents=documents,
    )
    try:
        private.make(services.state, "sessions")
        with durable.lock(session.journal.flush_lock_path, timeout_s=60.0):
            session.catch_up()
            attempt.messages, attempt.upto, attempt.position = session.span()
            receipt = _flush(attempt)
    except NothingToFlush:
        raise
    except FlushRefused as refused:
        session.unmarked = refused.target == "state"
        if session.unmarked and stated is not None and payload is not None:
            session.unwritten.append(refused_payloads.kept(services, stated, payload, refused))
        if attempt.failed_before != (reason, refused.target) and session.journal.exists():
            with suppress(HoldfastError):  # the marker already blocks
                at = stamp(services.now())
                session.journal.append({"kind": "refused", "at": at, "reason": reason, "target": refused.target})
        raise
    except HoldfastError as error:
        raise record.not_begun(attempt, error) from error
    session.unmarked = False
    is_new = not (receipt.repeated or receipt.spooled)
    if is_new and services.hurried:
        services.later(goes_on=reason == "compaction")
    elif is_new:  # all is durable and no lock is held
        summary = receipt.summary
        receipt = services.facts.complete(receipt, attempt.queued, attempt.gathered)
        if receipt.summary != summary:
            session.catch_up()
    if on_summary is not None and receipt.summary and not receipt.repeated:
        try:
            on_summary(receipt.summary)
        except Exception as error:  # noqa: BLE001 - a caller's callback must not undo a flush that is durable
            logger.warning("on_summary raised %s", type(error).__name__)
            receipt = evolve(receipt, warnings=(*receipt.warnings, f"The summary callback raised {error!r}."))
    return receipt


def _flush(attempt: Attempt) -> Receipt:
    """Return the last receipt if it still proves everything, else take the five steps. Raises: NothingToFlush;
    FlushRefused, with the marker on disk."""
    try:
        down, waits = _send_kept(attempt)
        repeated = _still_valid(attempt)
    except NothingToFlush:
        raise
    except HoldfastError as error:
        record.begin(attempt)
        record.refuse(attempt, error)
    if repeated is not None:
        return repeated
    record.begin(attempt)
    keeper = attempt.keeper
    try:
        if keeper and (down or waits):
            return _keep(attempt, keeper, down)
        try:
            with keeper.patience() if keeper else nullcontext():
                return _write(attempt)
        except Unavailable as error:
            if not keeper or attempt.step in record.VERIFIED:
                raise
            record.explain(attempt.services, error)
            return _keep(attempt, keeper, error)
    except NothingToFlush:
        raise
    except HoldfastError as error:
        record.refuse(attempt, error)
    except Exception as error:  # noqa: BLE001 - a gate: whatever went wrong, the context stays
        record.refuse(attempt, contract.unforeseen(attempt.documents.step or attempt.step, error))


def _write(attempt: Attempt) -> Receipt:
    """The five steps."""
    services, session, documents = attempt.services, attempt.session, attempt.documents
    services.plugins.require_all()
    documents.read_ahead(services.now())
    made = plan.make(attempt)
    if made is None:
        return record.nothing_left(attempt)
    made = check(attempt, made)
    results = attempt.gathered.results if attempt.gathered is not None else ()
    with nullcontext() if services.is_remote else services.store.turn(""):
        flush_id = documents.write(
            made.payload,
            made.flush_id(session.id),
            made.at,
            partial(made.block, session.id),
            agent=attempt.agent,
            last=session.last_receipt,
            drafted=[fact.content for _, extraction in results for fact in extraction.facts],
        )
    attempt.step = "on_flush"
    receipt = verify.publish(services, made.payload, record.receipt_of(attempt, made, flush_id))
    receipt = record.facts(attempt, made, receipt)
    return record.finish(attempt, made, receipt)


def _still_valid(attempt: Attempt) -> Receipt | None:
    """The last flush's receipt, when this flush has the same content and everything that the receipt proves is still
    stored. Else None, with the loss known. Raises: NothingToFlush; as :func:`verify.check`."""
    session, services = attempt.session, attempt.services
    marker = safety.read(services.state, session.id)
    if session.unwritten or not (attempt.is_idle or attempt.key == attempt.last_key):
        return None
    if marker is not None and (marker.pending is not None or marker.stated):
        stated = marker.stated[-1] if marker.stated else None
        if not marker.key == attempt.last_key == attempt.key_with(stated):
            return None  # an earlier flush did not complete: its payload must not be forgotten
    last = session.last_receipt
    if last is None:
        safety.clear_empty(services.state, session.id)
        raise contract.nothing(session.id)
    attempt.settled = {one.digest for one in (marker.stated if marker is not None else ())}
    try:
        services.plugins.require_all()
        attempt.documents.proof = verify.check(services, last, session.last_flush)
        if not attempt.proof.lost:
            return record.repeat(attempt, last)
    except Unavailable:
        if attempt.keeper and not attempt.agent:
            return _unchecked(attempt, attempt.keeper, last)
        raise
    if session.last_flush is None:  # only the messages still in context are left to write from
        attempt.messages = order.as_said(session.messages)
    return None


# flushes kept on this machine, while the store's server is away


def _send_kept(attempt: Attempt) -> tuple[HoldfastError | None, bool]:
    """Write flushes kept on this machine to the store's server. Returns the server's error if it did not answer,
    and whether a flush of this session still waits. Raises: HoldfastError."""
    services, session = attempt.services, attempt.session
    is_kept = session.last_receipt is not None and session.last_receipt.spooled
    if not (services.keeps_flushes or is_kept or services.waits(private.SPOOL)):
        return None, False
    attempt.spool = services.spool
    sent = attempt.spool.send_before(session.id, session.last_receipt, session.last_flush)
    session.catch_up()  # a receipt may have its documents now
    return sent


def _keep(attempt: Attempt, keeper: Spool, why: HoldfastError | None) -> Receipt:
    """Keep the flush on this machine, because the server does not take it now. Raises: as the first steps of
    :func:`_write`; FlushRefused when it cannot be kept here either."""
    services, session, attempt.offline = attempt.services, attempt.session, True
    attempt.documents = Documents(services=services, session_id=session.id)
    attempt.step = "collect"
    attempt.marker = safety.read(services.state, session.id) or attempt.marker
    made = plan.make(attempt)
    if made is None:
        return record.nothing_left(attempt)
    made = check(attempt, made)
    receipt = evolve(record.receipt_of(attempt, made, made.flush_id(session.id)), spooled=keeper.server)
    attempt.step = "spool"
    keeper.keep(receipt, made.flushed(), why)
    queued, warnings = services.facts.queue(attempt.messages, session=session.id, flush=receipt.flush_id)
    attempt.queued += queued
    return record.finish(attempt, made, evolve(receipt, warnings=(*receipt.warnings, *warnings)))


def _unchecked(attempt: Attempt, keeper: Spool, receipt: Receipt) -> Receipt:
    """Return an earlier flush that the server cannot confirm now."""
    warning = f"{keeper.server} does not answer, so the earlier flush was not compared with it again."
    receipt = record.repeat(attempt, receipt)
    return evolve(receipt, warnings=(*receipt.warnings, warning))
