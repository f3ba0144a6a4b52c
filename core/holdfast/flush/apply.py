"""Step 3 of a flush: write the daily note, daily summary, handoff and curated memory, in one transaction where the
store can. Each document is read back. When a flush is written again because some of it was lost, the intact documents
are not written again.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime

from attrs import define, evolve, field

from holdfast.config.layout import Surface
from holdfast.config.serde import stamp
from holdfast.errors import Corrupt
from holdfast.flush import curated, handoff, notes, verify
from holdfast.flush.verify import Proof
from holdfast.journal import order
from holdfast.models import CuratedEntry, Fact, Payload, Receipt, Written
from holdfast.services.services import Services
from holdfast.services.store import Store
from holdfast.services.transaction import Step, Transaction
from holdfast.storage import Capability, Document, block_marker


def is_newer(entry: handoff.Work, work: handoff.Work, services: Services) -> bool:
    """Whether ``entry`` is of a later flush of the session of ``work``: by the journal, or by the clock when the flush
    was made on another machine. Raises: Unavailable."""
    if entry.session != work.session:
        return False
    after = order.is_after(order.flushes(services.journal(work.session)), entry.flush, work.flush)
    return entry.at > work.at if after is None else after


@define(kw_only=True, eq=False, repr=False)
class Documents:
    """Writes for one session. ``proof`` is for the flush being written again. ``is_later`` marks a flush written late,
    after being kept on this machine or a failed attempt; ``given_up`` are those given up before it, whatever the clock
    showed. ``step`` names what is being written. All methods may raise Refused, PluginError, Corrupt, Unavailable."""

    services: Services
    session_id: str
    proof: Proof = field(factory=Proof)
    _parts: list[Written | Step] = field(factory=list, init=False)
    warnings: list[str] = field(factory=list)
    is_later: bool = False
    given_up: Sequence[str] = ()
    step: str = ""
    _transaction: Transaction | None = field(default=None, init=False)

    @property
    def written(self) -> list[Written]:
        """The written or still intact documents, in order."""
        return [part for part in self._parts if isinstance(part, Written)]

    @property
    def _store(self) -> Store | Transaction:
        return self._transaction or self.services.store

    def read_ahead(self, at: datetime) -> None:
        """Read everything that a flush at ``at`` may need, in one round trip, and then collect changes until
        :meth:`finish`. Without effect for a backend that changes one document at a time."""
        store, layout = self.services.store, self.services.layout
        if Capability.TRANSACTIONS in store.backend.capabilities:
            days = [layout.name(surface, at.date()) for surface in (Surface.DAILY, Surface.TRAIL)]
            others = [layout.name(surface) for surface in (Surface.HANDOFF, Surface.MEMORY, Surface.USER)]
            self._transaction = Transaction(store, [*days, *others])

    def note(self, at: datetime) -> Document | None:
        """The day's note, as it is now on this machine; None, too, when this flush need not write to it."""
        self.step = "daily note"
        store = self._store if self.services.is_remote else self.services.store
        return None if self.proof.of(Surface.DAILY) else store.read(self.services.layout.name(Surface.DAILY, at.date()))

    def write(
        self,
        payload: Payload,
        flush_id: str,
        at: datetime,
        block: Callable[[str], str],
        *,
        note: Document | None,
        agent: str = "",
        last: Receipt | None = None,
        drafted: Iterable[object] = (),
    ) -> str:
        """Write one flush's documents and read them back. ``block`` makes the block of ``note`` for an id; ``last`` is
        a repeated flush's receipt. ``drafted`` are facts of extractors. Returns the block's id."""
        name = self.services.layout.name(Surface.DAILY, at.date())
        intact = self.proof.of(Surface.DAILY)
        if last is not None and intact is not None:
            flush_id = last.flush_id
            self._parts.append(intact)
        else:
            flush_id = self._append(Surface.DAILY, name, note, notes.header(at.date()), flush_id, block)
        if payload.state_mutations:
            self.step = "daily summary"
            self._write_trail(payload, flush_id, name, at)
        self.step = "handoff"
        self._write_handoff(payload, flush_id, name, agent, at)
        self.step = "curated memory"
        if payload.curated is not None:
            self._write_curated(Surface.MEMORY, payload.curated.memory, last, flush_id, at)
            self._write_curated(Surface.USER, payload.curated.user, last, flush_id, at)
        self.step = "documents"
        self.finish([*(payload.facts or ()), *drafted])
        self.step = ""
        return flush_id

    def finish(self, sentences: Iterable[object] = ()) -> None:
        """Make the collected changes, all or none of them, and read them back. With ``sentences``, which
        facts may come of, this reads :attr:`facts` in the same round trip."""
        if self._transaction is not None:
            self._parts[:] = self._transaction.commit(self._parts, listing=any(map(bool, sentences)))

    @property
    def facts(self) -> Sequence[Fact] | None:
        """All stored facts after :meth:`finish`; None when it did not read them."""
        return self._transaction.facts if self._transaction is not None else None

    def change_handoff(self, update: Callable[[tuple[handoff.Work, ...]], Iterable[handoff.Work]]) -> None:
        name = self.services.layout.name(Surface.HANDOFF)

        def change(text: str | None) -> str:
            new = handoff.render(update(handoff.parse(text, name) if text else ()))
            return self.services.gate.admit(new, surface=Surface.HANDOFF, name=name, previous=text)

        self._change(Surface.HANDOFF, name, change)

    def entries(self) -> tuple[handoff.Work, ...]:
        """The handoff's entries, without withheld ones, because a clone's must not become our own."""
        name = self.services.layout.name(Surface.HANDOFF)
        stored = self._store.read(name)  # no receipt may quote a withheld passage, and no archive vouch for it
        text = self.services.store.for_agents(stored) if stored else ""
        return handoff.parse(text, name) if text.strip() else ()

    # one document each

    def _change(self, surface: Surface, name: str, change: Callable[[str | None], str]) -> None:
        if any(isinstance(part, Step) and part.name == name for part in self._parts):  # a layout may join two surfaces
            self.finish()
        self._parts.append(self._store.change(surface, name, change))

    def _append(
        self, surface: Surface, name: str, stored: Document | None, header: str, base: str, render: Callable[[str], str]
    ) -> str:
        """Append the block that ``render`` makes for an id; returns that id. If a block of the same id has different
        text (a user edited it), the id gets a suffix and the new block is appended after it, never skipped."""
        for attempt in range(100):
            block_id = base if attempt == 0 else f"{base}-{attempt + 1}"
            block = self.services.gate.admit(render(block_id), surface=surface, name=name)
            if stored is None or block_marker(block_id) not in stored.text or block.strip("\n") in stored.text:
                self._parts.append(self._store.append(surface, name, block, header, block_id))
                return block_id
        raise Corrupt(f"{name} holds a hundred edited copies of {base}.", next_step="Clean up the document.")

    def _write_trail(self, payload: Payload, flush_id: str, note: str, at: datetime) -> None:
        intact = self.proof.of(Surface.TRAIL)
        if intact is not None:
            self._parts.append(intact)
            return
        name = self.services.layout.name(Surface.TRAIL, at.date())

        def block(block_id: str) -> str:
            return notes.summary_block(payload, block_id=block_id, flush_id=flush_id, note=note, at=at)

        base, header = flush_id.partition("-")[0], notes.summary_header(at.date())
        self._append(Surface.TRAIL, name, self._store.read(name), header, base, block)

    def _write_handoff(self, payload: Payload, flush_id: str, note: str, agent: str, at: datetime) -> None:
        """Put the session's entry into the handoff, or a closed marker when work is not open. Work closed by
        command stays closed when its flush is completed later."""
        written_again = bool(self.proof.lost)
        work = handoff.of(
            payload, session=self.session_id, flush=flush_id, note=note, agent=agent, at=stamp(at.astimezone(UTC))
        )
        # Later decisions about it still hold.
        decided = self.services.decided(self.session_id, flush_id) if work.is_open and written_again else None
        if decided is not None and not decided.is_open:
            work = handoff.closed(work, handoff.CLOSED, decided.because)
        name = self.services.layout.name(Surface.HANDOFF)
        if not (work.is_open or work.rules or written_again) and self._store.read(name) is None:
            return
        known = self.entries()
        before = next((w for w in known if w.session == self.session_id), None)
        standing = self.services.standing
        stated = work.rules
        work = evolve(work, rules=handoff.ruled(before.rules if before else (), stated, standing))
        after: tuple[handoff.Work, ...] = ()

        def update(entries: tuple[handoff.Work, ...]) -> tuple[handoff.Work, ...]:
            nonlocal after
            if any(w.flush == flush_id for w in entries):  # a killed try's is this machine's, too
                self.services.store.record(name, "", handoff.render([work]))
            new = next((w for w in entries if w.session == work.session and w.flush == flush_id), work)
            new = new if new.ended == handoff.CLOSED and decided is None else work
            later = [w for w in entries if self.is_later and w.flush not in self.given_up]
            newer = next((w for w in later if is_newer(w, work, self.services)), None)
            # Withheld work comes last, because it must not push what this machine knows out of a full handoff.
            after = handoff.put(sorted(entries, key=lambda w: w not in known), newer or new, standing, stated)
            return after

        self.change_handoff(update)
        if crowded := handoff.crowded(after):
            self.warnings.append(crowded)

    def _write_curated(
        self, surface: Surface, entries: Sequence[CuratedEntry], last: Receipt | None, flush_id: str, at: datetime
    ) -> None:
        """Add the decided lines to a curated document; when the flush of ``last`` is written again, only missing
        ones."""
        if not entries:
            return
        services = self.services
        intact = self.proof.of(surface)
        if intact is not None:
            self._parts.append(intact)
            return
        name = services.layout.name(surface)
        stored = self._store.read(name)
        if self.proof.lost and last is not None:  # only missing lines, since others may have been evicted
            entries = verify.missing(services, surface, stored.text if stored else None, entries, last.at)
        room = services.room(surface, stored, entries, flush_id, at)
        absent: list[str] = []

        def change(text: str | None) -> str:
            absent[:] = curated.not_found(text, room.entries)
            new = curated.without(curated.apply(text, room.entries, surface), room.gone)
            return services.gate.admit(new, surface=surface, name=name, previous=text)

        self._change(surface, name, change)
        self.warnings += (f"{name} has no line {old!r} to replace, so the new line was added." for old in absent)
        self.warnings += room.warnings
