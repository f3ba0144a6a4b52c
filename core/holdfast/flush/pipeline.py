"""The flush, the one pipeline that makes a session durable and the only source of receipts.

    marker on disk -> collect -> contract -> gate -> daily note -> trail -> handoff -> curated memory -> on_flush
    -> receipt in the journal -> marker gone -> callback

Each document is read back right after it is written. Some backends write all of them in one step. A failure
leaves the marker, keeps the context and raises :class:`~holdfast.errors.FlushRefused`. A retry completes the flush that
the marker holds, so no block is written twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from datetime import datetime
from typing import TYPE_CHECKING, Any, NoReturn

from attrs import define, evolve, field

from holdfast.config.layout import Surface
from holdfast.config.serde import stamp
from holdfast.errors import FlushRefused, HoldfastError, NothingToFlush, Unavailable
from holdfast.flush import (
    contract,
    evidence,
    extraction,
    fallback,
    marking,
    notes,
    payloads,
    proof,
    uncommitted,
)
from holdfast.flush.content import Content
from holdfast.flush.documents import Documents
from holdfast.fs import durable, paths, private
from holdfast.journal import background, order, refusals, safety, summaries
from holdfast.journal.journal import file_stem
from holdfast.journal.safety import Marker, Stated
from holdfast.models import Finding, Payload, Receipt, payload_of, turns_of
from holdfast.storage import sha256
from holdfast.text import lazy

if TYPE_CHECKING:
    from holdfast.flush.interfaces.delivery import Spool
    from holdfast.models import Message
    from holdfast.session.services import Services
    from holdfast.session.session import Session

logger = lazy.log(__name__)

REASONS = ("compaction", "end", "handoff", "switch", "manual", "trim", "overflow", "daily")


def flush(
    services: Services,
    session: Session,
    payload: Payload | Mapping[str, Any] | None,
    *,
    reason: str,
    on_summary: Callable[[str], object] | None = None,
    agent: str = "",
) -> Receipt:
    """Flush ``session``. See :meth:`holdfast.session.session.Session.flush`."""
    if reason not in REASONS:
        raise ValueError(f"reason must be in {', '.join(REASONS)}, not {reason!r}")
    payload = payload_of(payload)
    one = Stated(digest=payloads.digest(payload), at=stamp(services.now())) if payload is not None else None
    documents = Documents(services=services, session_id=session.id)
    work = _Flush(
        services=services, session=session, given=payload, stated=one, reason=reason, agent=agent, documents=documents
    )
    try:
        private.make(services.state, "sessions")
        with durable.lock(services.private("sessions", f"{file_stem(session.id)}.flush.lock"), timeout_s=60.0):
            session.catch_up()
            work.unflushed, work.upto, work.position = session.span()
            receipt = work.run()
    except NothingToFlush:
        raise
    except FlushRefused as refused:
        session.unmarked = refused.target == "state"
        if session.unmarked and one is not None and payload is not None:
            session.unwritten.append(payloads.kept(services, one, payload, refused))
        if work.failed_before != (reason, refused.target):
            refusals.note(session.journal, services.now(), reason, refused.target)
        raise
    except HoldfastError as error:
        raise payloads.not_begun(services, session, reason, work.stated, work.given, error) from error
    session.unmarked = False
    waits = receipt.repeated or receipt.spooled or background.takes_over(services)
    if not waits:  # all is durable and no lock is held
        receipt = services.facts.complete(session, receipt, work.queued, work.gathered)
    if on_summary is not None and receipt.summary and not receipt.repeated:
        try:
            on_summary(receipt.summary)
        except Exception as error:  # noqa: BLE001 - a caller's callback must not undo a flush that is durable
            logger.warning("on_summary raised %s", type(error).__name__)
            receipt = evolve(receipt, warnings=(*receipt.warnings, f"The summary callback raised {error!r}."))
    return receipt


@define(kw_only=True, eq=False, repr=False)
class _Flush:
    services: Services
    session: Session
    given: Payload | None
    stated: Stated | None  # the caller's payload, by its digest; later the payload resumed from an earlier flush
    reason: str
    agent: str
    unflushed: Sequence[Message] = ()
    upto: int = 0
    position: int = 0
    documents: Documents
    warnings: list[str] = field(factory=list)
    step: str = "collect"
    gathered: extraction.Gathered | None = None  # None: another process extracted and died, or nothing to extract
    settled: set[str] = field(factory=set)  # the stated payloads that this flush answers for, by digest
    failed_before: tuple[str, str] = ("", "")  # reason and target in an earlier attempt's marker
    queued: list[str] = field(factory=list)  # what waits for models, by id
    spool: Spool | None = None  # where flushes are kept on this machine, if any can be or are
    offline: bool = False  # the flush is kept on this machine, so the store is not read
    taken_up: bool = False  # ``given`` is a payload refused earlier, and its caller is not here to complete it

    def run(self) -> Receipt:
        session, services = self.session, self.services
        try:
            down, waits = self._send_kept()
        except HoldfastError as error:
            self._failed(self._begin(), error)
        if self._idle and not self._has_begun():
            last = session.last_receipt
            if last is None:
                safety.clear_empty(services.state, session.id)
                raise contract.nothing(session.id)
            try:
                services.plugins.require_all()
                self.documents.proof = proof.check(services, last, session.last_flush)
                if not self.documents.proof.lost:
                    return self._repeat(last)
                if session.last_flush is None:
                    # Only the messages still in context are left to write from.
                    self.unflushed = order.as_said(session.messages)
            except HoldfastError as error:
                if isinstance(error, Unavailable) and self.keeper and not self.agent:
                    return self._unchecked(self.keeper, last)
                self._failed(self._begin(), error)
        marker = self._begin()
        try:
            keeper = self.keeper
            if keeper and (down or waits):
                return self._keep(keeper, marker, down)
            try:
                with keeper.patience() if keeper else nullcontext():
                    return self._write(marker)
            except Unavailable as error:
                if not keeper or self.step in marking.VERIFIED:
                    raise
                marking.explain(services, error)
                return self._keep(keeper, marker, error)
        except NothingToFlush:
            raise
        except HoldfastError as error:
            self._failed(marker, error)
        except Exception as error:  # noqa: BLE001 - a gate: whatever went wrong, the context stays
            self._failed(marker, contract.unforeseen(self.step, error))

    def _send_kept(self) -> tuple[HoldfastError | None, bool]:
        """Write flushes kept on this machine to the store's server. Returns the server's error if it did not answer,
        and whether a flush of this session still waits. Raises: HoldfastError."""
        services, session = self.services, self.session
        is_kept = session.last_receipt is not None and session.last_receipt.spooled
        if not (services.keeps_flushes or is_kept or services.waits(private.SPOOL)):
            return None, False
        self.spool = services.spool
        shipped = self.spool.send_before(session)
        return shipped.down, session.id in {one.session for one in shipped.left}

    @property
    def keeper(self) -> Spool | None:
        """The spool, if this flush may be kept in it."""
        return self.spool if self.services.keeps_flushes else None

    @property
    def _idle(self) -> bool:
        return self.stated is None and not self.unflushed

    def _has_begun(self) -> bool:
        """Whether an earlier flush did not complete: its payload must not be forgotten."""
        marker = safety.read(self.services.state, self.session.id)
        return bool(self.session.unwritten or (marker is not None and (marker.pending is not None or marker.stated)))

    # the pipeline

    def _write(self, marker: Marker) -> Receipt:
        services, session, documents = self.services, self.session, self.documents
        services.plugins.require_all()
        documents.read_ahead(services.now())
        content = self._collect(marker)
        if isinstance(content, Receipt):
            return content
        last = session.last_receipt
        if last is not None and content.was_flushed_by(last):
            documents.proof = proof.check(services, last, session.last_flush)
            if last.written and not documents.proof.lost:
                return self._repeat(last)
            content = content.again(last, session.last_flush or {})
        payload, at = content.payload, content.at
        flush_id = content.flush_id(session.id)
        self.step = "daily note"
        note_name, there = services.layout.name(Surface.DAILY, at.date()), documents.proof.of(Surface.DAILY)
        if last is not None and there is not None:
            flush_id = last.flush_id
            documents.written.append(there)
        else:
            flush_id = documents.write_note(flush_id, at, lambda block_id: content.block(session.id, block_id))
        if payload.state_mutations:
            self.step = "daily summary"
            documents.write_trail(payload, flush_id, note_name, at)
        self.step = "handoff"
        documents.write_handoff(payload, flush_id, note_name, self.agent, at)
        self.step = "curated memory"
        documents.write_curated(payload, last, flush_id, at)
        self.step = "documents"
        drafts = self.gathered.results if self.gathered is not None else ()
        documents.finish([*(payload.facts or ()), *(one.content for _, draft in drafts for one in draft.facts)])

        lost = ", ".join(dict.fromkeys(w.name for w in documents.proof.lost))
        if lost:
            self.warnings.append(f"Data of the last flush was no longer stored and was written again: {lost}.")
        receipt = self._receipt(content, flush_id)
        self.step = "on_flush"
        receipt = evidence.publish(self.services, payload, receipt)
        self.step = "facts"
        unstored = self._settle(payload, flush_id, at)
        receipt = evolve(receipt, warnings=(*receipt.warnings, *unstored))
        return self._recorded(receipt, content)

    def _keep(self, keeper: Spool, marker: Marker, why: HoldfastError | None) -> Receipt:
        """Keep the flush on this machine, because the server does not take it now. Raises: as the first steps of
        :meth:`_write`; FlushRefused when it cannot be kept here either."""
        services, session, self.offline = self.services, self.session, True
        self.documents = Documents(services=services, session_id=session.id)
        content = self._collect(safety.read(services.state, session.id) or marker)
        if isinstance(content, Receipt):
            return content
        last = session.last_receipt
        if last is not None and content.was_flushed_by(last):
            return self._unchecked(keeper, last)
        receipt = evolve(self._receipt(content, content.flush_id(session.id)), spooled=keeper.server)
        self.step = "spool"
        keeper.keep(receipt, content.flushed(), why)
        queued, warnings = services.facts.queue(self.unflushed, session=session.id, flush=receipt.flush_id)
        self.queued += queued
        return self._recorded(evolve(receipt, warnings=(*receipt.warnings, *warnings)), content)

    def _unchecked(self, keeper: Spool, receipt: Receipt) -> Receipt:
        """Return an earlier flush that the server cannot confirm now."""
        warning = f"{keeper.server} does not answer, so the earlier flush was not compared with it again."
        receipt = self._repeat(receipt)
        return evolve(receipt, warnings=(*receipt.warnings, warning))

    def _receipt(self, content: Content, flush_id: str) -> Receipt:
        payload = content.payload
        found_in, empty = notes.found_and_not(payload)
        told = self.given.derived if self.given is not None else ()
        warnings = dict.fromkeys((*self.warnings, *self.documents.warnings))
        return Receipt(
            flush_id=flush_id,
            session_id=self.session.id,
            reason=self.reason,
            at=content.at,
            written=self.documents.written,
            derived=[n for n in payload.derived if n in (*found_in, *told, "work_open", "handoff")],
            not_found=empty,
            warnings=[paths.rewrite(w, self.services.root) for w in warnings],
            summary=notes.body(payload, content.summary, content.before),
            by=content.by,
        )

    def _recorded(self, receipt: Receipt, content: Content) -> Receipt:
        session = self.session
        self.step = "journal"
        session.record_flush(receipt, content.flushed(), self.upto, self._summary_record(receipt, content.summary))
        self.step = "marker"
        safety.clear(self.services.state, session.id, self.settled)
        logger.info("flushed session %s as %s", session.id, receipt.flush_id)
        return receipt

    def _collect(self, marker: Marker) -> Content | Receipt:
        """What to write: from the marker if this flush had already begun, from the journal if the last flush is
        written again, else from the payload and the messages. A receipt if an operator overrode all there was."""
        session = self.session
        pending = marker.pending
        if self.documents.proof.lost and session.last_flush is not None:
            marker, pending = evolve(marker, key=session.last_flush["key"]), session.last_flush
        idle = self._idle
        self.taken_up = self._take_up(marker)
        key = sha256(f"{self.position}\n{self.stated.digest if self.stated else ''}")
        if pending is not None and (marker.key == key or (idle and not self.taken_up)):
            try:
                return self._resumed(marker.key, pending)
            except (KeyError, TypeError, ValueError, HoldfastError):
                logger.warning("the pending flush in the UNSAFE marker cannot be read; starting over")
        if self.given is None and not (self.unflushed or session.messages):
            return self._nothing_left(marker)
        return self._begun(marker, key)

    def _resumed(self, key: str, record: Mapping[str, Any]) -> Content:
        """The content collected earlier. The note's heading has the reason, so it stays the same, too."""
        zone, overrides = self.services.config.tz, self.session.unrecorded_overrides
        content = Content.from_record(record, key=key, zone=zone, overrides=overrides)
        self.reason, self.agent = content.reason, self.agent or content.agent
        self.documents.is_later = True
        payload, summary = self._attributed(content.payload, content.summary)
        return evolve(content, payload=payload, summary=summary)

    def _begun(self, marker: Marker, key: str) -> Content:
        """Collect the content, and store it in the marker before anything is written."""
        services, session, documents = self.services, self.session, self.documents
        at = services.now()
        others = [one for one in marker.stated if self.stated is None or one.digest != self.stated.digest]
        given = payloads.completed(self.given, others)
        names = contract.missing(given or Payload())
        unstated = contract.missing(contract.stated(given or Payload()))
        strict = services.config.flush.policy == "strict"
        enough = marker.blocked >= services.config.flush.strict_blocks
        if unstated and strict and not enough:
            raise contract.refusal(unstated)
        if given is not None and self.taken_up and enough:
            given = contract.without_blanks(given)
        last = session.last_flush
        work = documents.work_left(last) if self.offline else documents.previous_work(names)
        before = contract.before(work, last)
        messages = self.unflushed or order.as_said(session.messages)
        drafts, summary = self._extract(messages if names else self.unflushed, before)
        authorship = services.authorship
        payload = contract.complete(
            given,
            messages,
            drafts,
            authorship.own_words,
            before=before,
            branch=session.branch,
            undecided=self.taken_up and enough,
        )
        if messages:
            payload = payload.evolve(sources=authorship.sources(payload, messages))
        if names := contract.missing(payload):
            raise contract.refusal(names)
        self.step = "gate"
        found: list[Finding] = []
        admitted = payloads.admitted(services, payload, summary, found)
        self.warnings += [f"{f.message} ({f.rule})" for f in found]
        payload, summary = self._attributed(*admitted)
        earlier = payloads.beyond(others, payload, at)
        self.warnings += (line for line in earlier if line.startswith(payloads.NOT_KEPT))
        content = Content(
            key=key,
            payload=payload,
            summary=summary,
            at=at,
            reason=self.reason,
            agent=self.agent,
            by=services.origin(session.provider),
            before=tuple(earlier),
            overrides=session.unrecorded_overrides,
        )
        entries = marker.stated
        if self.stated is not None:
            own = given.derived if given is not None else ()
            rest = dict.fromkeys(n for n in payload.derived if n not in own)
            mine = payload.evolve(**rest, derived=own, sources=())
            self.stated = evolve(self.stated, payload=payloads.form(mine))
            entries = payloads.joined(entries, self.stated)
        safety.begin(services.state, evolve(marker, key=key, pending=content.pending(), stated=entries))
        return content

    def _take_up(self, marker: Marker) -> bool:
        """Resume with the newest refused payload, unless a payload is given now or an operator overrode it.
        Returns whether it resumed. Raises: FlushRefused when such a payload could not be kept."""
        self.settled = {one.digest for one in marker.stated}
        if self.stated is not None or self.session.override_reason:
            return False
        one = payloads.newest([one for one in marker.stated if not one.waived])
        if one is None:
            return False
        self.stated, self.given = one, payloads.payload_of(one)
        return True

    def _nothing_left(self, marker: Marker) -> Receipt:
        """Handle an empty session whose stated payload was overridden, or lost with an earlier holdfast's note."""
        session, services = self.session, self.services
        if self.documents.proof.lost:
            names = ", ".join(dict.fromkeys(w.name for w in self.documents.proof.lost))
            raise FlushRefused(
                f"Data of the last flush is no longer stored in {names}, and there is nothing to rewrite it from.",
                next_step="Restore the document from a copy, or state a payload.",
                target=self.documents.proof.lost[0].surface,
            )
        session.use_override()
        safety.clear(services.state, session.id, self.settled)
        if session.last_receipt is None:
            raise contract.nothing(session.id)
        return self._repeat(session.last_receipt)

    def _extract(self, messages: Sequence[Message], before: Payload) -> tuple[list[Payload], str]:
        """The drafts and the summary of extractors that need no model. The others run later, without the lock."""
        if not messages:
            return [], ""
        self.step = "on_extract"
        if len(messages) > extraction.AT_ONCE_MESSAGES:
            self.warnings.append(
                f"Only the newest {extraction.AT_ONCE_MESSAGES:,} messages were read for facts and statements. "
                "`holdfast extract --transcript FILE` reads all of a transcript."
            )
            messages = messages[-extraction.AT_ONCE_MESSAGES :]
        turns = turns_of(messages)
        found = extraction.at_once(self.services, turns, before)
        self.warnings += found.failed.values()
        authorship = self.services.authorship
        drafts = [authorship.cleared(e.draft, turns) for _, e in found.results]
        if not self.unflushed:  # an earlier flush has the lists and the summary of these messages
            stated = [before] if before.work_open and not before.derived else []  # and nothing was requested since
            return [draft.evolve(**dict.fromkeys(contract.ALL_LISTS)) for draft in (*stated, *drafts)], ""
        self.gathered = found
        summary = "\n\n".join(e.summary.strip() for _, e in found.results if e.summary.strip())
        return drafts, uncommitted.added(self.services, summary or fallback.digest(messages, authorship.own_words))

    def _settle(self, payload: Payload, flush_id: str, at: datetime) -> tuple[str, ...]:
        """Store the stated and extracted facts, and queue the turns for extractors that run later. Returns
        warnings. Rewriting a flush does not restore facts deleted since."""
        fresh = None if self.documents.proof.lost else payload
        queued, warnings = self.services.facts.settle(
            self.gathered,
            self.unflushed,
            session=self.session.id,
            flush=flush_id,
            payload=fresh,
            at=at,
            late=self.documents.is_later,
            stored=self.documents.facts,
        )
        self.queued += queued
        return warnings

    def _summary_record(self, receipt: Receipt, summary: str) -> dict[str, Any]:
        """The journal's record of the summary; empty when there is none."""
        derived = self.gathered is not None and not any(e.summary.strip() for _, e in self.gathered.results)
        return summaries.of_flush(receipt.flush_id, summary, stamp(receipt.at), derived=derived)

    def _attributed(self, payload: Payload, summary: str) -> tuple[Payload, str]:
        payload, summary, warnings = self.services.authorship.attributed(payload, summary, self.unflushed)
        self.warnings += warnings
        return payload, summary

    def _begin(self) -> Marker:
        """Write the UNSAFE marker, which stays until this flush is durable."""
        marker, old = marking.begin(self.services, self.session, self.reason, self.stated)
        if old is not None:
            self.failed_before = (old.reason, old.target)
            self.warnings += [old.error] if old.reason == safety.UNKNOWN else []
        return marker

    def _failed(self, marker: Marker, error: HoldfastError) -> NoReturn:
        marking.refuse(self.services, self.session, marker, error, step=self.step, stated=self.stated, given=self.given)

    def _repeat(self, receipt: Receipt) -> Receipt:
        """Return an earlier flush that is still valid. An agent that takes over is added to its handoff."""
        if self.agent and any(w.surface == Surface.HANDOFF for w in receipt.written):
            mine = self.session.id
            self.documents.change_handoff(
                lambda entries: (evolve(w, agent=self.agent) if w.session == mine else w for w in entries)
            )
            self.documents.finish()
        safety.clear(self.services.state, self.session.id, self.settled)
        pending = evidence.pending(self.services, receipt.evidence)
        over = () if pending else evidence.remarks(self.services, receipt.evidence)  # published since
        warnings = [w for w in receipt.warnings if w not in over]
        spooled = self.spool.waits_for(receipt) if self.spool else ""
        return evolve(receipt, repeated=True, pending=pending, warnings=warnings, spooled=spooled)
