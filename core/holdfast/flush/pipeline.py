"""The flush, which makes a session durable, and the only source of receipts. Five steps, one file each:

    plan -> check -> apply -> verify -> record

The UNSAFE marker is on disk before the first step. A failure leaves it, keeps the context and raises
:class:`~holdfast.errors.FlushRefused`. A retry completes the flush that the marker holds, so no block is written twice.
"""

from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from functools import partial
from typing import Any

from attrs import evolve

from holdfast.config.serde import stamp
from holdfast.errors import FlushRefused, HoldfastError, NothingToFlush, Unavailable
from holdfast.flush import contract, plan, record, refused_payloads, verify
from holdfast.flush.apply import Documents
from holdfast.flush.check import check
from holdfast.flush.context import Context
from holdfast.flush.plan import Attempt, Fill
from holdfast.fs import durable, private
from holdfast.journal import order, safety
from holdfast.journal.safety import Stated
from holdfast.models import Payload, Receipt, payload_of
from holdfast.services.services import Services, undelivered

REASONS = ("compaction", "end", "handoff", "switch", "manual", "trim", "overflow", "daily")


def flush(
    services: Services,
    session: Context,
    payload: Payload | Mapping[str, Any] | None,
    *,
    reason: str,
    on_summary: Callable[[str], object] | None = None,
    agent: str = "",
    take: Callable[[Attempt], Receipt],
    fill: Fill,
) -> Receipt:
    """Flush ``session``. See :meth:`holdfast.session.Session.flush`. ``take`` and ``fill`` are its class's."""
    if reason not in REASONS:
        raise ValueError(f"reason must be in {', '.join(REASONS)}, not {reason!r}")
    payload = payload_of(payload)
    stated = Stated(digest=refused_payloads.digest(payload), at=stamp(services.now())) if payload is not None else None
    attempt = Attempt(
        services=services,
        session=session,
        reason=reason,
        agent=agent,
        given=payload,
        stated=stated,
        documents=Documents(services=services, session_id=session.id),
        fill=fill,
    )
    try:
        private.make(services.state, "sessions")
        with durable.lock(session.journal.flush_lock_path, timeout_s=60.0):
            session.catch_up()
            attempt.messages, attempt.upto, attempt.position = session.span()
            receipt = take(attempt)
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
        receipt = services.facts.complete(receipt, attempt.queued)
        if receipt.summary != summary:
            session.catch_up()
    if on_summary is not None and receipt.summary and not receipt.repeated:
        try:
            on_summary(receipt.summary)
        except Exception as error:  # noqa: BLE001 - a caller's callback must not undo a flush that is durable
            receipt = evolve(receipt, warnings=(*receipt.warnings, f"The summary callback raised {error!r}."))
    return receipt


def take(
    attempt: Attempt,
    *,
    before: Callable[[], None] | None = None,
    write: Callable[[Attempt], Receipt] | None = None,
    unchecked: Callable[[Receipt], Receipt] | None = None,
) -> Receipt:
    """Return the last receipt if it still proves everything, else take the five steps. An application that keeps
    flushes on this machine has something to do ``before``, to ``write`` instead, and a receipt for an ``unchecked``
    flush, whose server does not answer. Raises: NothingToFlush; FlushRefused, with the marker on disk."""
    try:
        if before is not None:
            before()
        elif may_wait(attempt):
            raise undelivered("spool.jsonl")
        repeated = _still_valid(attempt, unchecked)
    except NothingToFlush:
        raise
    except HoldfastError as error:
        record.begin(attempt)
        record.refuse(attempt, error)
    if repeated is not None:
        return repeated
    record.begin(attempt)
    try:
        return (write or take_steps)(attempt)
    except NothingToFlush:
        raise
    except HoldfastError as error:
        record.refuse(attempt, error)
    except Exception as error:  # noqa: BLE001 - a gate: whatever went wrong, the context stays
        step = attempt.documents.step or attempt.step
        message = f"The flush failed at the step `{step}`: {type(error).__name__}: {error}."
        unforeseen = HoldfastError(message, next_step="Run `holdfast doctor`, then try again.")
        unforeseen.__cause__ = error
        record.refuse(attempt, unforeseen)


def may_wait(attempt: Attempt) -> bool:
    """Whether flushes may be kept on this machine, or wait here."""
    services, last = attempt.services, attempt.session.last_receipt
    return services.keeps_flushes or (last is not None and bool(last.spooled)) or services.waits(private.SPOOL)


def take_steps(attempt: Attempt) -> Receipt:
    services, session, documents = attempt.services, attempt.session, attempt.documents
    services.plugins.require_all()
    documents.read_ahead(services.now())
    made = plan.make(attempt)
    if made is None:
        return record.nothing_left(attempt)
    made = check(attempt, made)
    drafted = [fact.content for _, extraction in getattr(attempt.gathered, "results", ()) for fact in extraction.facts]
    with nullcontext() if services.is_remote else services.store.turn(""):
        made, note = record.in_order(attempt, made)
        flush_id, block, last = made.flush_id(session.id), partial(made.block, session.id), session.last_receipt
        flush_id = documents.write(
            made.payload, flush_id, made.at, block, note=note, agent=attempt.agent, last=last, drafted=drafted
        )
    attempt.step = "on_flush"
    receipt = verify.publish(services, made.payload, record.receipt_of(attempt, made, flush_id))
    receipt = record.facts(attempt, made, receipt)
    return record.finish(attempt, made, receipt)


def _still_valid(attempt: Attempt, unchecked: Callable[[Receipt], Receipt] | None) -> Receipt | None:
    """The last flush's receipt, when this flush has the same content and everything that the receipt proves is still
    stored. Else None, with the loss known. Raises: NothingToFlush; as :func:`verify.check`."""
    session, services = attempt.session, attempt.services
    marker = safety.read(services.state, session.id)
    if session.unwritten or not (attempt.is_idle or attempt.key == attempt.last_key):
        return None
    if marker is not None and (marker.pending is not None or marker.stated):
        stated = marker.stated[-1] if marker.stated else None
        if len(marker.stated) > 1 or not marker.key == attempt.last_key == attempt.key_with(stated):
            return None  # an earlier flush did not complete: no payload must be forgotten
    last = session.last_receipt
    if last is None:
        safety.clear_empty(services.state, session.id)
        raise contract.nothing(session.id)
    attempt.settled = {entry.digest for entry in (marker.stated if marker is not None else ())}
    try:
        services.plugins.require_all()
        attempt.documents.proof = verify.check(services, last, session.last_flush)
        if not attempt.documents.proof.lost:
            return record.repeat(attempt, last)
    except Unavailable:
        if unchecked is not None and not attempt.agent:
            return unchecked(last)
        raise
    if session.last_flush is None:  # only the messages still in context are left to write from
        attempt.messages = order.as_said(session.messages)
    return None
