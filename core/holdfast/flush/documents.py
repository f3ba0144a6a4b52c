"""The documents that one flush writes: daily note, daily summary, handoff, curated memory. Each is read back.

When a flush is written again because some of it was lost, the intact documents are not written again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from attrs import define, field

from holdfast.config.layout import ARCHIVE, Surface
from holdfast.config.serde import flushed_payload, stamp
from holdfast.errors import Corrupt
from holdfast.flush import closings, curated, handoff, notes, proof
from holdfast.flush.proof import Proof
from holdfast.journal import order
from holdfast.journal.journal import Journal
from holdfast.storage import block_marker

if TYPE_CHECKING:
    from holdfast.models import CuratedEntry, Fact, Payload, Receipt, Written
    from holdfast.session.services import Services
    from holdfast.session.transaction import Transaction
    from holdfast.storage import Document


def is_newer(entry: handoff.Work, work: handoff.Work, state: str) -> bool:
    """Whether ``entry`` is of a later flush of the session of ``work``: by the journal, or by the clock when the flush
    was made on another machine. Raises: Unavailable."""
    if entry.session != work.session:
        return False
    after = order.is_after(order.flushes(Journal(state, work.session)), entry.flush, work.flush)
    return entry.at > work.at if after is None else after


@define(kw_only=True, eq=False, repr=False)
class Documents:
    """Writes for one session. ``written`` lists the written or still intact documents, in order; ``proof`` is for the
    flush being written again. ``is_later`` marks a flush written after its time: it was kept on this machine, or an
    earlier attempt failed.
    All methods may raise Refused and PluginError from the gate, Corrupt, Unavailable."""

    services: Services
    session_id: str
    proof: Proof = field(factory=Proof)
    written: list[Written] = field(factory=list)
    warnings: list[str] = field(factory=list)
    is_later: bool = False
    _transaction: Transaction | None = field(default=None, init=False)

    def read_ahead(self, at: datetime) -> None:
        """Read everything that a flush at ``at`` may need, in one round trip, and then collect changes until
        :meth:`finish`. Without effect for a backend that changes one document at a time."""
        services, layout = self.services, self.services.layout
        self._transaction = services.transaction()
        if self._transaction is not None:
            self.services = services.with_store(self._transaction)
            days = (layout.name(surface, at.date()) for surface in (Surface.DAILY, Surface.TRAIL))
            others = (layout.name(surface) for surface in (Surface.HANDOFF, Surface.MEMORY, Surface.USER))
            self._transaction.prefetch([*days, *others])

    def finish(self, sentences: Iterable[object] = ()) -> None:
        """Make the collected changes, all or none of them, and read them back. When a fact with any of ``sentences``
        could replace another, this reads :attr:`facts` in the same round trip."""
        if self._transaction is not None:
            from holdfast.facts.relation import read

            replaces = any(isinstance(one, str) and read(one).frames for one in sentences)
            self.written[:] = self._transaction.commit(self.written, listing=replaces)

    @property
    def facts(self) -> Sequence[Fact] | None:
        """All stored facts after :meth:`finish`; None when it did not read them."""
        return self._transaction.facts if self._transaction is not None else None

    def write_note(self, flush_id: str, at: datetime, render: Callable[[str], str]) -> str:
        """Append the block that ``render`` makes for an id; returns that id. If a block of the same id has different
        text (a user edited it), the id gets a suffix and the new block is appended after it, never skipped."""
        name = self.services.layout.name(Surface.DAILY, at.date())
        stored = self.services.store.read(name)
        if not self.is_later:
            self._warn_of_clock(stored, at)
        return self._append(Surface.DAILY, name, stored, notes.header(at.date()), flush_id, render)

    def _append(
        self,
        surface: Surface,
        name: str,
        stored: Document | None,
        header: str,
        base: str,
        render: Callable[[str], str],
    ) -> str:
        for attempt in range(100):
            block_id = base if attempt == 0 else f"{base}-{attempt + 1}"
            block = self.services.gate.admit(render(block_id), surface=surface, name=name)
            if stored is None or block_marker(block_id) not in stored.text or block.strip("\n") in stored.text:
                self.written.append(self.services.store.append(surface, name, block, header, block_id))
                return block_id
        raise Corrupt(f"{name} holds a hundred edited copies of {base}.", next_step="Clean up the document.")

    def write_trail(self, payload: Payload, flush_id: str, note_name: str, at: datetime) -> None:
        """Append the state mutations to the operator's daily summary."""
        there = self.proof.of(Surface.TRAIL)
        if there is not None:
            self.written.append(there)
            return
        name = self.services.layout.name(Surface.TRAIL, at.date())

        def render(block_id: str) -> str:
            return notes.summary_block(
                payload, block_id=block_id, flush_id=flush_id, note=note_name, session=self.session_id, at=at
            )

        self._append(
            Surface.TRAIL,
            name,
            self.services.store.read(name),
            notes.summary_header(at.date()),
            flush_id.partition("-")[0],
            render,
        )

    def write_handoff(self, payload: Payload, flush_id: str, note_name: str, agent: str, at: datetime) -> None:
        """Put the session's entry into the handoff, or a closed marker when work is not open. Work closed by
        command stays closed when its flush is completed later."""
        name = self.services.layout.name(Surface.HANDOFF)
        work = handoff.of(
            payload, session=self.session_id, flush=flush_id, note=note_name, agent=agent, at=stamp(at.astimezone(UTC))
        )
        if work.is_open and self.proof.lost:  # the flush is written again; later decisions about it still hold
            decided = closings.of_flush(self.services.state, self.session_id, flush_id)
            if decided is not None and not decided.open:
                work = handoff.closed(work, handoff.CLOSED, decided.because)
        if not work.is_open and not self.proof.lost and self.services.store.read(name) is None:
            return
        after: tuple[handoff.Work, ...] = ()

        def update(entries: tuple[handoff.Work, ...]) -> tuple[handoff.Work, ...]:
            nonlocal after
            mine = next((w for w in entries if w.session == work.session and w.flush == flush_id), work)
            newer = next((w for w in entries if self.is_later and is_newer(w, work, self.services.state)), None)
            mine = newer or mine
            after = handoff.put(entries, mine if mine is newer or mine.ended == handoff.CLOSED else work)
            return after

        self.written.append(self.change_handoff(update))
        if crowded := handoff.crowded(after):
            self.warnings.append(crowded)

    def change_handoff(self, update: Callable[[tuple[handoff.Work, ...]], Iterable[handoff.Work]]) -> Written:
        """Change the entries by compare-and-swap."""
        name = self.services.layout.name(Surface.HANDOFF)

        def change(text: str | None) -> str:
            new = handoff.render(update(handoff.parse(text, name) if text else ()))
            return self.services.gate.admit(new, surface=Surface.HANDOFF, name=name, previous=text)

        return self.services.store.change(Surface.HANDOFF, name, change)

    def previous_work(self, missing: Sequence[str]) -> handoff.Work | None:
        """This session's open handoff, when something has to be derived."""
        if not missing:
            return None
        name = self.services.layout.name(Surface.HANDOFF)
        stored = self.services.store.read(name)
        text = self.services.store.sifted(stored).text if stored else ""  # a clone's must not become our own note
        entries = handoff.parse(text, name) if text else ()
        return next((w for w in entries if w.session == self.session_id and w.is_open), None)

    def work_left(self, flushed: Mapping[str, Any] | None) -> handoff.Work | None:
        """The open work that the flush ``flushed`` left, as the session's journal records it. Reads no document."""
        if flushed is None:
            return None
        work = handoff.of(flushed_payload(flushed), session=self.session_id, flush="", note="")
        return work if work.is_open else None

    def write_curated(self, payload: Payload, last: Receipt | None, flush_id: str, at: datetime) -> None:
        """Add the decided lines to curated memory; when the flush of ``last`` is written again, only missing ones. In
        a full document the least confirmed lines go to the archive first."""
        decision = payload.curated
        if decision is None or decision.is_none:
            return
        services = self.services
        for surface, decided in ((Surface.MEMORY, decision.memory), (Surface.USER, decision.user)):
            if not decided:
                continue
            there = self.proof.of(surface)
            if there is not None:
                self.written.append(there)
                continue
            name = services.layout.name(surface)
            entries: Sequence[CuratedEntry] = decided
            if self.proof.lost and last is not None:  # only missing lines, since others may have been evicted
                stored = services.store.read(name)
                entries = proof.missing(services, surface, stored.text if stored else None, decided, last.at)
            absent: list[str] = []
            entries = self._updating(surface, name, entries, flush_id, at)
            gone = self._archive(surface, name, entries, flush_id, at)

            def change(
                text: str | None,
                surface: Surface = surface,
                entries: Sequence[CuratedEntry] = entries,
                name: str = name,
                absent: list[str] = absent,
                gone: Sequence[str] = gone,
            ) -> str:
                absent[:] = curated.not_found(text, entries)
                new = curated.without(curated.apply(text, entries, surface), gone)
                return services.gate.admit(new, surface=surface, name=name, previous=text)

            self.written.append(services.store.change(surface, name, change))
            self.warnings += (f"{name} has no line {old!r} to replace, so the new line was added." for old in absent)
            if gone:
                many = "its least confirmed line" if len(gone) == 1 else f"its {len(gone)} least confirmed lines"
                self.warnings.append(f"{name} was full: {many} moved to {services.layout.archive}.")
            elif stored_now := services.store.read(name):
                near = curated.warning(curated.count(stored_now.text), services.curated_limit, name)
                self.warnings += [near] if near else []

    def _updating(
        self, surface: Surface, name: str, entries: Sequence[CuratedEntry], flush_id: str, at: datetime
    ) -> Sequence[CuratedEntry]:
        """The entries, with the lines that they make out of date. Those lines are archived first."""
        new = curated.updating(self._known_text(name), entries)
        old = [(after.replaces, after.text) for before, after in zip(entries, new, strict=True) if before != after]
        if old:
            self._to_archive(*curated.replaced_block(old, name, flush_id, at))
            self.warnings += [
                f"{name}: a newer value replaced {old_line!r}, which is in {self.services.layout.archive}."
                for old_line, _ in old
            ]
        return new

    def _known_text(self, name: str) -> str | None:
        """A document without withheld passages, which no receipt may quote and no archive may vouch for."""
        stored = self.services.store.read(name)
        return self.services.store.sifted(stored).text if stored else None

    def _to_archive(self, block_id: str, block: str) -> None:
        services = self.services
        block = services.gate.admit(block, surface=Surface.DIARY, name=services.layout.archive)
        services.store.append(Surface.DIARY, services.layout.archive, block, ARCHIVE, block_id)

    def _archive(
        self, surface: Surface, name: str, entries: Sequence[CuratedEntry], flush_id: str, at: datetime
    ) -> list[str]:
        """Move the surplus lines of the document to the archive; returns them. The enabled validators
        enforce the limit."""
        services = self.services
        if not services.validator_limits:
            return []
        after = curated.apply(self._known_text(name), entries, surface)
        dreams = services.dreams
        weights = dreams.weights if dreams else None
        gone = curated.surplus(after, services.curated_limit, [one.text for one in entries], weights=weights)
        if gone:
            self._to_archive(*curated.archive_block(gone, name, flush_id, at))
        return gone

    def _warn_of_clock(self, note: Document | None, at: datetime) -> None:
        last = notes.last_stamp(note.text) if note else None
        if last is not None and at < last - timedelta(seconds=1):
            self.warnings.append(
                f"The clock went back. The note's last block is from {last:%H:%M:%S} UTC. Blocks stay in writing order."
            )
