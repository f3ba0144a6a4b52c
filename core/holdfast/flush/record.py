"""Step 5 of a flush: write the receipt, the journal's mark and the session's state.

The UNSAFE marker is also written here. It is on disk before the first step, and a failed flush leaves it with the
reason.
"""

from datetime import UTC
from typing import Final, NoReturn

from attrs import evolve

from holdfast.config.layout import Surface
from holdfast.config.serde import stamp
from holdfast.errors import FlushRefused, HoldfastError, Unavailable
from holdfast.flush import contract, notes, refused_payloads, verify
from holdfast.flush.plan import Attempt, Plan, noted
from holdfast.fs import paths
from holdfast.journal import safety, summaries
from holdfast.journal.safety import Marker
from holdfast.models import Receipt
from holdfast.storage import Document
from holdfast.text.lazy import log

logger = log(__name__)

#: The steps after all documents are verified.
VERIFIED: Final = frozenset({"on_flush", "facts", "journal", "marker"})


def begin(attempt: Attempt) -> None:
    """Write the UNSAFE marker, taking over an earlier marker's content. Raises: FlushRefused when that fails."""
    services, session = attempt.services, attempt.session
    old = safety.read(services.state, session.id)
    if old is not None and old.pending and old.key == attempt.last_key:  # a power cut brought back the last flush's
        attempt.marker = old
        safety.clear(services.state, session.id, refused_payloads.covered(old.stated, noted(attempt)))
        old = safety.read(services.state, session.id)
    marker = Marker(session=session.id, at=stamp(services.now()), reason=attempt.reason)
    if old is not None:
        marker = evolve(marker, attempts=old.attempts + 1, blocked=old.blocked, key=old.key, pending=old.pending)
        attempt.failed_before = (old.reason, old.target)
        attempt.warnings += [old.error] if old.reason == safety.UNKNOWN else []
    stated = [*session.unwritten, *([attempt.stated] if attempt.stated else [])]
    entries = refused_payloads.joined(old.stated if old is not None else (), *stated)
    try:
        attempt.marker = safety.begin(services.state, evolve(marker, stated=entries), flush=old is not None)
    except HoldfastError as error:
        raise FlushRefused(
            f"Not even the UNSAFE marker can be written: {error.message} Context is kept.",
            next_step=error.next_step,
            target="state",
        ) from error
    session.unwritten.clear()


def keep_plan(attempt: Attempt, plan: Plan, done: list[str]) -> None:
    """Put the checked plan into the marker, and the given payload as the gate admitted it; payloads whose digests are
    ``done`` leave it. Raises: Unavailable."""
    marker = evolve(attempt.kept_marker, key=plan.key, pending=plan.pending())
    if attempt.stated is not None:
        completed = refused_payloads.completed(attempt.given, refused_payloads.others(marker, attempt.stated))
        own = completed.derived if completed is not None else ()
        rest = dict.fromkeys(name for name in plan.payload.derived if name not in own)
        mine = plan.payload.evolve(**rest, derived=own, sources=())
        attempt.stated = evolve(attempt.stated, payload=refused_payloads.form(mine))
        marker = evolve(marker, stated=refused_payloads.joined(marker.stated, attempt.stated))
    attempt.marker = safety.begin(attempt.services.state, marker, done=done)


def in_order(attempt: Attempt, plan: Plan) -> tuple[Plan, Document | None]:
    """The plan, dated anew if a newer block came into its note since, and the note. Raises: Unavailable, Corrupt."""
    now, note = attempt.services.now(), attempt.documents.note(plan.at)
    newest = note.text.rpartition("\n<!-- at=")[2].partition(" ")[0].rstrip("Z") if note else ""
    if not plan.is_resumed and stamp(plan.at.astimezone(UTC)).rstrip("Z") < newest < stamp(now.astimezone(UTC)):
        plan = plan._replace(at=now)
        keep_plan(attempt, plan, [])
    return plan, note


def receipt_of(attempt: Attempt, plan: Plan, flush_id: str) -> Receipt:
    payload = plan.payload
    found_in, empty = notes.found_and_not(payload)
    own = attempt.given.derived if attempt.given is not None else ()
    warnings = [*attempt.warnings, *attempt.documents.warnings]
    if lost := ", ".join(dict.fromkeys(written.name for written in attempt.documents.proof.lost)):
        warnings.append(f"Data of the last flush was no longer stored and was written again: {lost}.")
    last = attempt.session.last_receipt
    if last is not None and plan.at < last.at and not attempt.documents.is_later:
        warnings.append("The clock was set back since this session's last flush, so its notes are out of order.")
    return Receipt(
        flush_id=flush_id,
        session_id=attempt.session.id,
        reason=attempt.reason,
        at=plan.at,
        written=attempt.documents.written,
        derived=[n for n in payload.derived if n in (*found_in, *own, "work_open", "handoff")],
        not_found=empty,
        warnings=[paths.rewrite(text, attempt.services.root) for text in dict.fromkeys(warnings)],
        summary=plan.body(),
        by=plan.by,
    )


