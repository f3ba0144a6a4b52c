"""The flush: the one pipeline by which a session becomes durable, and the only source of receipts.

    marker on disk -> collect -> contract -> gate -> daily note -> trail -> handoff -> curated memory -> on_flush
    -> receipt in the journal -> marker gone -> callback

Each document is read back right after it is written. Any failure leaves the marker, keeps the context and raises
:class:`~holdfast.errors.FlushRefused`. A retry finds in the marker what it had begun and completes it: the same id,
instant and payload, so no block is written twice.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NoReturn

from attrs import define, evolve, field

from holdfast import contract, curated, delivery, durable, extract, handoff, notes, paths, private, safety
from holdfast.errors import Corrupt, FlushRefused, HoldfastError, Unavailable
from holdfast.journal import file_stem
from holdfast.layout import Surface
from holdfast.models import Evidence, Finding, Payload, Receipt, Written, turns_of
from holdfast.safety import Marker
from holdfast.serde import moment, payload_from, stamp, unstructure
from holdfast.storage import Document, block_marker, sha256

if TYPE_CHECKING:
    from holdfast.services import Services
    from holdfast.session import Session

logger = logging.getLogger(__name__)

REASONS = ("compaction", "end", "handoff", "switch", "manual", "trim", "overflow", "daily")


def flush(
    services: Services,
    session: Session,
    payload: Payload | None,
    *,
    reason: str,
    on_summary: Callable[[str], object] | None = None,
    agent: str = "",
) -> Receipt:
    """Flush ``session``. See :meth:`holdfast.session.Session.flush`."""
    if reason not in REASONS:
        raise ValueError(f"reason {reason!r} is not one of {', '.join(REASONS)}")
    try:
        private.make(services.state, "sessions")
        with durable.lock(services.private("sessions", f"{file_stem(session.id)}.flush.lock"), timeout_s=60.0):
            session.catch_up()
            unflushed, upto, position = session.stretch()
            work = _Flush(
                services=services,
                session=session,
                given=payload,
                reason=reason,
                agent=agent,
                unflushed=unflushed,
                upto=upto,
                position=position,
            )
            receipt = work.run()
    except FlushRefused as refused:
        session.unmarked = refused.target == "state"
        raise
    except HoldfastError as error:
        raise _not_begun(services, session, reason, error) from error
    session.unmarked = False
    if on_summary is not None and receipt.summary and not receipt.repeated:
        try:
            on_summary(receipt.summary)
        except Exception as error:  # noqa: BLE001 - a caller's callback must not undo a flush that is durable
            logger.warning("on_summary raised %s", type(error).__name__)
            receipt = evolve(receipt, warnings=(*receipt.warnings, f"The summary callback raised {error!r}."))
    if receipt.flush_id and not receipt.repeated:  # all is durable and no lock is held: a model may be asked now
        extract.work_off(services, but=work.gathered.failed if work.gathered else ())
    return receipt


def _not_begun(services: Services, session: Session, reason: str, error: HoldfastError) -> FlushRefused:
    """The refusal when not even the journal or the lock can be had, told by a marker if that can be written."""
    message = f"The flush could not begin: {error.message} Context is kept."
    try:
        marker = safety.read(services.state, session.id)
        marker = marker or Marker(session=session.id, at=stamp(services.now()), reason=reason)
        safety.failed(services.state, marker, error=message, next_step=error.next_step, target="state")
    except HoldfastError:
        session.unmarked = True
    return FlushRefused(message, next_step=error.next_step, target="state")


@define(kw_only=True)
class _Flush:
    services: Services
    session: Session
    given: Payload | None
    reason: str
    agent: str
    unflushed: Sequence[Any]
    upto: int
    position: int
    warnings: list[str] = field(factory=list)
    written: list[Written] = field(factory=list)
    step: str = "collect"
    gathered: extract.Gathered | None = None  # None: a process that died had asked the extractors

    def run(self) -> Receipt:
        session = self.session
        unflushed = self.unflushed
        if self._idle and not self._has_begun():
            if session.last_receipt is None:
                safety.clear(self.services.state, session.id)
                return self._nothing()
            try:
                if self._still_stored(session.last_receipt):
                    return self._repeat(session.last_receipt)
            except HoldfastError as error:
                self._failed(self._begin(), error)
            unflushed = session.messages  # the proof is gone: what is still in context is flushed again
            if not unflushed:
                lost = "The note of the last flush is no longer there; nothing was left in context to write it from."
                return evolve(session.last_receipt, repeated=True, warnings=(*session.last_receipt.warnings, lost))
        marker = self._begin()
        try:
            return self._write(marker, unflushed)
        except HoldfastError as error:
            self._failed(marker, error)
        except Exception as error:  # noqa: BLE001 - a gate: whatever went wrong, the context stays
            wrapped = Unavailable(
                f"The flush failed while it was at the step `{self.step}`: {type(error).__name__}: {error}.",
                next_step="Run `holdfast doctor`; nothing was dropped.",
            )
            wrapped.__cause__ = error
            self._failed(marker, wrapped)

    @property
    def _idle(self) -> bool:
        return self.given is None and not self.unflushed

    def _has_begun(self) -> bool:
        """Whether an earlier flush did not come to its end: its payload is in the marker and must not be forgotten."""
        marker = safety.read(self.services.state, self.session.id)
        return marker is not None and marker.pending is not None

    # the pipeline

    def _write(self, marker: Marker, unflushed: Sequence[Any]) -> Receipt:
        services, session = self.services, self.session
        services.dispatch.require_all()
        marker, payload, summary, at = self._collect(marker, unflushed)
        last = session.last_receipt
        if last is not None and last.flush_id.partition("-")[0] == self._id(marker, payload, last.at):  # as in _block
            if self._still_stored(last):
                return self._repeat(last)
            at = last.at
        flush_id = self._id(marker, payload, at)

        self.step = "daily note"
        note_name = services.layout.name(Surface.DAILY, at.date())
        note = services.store.read(note_name)
        self._warn_of_clock(note, at)
        flush_id, block = self._block(payload, summary, flush_id, note_name, note, at)
        self.written.append(services.store.append(Surface.DAILY, note_name, block, notes.header(at.date()), flush_id))
        if payload.state_mutations:
            self.step = "daily summary"
            self._trail(payload, flush_id, note_name, at)
        self.step = "handoff"
        self._handoff(payload, flush_id, note_name)
        self.step = "curated memory"
        self._curated(payload)

        receipt = Receipt(
            flush_id=flush_id,
            session_id=session.id,
            reason=self.reason,
            at=at,
            written=self.written,
            derived=payload.derived,
            warnings=[paths.rewrite(w, services.root) for w in self.warnings],
            summary=notes.body(payload, summary),
        )
        self.step = "on_flush"
        receipt = self._publish(payload, receipt)
        self.step = "facts"
        unstored = extract.settle_flush(services, self.gathered, unflushed, session.id)
        receipt = evolve(receipt, warnings=(*receipt.warnings, *unstored))
        self.step = "journal"
        session.record_flush(receipt, summary, self.upto)
        self.step = "marker"
        safety.clear(services.state, session.id)
        logger.info("flushed session %s as %s", session.id, flush_id)
        return receipt

    def _id(self, marker: Marker, payload: Payload, at: datetime) -> str:
        """The flush's id. The instant is part of it: the same words may be flushed again on another day."""
        parts = [self.session.id, marker.key, unstructure(payload), stamp(at.astimezone(UTC))]
        return "flush_" + sha256(json.dumps(parts, sort_keys=True))[:16]

    def _collect(self, marker: Marker, unflushed: Sequence[Any]) -> tuple[Marker, Payload, str, datetime]:
        """The complete, redacted payload; from the marker when this very flush had begun before."""
        given = json.dumps(unstructure(self.given), sort_keys=True) if self.given else ""
        key = hashlib.sha256(f"{self.position}\n{given}".encode()).hexdigest()
        pending = marker.pending
        if pending is not None and (marker.key == key or self._idle):
            try:
                begun = (
                    marker,
                    evolve(payload_from(pending["payload"]), derived=tuple(pending["derived"])),
                    str(pending["summary"]),
                    moment(pending["at"]).astimezone(self.services.config.tz),
                )
                # The heading tells the reason: another one would make another block of what is the same flush.
                self.reason, self.agent = str(pending["reason"]), self.agent or str(pending["agent"])
                return begun
            except (KeyError, TypeError, ValueError, HoldfastError):
                logger.warning("the pending flush in the UNSAFE marker cannot be read; starting anew")
        at = self.services.now()
        names = contract.missing(self.given or Payload())
        strict = self.services.config.flush.policy == "strict"
        if names and strict and marker.blocked < self.services.config.flush.strict_blocks:
            raise contract.refusal(names)
        extractions, summary = self._extract(unflushed)
        said = unflushed or self.session.messages
        payload = contract.complete(
            self.given, said, extractions, branch=self.session.branch, previous=self._previous_work(names)
        )
        names = contract.missing(payload)
        if names:
            raise contract.refusal(names)
        self.step = "gate"
        payload, summary = self._admit(payload, summary)
        pending = {
            "payload": unstructure(evolve(payload, derived=())),
            "derived": list(payload.derived),
            "summary": summary,
            "at": stamp(at),
            "reason": self.reason,
            "agent": self.agent,
        }
        marker = evolve(marker, key=key, pending=pending)
        safety.begin(self.services.state, marker)
        return marker, payload, summary, at

    def _extract(self, unflushed: Sequence[Any]) -> tuple[list[Any], str]:
        if not unflushed:
            return [], ""
        self.step = "on_extract"
        self.gathered = extract.gather(self.services, turns_of(unflushed), source=self.session.id)
        self.warnings += self.gathered.failed.values()
        found = [e for _, e in self.gathered.results]
        summary = "\n\n".join(e.summary.strip() for e in found if e.summary.strip())
        return found, summary or contract.digest(unflushed)

    def _admit(self, payload: Payload, summary: str) -> tuple[Payload, str]:
        """Every text without this machine's paths, through the gate in one call."""
        root = self.services.root
        texts = contract.texts(payload)
        payload = contract.map_texts(payload, {t: paths.rewrite(t, root) for t in texts})
        texts = contract.texts(payload)
        found: list[Finding] = []
        *admitted, summary = self.services.gate.admit_all(
            [*texts, paths.rewrite(summary, root)], surface=Surface.DAILY, notes=found
        )
        self.warnings += [f"{f.message} ({f.rule})" for f in found]
        payload = contract.map_texts(payload, dict(zip(texts, admitted, strict=True)))
        contract.check_pointers(payload)  # now, because a refusal quotes the pointer and is written into the marker
        return payload, summary

    def _block(
        self, payload: Payload, summary: str, flush_id: str, name: str, stored: Document | None, at: datetime
    ) -> tuple[str, str]:
        """The block and its id. The id gets a suffix when a block of that id stands there with other text (somebody
        edited it): what is to be saved is then written beside it, never skipped."""
        for attempt in range(100):
            block_id = flush_id if attempt == 0 else f"{flush_id}-{attempt + 1}"
            block = self.services.gate.admit(
                notes.render(
                    payload,
                    block_id=block_id,
                    session=self.session.id,
                    reason=self.reason,
                    at=at,
                    summary=summary,
                    overrides=self.session.unrecorded_overrides,
                ),
                surface=Surface.DAILY,
                name=name,
            )
            if stored is None or block_marker(block_id) not in stored.text or block.strip("\n") in stored.text:
                return block_id, block
        raise Corrupt(f"{name} holds a hundred edited copies of {flush_id}.", next_step="Clean up the note.")

    def _trail(self, payload: Payload, flush_id: str, note_name: str, at: datetime) -> None:
        from holdfast.report import trail_block, trail_header

        name = self.services.layout.name(Surface.TRAIL, at.date())
        block = trail_block(payload, flush_id=flush_id, note=note_name, session=self.session.id, at=at)
        block = self.services.gate.admit(block, surface=Surface.TRAIL, name=name)
        self.written.append(self.services.store.append(Surface.TRAIL, name, block, trail_header(at.date()), flush_id))

    def _handoff(self, payload: Payload, flush_id: str, note_name: str) -> None:
        name = self.services.layout.name(Surface.HANDOFF)
        fields = payload.handoff
        work = handoff.Work(
            session=self.session.id,
            flush=flush_id,
            note=note_name,
            agent=self.agent,
            objective=payload.objective or "",
            active_task=fields.active_task if fields else payload.objective or "",
            branch=fields.branch if fields else "none",
            blocker=fields.blocker if fields else "none",
            next_action=fields.next_action if fields else payload.next_step or "",
            facts=payload.facts or (),
            blockers=payload.blockers or (),
            artifacts=payload.artifacts or (),
            follow_ups=payload.follow_ups or (),
            derived="next_step" in payload.derived,
        )
        if not contract.is_open(payload):
            if self.services.store.read(name) is None:
                return
            work = handoff.closed(work)

        self.written.append(self._change_handoff(lambda entries: handoff.put(entries, work)))

    def _change_handoff(self, update: Callable[[tuple[handoff.Work, ...]], Iterable[handoff.Work]]) -> Written:
        name = self.services.layout.name(Surface.HANDOFF)

        def change(text: str | None) -> str:
            new = handoff.render(update(handoff.parse(text, name) if text else ()))
            return self.services.gate.admit(new, surface=Surface.HANDOFF, name=name, previous=text)

        return self.services.store.change(Surface.HANDOFF, name, change)

    def _previous_work(self, missing: Sequence[str]) -> handoff.Work | None:
        """This session's open handoff, when something has to be derived."""
        if not missing:
            return None
        name = self.services.layout.name(Surface.HANDOFF)
        if self.services.store.is_withheld(name):  # what a clone says must not become our own note
            return None
        stored = self.services.store.read(name)
        entries = handoff.parse(stored.text, name) if stored else ()
        return next((w for w in entries if w.session == self.session.id and w.is_open), None)

    def _curated(self, payload: Payload) -> None:
        decision = payload.curated
        if decision is None or decision.is_none:
            return
        for surface, entries in ((Surface.MEMORY, decision.memory), (Surface.USER, decision.user)):
            if not entries:
                continue
            name = self.services.layout.name(surface)

            def change(text: str | None, surface: Surface = surface, entries: Any = entries, name: str = name) -> str:
                new = curated.apply(text, entries, surface)
                return self.services.gate.admit(new, surface=surface, name=name, previous=text)

            self.written.append(self.services.store.change(surface, name, change))

    def _publish(self, payload: Payload, receipt: Receipt) -> Receipt:
        evidence = self.services.dispatch.on_flush(payload, receipt)
        for item in evidence:
            paths.check_pointer(item.pointer, "evidence.pointer")
            if item.published.strip() != item.read_back.strip():
                raise FlushRefused(
                    f"What was published at {item.pointer} reads back differently.",
                    next_step="Look at it there, then flush again.",
                    target=Surface.TRAIL,
                )
        return evolve(
            receipt,
            evidence=evidence,
            pending=self._pending(evidence),
            warnings=(*receipt.warnings, *self._notes(evidence)),
        )

    def _pending(self, evidence: Iterable[Evidence]) -> int:
        """How much waits to be published, after another try: in the outbox, where it has no pointer yet, of earlier
        flushes too; and where a plugin keeps it itself."""
        waiting = delivery.work_off(self.services, limit_s=delivery.FLUSH_LIMIT_S)
        return waiting + sum(e.pending for e in evidence if e.pointer)

    def _notes(self, evidence: Iterable[Evidence]) -> tuple[str, ...]:
        told = (f"{e.target}: {e.note}" for e in evidence if e.note)
        return tuple(dict.fromkeys(paths.rewrite(text, self.services.root) for text in told))

    # the marker

    def _begin(self) -> Marker:
        services, session = self.services, self.session
        old = safety.read(services.state, session.id)
        marker = Marker(session=session.id, at=stamp(services.now()), reason=self.reason)
        if old is not None:
            marker = evolve(marker, attempts=old.attempts + 1, blocked=old.blocked, key=old.key, pending=old.pending)
        try:
            safety.begin(services.state, marker)
        except HoldfastError as error:
            return self._unmarked(error)
        return marker

    def _unmarked(self, error: HoldfastError) -> Marker:
        raise FlushRefused(
            f"Not even the UNSAFE marker can be written: {error.message} Context is kept.",
            next_step=error.next_step,
            target="state",
        ) from error

    def _failed(self, marker: Marker, error: HoldfastError) -> NoReturn:
        """Leave the marker, with what went wrong, and refuse."""
        current = safety.read(self.services.state, self.session.id) or marker
        target = error.target if isinstance(error, FlushRefused) and error.target else self.step
        strict = isinstance(error, FlushRefused) and bool(error.missing)
        try:
            safety.failed(
                self.services.state,
                current,
                error=paths.rewrite(error.message, self.services.root),
                next_step=error.next_step,
                target=target,
                blocked=strict,
            )
        except HoldfastError as second:
            logger.error("the UNSAFE marker could not be updated: %s", second)  # noqa: TRY400 - the cause is raised below
        logger.warning("flush of session %s failed at %s", self.session.id, target)
        if isinstance(error, FlushRefused):
            if not error.target:
                error.target = target
            raise error
        raise FlushRefused(
            f"{error.message} The session is UNSAFE and nothing was dropped.",
            next_step=error.next_step,
            target=target,
        ) from error

    def _repeat(self, receipt: Receipt) -> Receipt:
        """Answer an earlier flush that still stands; an agent that takes over is put into its handoff."""
        if self.agent and any(w.surface == Surface.HANDOFF for w in receipt.written):
            mine = self.session.id
            self._change_handoff(
                lambda entries: (evolve(w, agent=self.agent) if w.session == mine else w for w in entries)
            )
        safety.clear(self.services.state, self.session.id)
        pending = self._pending(receipt.evidence)
        over = () if pending else self._notes(receipt.evidence)  # what waited then has been published since
        warnings = [w for w in receipt.warnings if w not in over]
        return evolve(receipt, repeated=True, pending=pending, warnings=warnings)

    # checks

    def _nothing(self) -> Receipt:
        return Receipt(
            flush_id="",
            session_id=self.session.id,
            reason=self.reason,
            at=self.services.now(),
            warnings=("There is nothing to flush: the session is empty.",),
        )

    def _still_stored(self, receipt: Receipt) -> bool:
        """Whether the blocks of an earlier receipt still stand and its handoff was not lost."""
        if not receipt.written:
            return False
        for written in receipt.written:
            document = self.services.store.read(written.name)
            if document is None:
                return False
            if (
                written.surface in (Surface.DAILY, Surface.TRAIL)
                and block_marker(receipt.flush_id) not in document.text
            ):
                return False
            if written.surface == Surface.HANDOFF:
                entries = handoff.parse(document.text, written.name)
                if not any(w.session == receipt.session_id for w in entries):
                    return False
        return True

    def _warn_of_clock(self, note: Document | None, at: datetime) -> None:
        last = notes.last_stamp(note.text) if note else None
        if last is not None and at < last - timedelta(seconds=1):
            self.warnings.append(
                f"The clock went back: the note's last block is of {last:%H:%M:%S} UTC. The order of writing is kept."
            )