def facts(attempt: Attempt, plan: Plan, receipt: Receipt) -> Receipt:
    """Store the stated and extracted facts, and queue the turns for extractors that run later. Rewriting a flush does
    not restore facts deleted since. Failures only become warnings in the receipt."""
    attempt.step = "facts"
    queued, warnings = attempt.services.facts.settle(
        attempt.gathered,
        attempt.messages,
        session=attempt.session.id,
        flush=receipt.flush_id,
        payload=None if attempt.documents.proof.lost else plan.payload,
        at=plan.at,
        late=attempt.documents.is_later,
        stored=attempt.documents.facts,
    )
    attempt.queued += queued
    return evolve(receipt, warnings=(*receipt.warnings, *warnings))


def finish(attempt: Attempt, plan: Plan, receipt: Receipt) -> Receipt:
    """Mark the messages as flushed in the journal, and remove the marker. Raises: Unavailable, Corrupt, Conflict."""
    attempt.step = "journal"
    attempt.services.store.settle()
    gathered = attempt.gathered
    derived = gathered is not None and not any(extraction.summary.strip() for _, extraction in gathered.results)
    author = summaries.DERIVED if derived else summaries.EXTRACTED
    texts = {summaries.PAYLOAD: notes.unsummarised(plan.payload, plan.summary), author: plan.summary}
    records = [summaries.record(receipt.flush_id, by, text, stamp(receipt.at)) for by, text in texts.items() if text]
    attempt.session.record_flush(receipt, plan.flushed(), attempt.upto, records)
    attempt.step = "marker"
    safety.clear(attempt.services.state, attempt.session.id, attempt.settled)
    logger.info("flushed session %s as %s", attempt.session.id, receipt.flush_id)
    return receipt


def repeat(attempt: Attempt, receipt: Receipt) -> Receipt:
    """Return an earlier flush that is still valid. An agent that takes over is added to its handoff."""
    services, mine = attempt.services, attempt.session.id
    if attempt.agent and any(written.surface == Surface.HANDOFF for written in receipt.written):
        attempt.documents.change_handoff(
            lambda entries: (evolve(w, agent=attempt.agent) if w.session == mine else w for w in entries)
        )
        attempt.documents.finish()
        services.store.settle()
    attempt.session.journal.settle()
    safety.clear(services.state, mine, attempt.settled)
    pending = verify.pending(services, receipt.evidence)
    over = () if pending else verify.warnings_of(services, receipt.evidence)  # published since
    warnings = [text for text in receipt.warnings if text not in over]
    return evolve(receipt, repeated=True, pending=pending, warnings=warnings, spooled="")


def nothing_left(attempt: Attempt) -> Receipt:
    """End a flush of an empty session whose payload was overridden. Raises: FlushRefused; NothingToFlush."""
    session, lost = attempt.session, attempt.documents.proof.lost
    if lost:
        names = ", ".join(dict.fromkeys(written.name for written in lost))
        raise FlushRefused(
            f"Data of the last flush is no longer stored in {names}, and there is nothing to rewrite it from.",
            next_step="Restore the document from a copy, or state a payload.",
            target=lost[0].surface,
        )
    session.use_override()
    safety.clear(attempt.services.state, session.id, attempt.settled)
    if session.last_receipt is None:
        raise contract.nothing(session.id)
    return repeat(attempt, session.last_receipt)


# when it fails


def refuse(attempt: Attempt, error: HoldfastError) -> NoReturn:
    """Keep the marker, with the error and the given payload. Raises: FlushRefused, always."""
    services, session = attempt.services, attempt.session
    step = attempt.documents.step or attempt.step
    marker = safety.read(services.state, session.id) or attempt.kept_marker
    target = error.target if isinstance(error, FlushRefused) and error.target else step
    if isinstance(error, Unavailable) and step not in VERIFIED:
        services.explain(error)
    if attempt.stated is not None and attempt.given is not None:
        mine = refused_payloads.kept(services, attempt.stated, attempt.given, error)
        marker = evolve(marker, stated=refused_payloads.joined(marker.stated, mine))
    try:
        safety.failed(
            services.state,
            marker,
            error=paths.rewrite(error.message, services.root),
            next_step=error.next_step,
            target=target,
            blocked=isinstance(error, FlushRefused) and bool(error.missing),
        )
    except HoldfastError as second:
        logger.error("the UNSAFE marker could not be updated: %s", second)  # noqa: TRY400 - the cause is raised below
    logger.warning("flush of session %s failed at %s", session.id, target)
    if isinstance(error, FlushRefused):
        error.target = error.target or target
        raise error
    raise FlushRefused(
        f"{error.message} The session is UNSAFE and nothing was dropped.", next_step=error.next_step, target=target
    ) from error


def not_begun(attempt: Attempt, error: HoldfastError) -> FlushRefused:
    """The refusal when neither the journal nor the lock is available; recorded in a marker if that can be written. Else
    ``session.unmarked`` becomes true."""
    services, session = attempt.services, attempt.session
    stated, payload = attempt.stated, attempt.given
    mine = [refused_payloads.kept(services, stated, payload, error)] if stated and payload else []
    try:
        marker = safety.read(services.state, session.id)
        marker = marker or Marker(session=session.id, at=stamp(services.now()), reason=attempt.reason)
        refused_payloads.not_begun(services.state, marker, mine, error, services.root)
    except HoldfastError:
        session.unmarked = True
        session.unwritten += mine
    message = f"The flush could not begin: {error.message} Context is kept."
    return FlushRefused(message, next_step=error.next_step, target="state")
