"""Flushes that wait for the store's server, for the API and for core, and how they are written there: in order, each
exactly as its flush would have written it.

Every step is idempotent by the flush's id: blocks, the handoff entry, curated lines, published comments and stated
facts. A process killed at any point leaves the flush in the spool, and the next one completes it.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from attrs import evolve, frozen

from holdfast.config.layout import Surface
from holdfast.config.serde import flushed_payload, stamp, unstructure
from holdfast.errors import FlushRefused, HoldfastError, Unavailable
from holdfast.flush import handoff, notes, verify
from holdfast.flush.apply import Documents, is_newer
from holdfast.journal.journal import Journal
from holdfast.storage import block_marker, deadline
from holdfast.text.lazy import log
from holdfast_app.spool.kept import FILE, Kept, Spool, sentence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from contextlib import AbstractContextManager

    from holdfast.models import Payload, Receipt
    from holdfast_app import lastbrief
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


@frozen
class Spooled:
    """Flushes that are durable on this machine alone: :attr:`holdfast.Holdfast.spool`, and for core ``services.spool``
    (:class:`holdfast.flush.interfaces.Spool`). See docs/spool.md."""

    _services: Services

    def items(self) -> list[Kept]:
        """The waiting flushes, in order. A damaged line is an item without a receipt. Raises: Unavailable."""
        return Spool(self._services.state).items()

    @property
    def sentence(self) -> str:
        """How many flushes wait, since when and for which server; empty when none waits. Raises: Unavailable."""
        return sentence(self.items(), self._services.config.tz)

    @property
    def is_on(self) -> bool:
        """Whether flushes may be kept, because the setting is on and the store is on a server."""
        return self._services.keeps_flushes

    def text(self) -> str:
        """The note blocks of the waiting flushes, oldest first, redacted. Raises: Unavailable, PluginError."""
        return self.unshipped().text()

    def keeping_brief(self) -> AbstractContextManager[Callable[[str], None]]:
        """See :func:`holdfast_app.spool.lastbrief.keeping`."""
        from holdfast_app import lastbrief

        return lastbrief.keeping(self._services)

    def last_brief(self) -> lastbrief.Kept | None:
        """The newest brief of this store that an agent's start read on this machine; None if there is none."""
        from holdfast_app import lastbrief

        return lastbrief.read(self._services)

    def send(self, *, limit_s: float = 60.0) -> Shipped:
        """Write them to the store, oldest first, for ``limit_s`` seconds at most. Never raises.

        It stops at the first flush that the server does not take now. A flush that fails for another reason
        keeps the later ones of its session back, not those of other sessions.
        """
        if not self._services.waits(FILE):
            return Shipped()
        spool, ends = Spool(self._services.state), time.monotonic() + limit_s
        try:
            with spool.writing(timeout_s=limit_s):
                return self._send(spool, ends)
        except HoldfastError as error:
            logger.warning("kept flushes could not be written: %s", error.message)
            try:
                return Shipped(left=tuple(spool.items()), down=error)
            except HoldfastError:
                return Shipped(down=error)

    def _send(self, spool: Spool, ends: float) -> Shipped:
        written: list[Kept] = []
        held: set[str] = set()
        down: HoldfastError | None = None
        with deadline(max(0.1, ends - time.monotonic())):
            for one in spool.items():
                if one.is_damaged or one.session in held:
                    continue
                if time.monotonic() >= ends:
                    down = Unavailable(f"{self.server} is slow, so kept flushes still wait.")
                    break
                try:
                    _ship(self._services, one)
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

    # for a flush

    @property
    def server(self) -> str:
        """The store's server, for people."""
        backend = self._services.store.backend
        return backend.where() or backend.name

    def patience(self) -> AbstractContextManager[None]:
        """A limit for the server's answers to one flush."""
        return deadline(PATIENCE_S)

    def send_before(self, last: Receipt | None, flushed: dict[str, Any] | None) -> Shipped:
        """:meth:`send`, before a flush of a session with the last flush ``last``, which is kept again first if it
        waited and the spool has lost it. Raises: FlushRefused when it cannot be kept again; Unavailable."""
        waited = last is not None and last.spooled and last.summary != notes.PURGED
        if last is not None and flushed and waited and not self.waits_for(last):
            self.keep(last, flushed, None)
        return self.send(limit_s=PATIENCE_S)

    def keep(self, receipt: Receipt, flushed: dict[str, Any], why: HoldfastError | None) -> None:
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
            Spool(self._services.state).put(kept)
        except Unavailable as error:
            message = (
                f"{kept.error} The flush could not be kept on this machine either: {error.message} Context is kept."
            )
            raise FlushRefused(message.lstrip(), next_step=error.next_step, target="spool") from error

    def waits_for(self, receipt: Receipt) -> str:
        """The server that the flush of ``receipt`` still waits for; empty when it is stored. Raises: Unavailable."""
        return next((one.server for one in self.items() if one.id == receipt.flush_id), "")

    def unshipped(self) -> Unshipped:
        """The waiting flushes as they are now. Raises: Unavailable."""
        items = self.items()
        whole = tuple(one for one in items if one.receipt is not None)
        return Unshipped(kept=whole, sentence=sentence(items, self._services.config.tz), services=self._services)

    def restore(self, flushes: Iterable[tuple[Receipt, dict[str, Any]]]) -> tuple[int, int]:
        """Keep the missing ``flushes`` again, and move damaged lines to files of their own. Returns the
        number of both. Raises: FlushRefused; Unavailable."""
        spool = Spool(self._services.state)
        known = {one.id for one in spool.items()}
        again = [pair for pair in flushes if pair[0].flush_id not in known]
        for receipt, flushed in again:
            self.keep(receipt, flushed, None)
        return len(again), spool.set_aside()


@frozen(kw_only=True)
class Unshipped:
    """The kept flushes, oldest first, and one sentence about them."""

    kept: tuple[Kept, ...]
    sentence: str
    _services: Services

    def work(self, entries: tuple[handoff.Work, ...]) -> tuple[handoff.Work, ...]:
        """The handoff's entries as they will be once the kept flushes are stored."""
        for one in self.kept:
            work = handoff.of(
                flushed_payload(one.flushed),
                session=one.session,
                flush=one.id,
                note=self._note(one),
                agent=str(one.flushed.get("agent", "")),
                at=stamp(one.at),
            )
            if any(is_newer(entry, work, self._services.state) for entry in entries):
                continue
            if work.is_open or work.rules or entries:
                before = next((entry.rules for entry in entries if entry.session == work.session), ())
                standing = self._services.standing
                work = evolve(work, rules=handoff.ruled(before, work.rules, standing))
                entries = handoff.put(entries, work, standing)
        return entries

    def notes(self, days: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
        """The notes, name and text, with the blocks of kept flushes that they lack."""
        found = dict(days)
        for one in self.kept:
            name = self._note(one)
            if block_marker(one.id) not in found.get(name, ""):
                found[name] = found.get(name, "") + self._block(one)
        return tuple(sorted(found.items()))

    def text(self) -> str:
        """The blocks, oldest first."""
        return "".join(map(self._block, self.kept)).strip()

    def _note(self, one: Kept) -> str:
        return self._services.layout.name(Surface.DAILY, one.at.astimezone(self._services.config.tz).date())

    def _block(self, one: Kept) -> str:
        assert one.receipt is not None
        at = one.at.astimezone(self._services.config.tz)
        block = notes.of_receipt(one.receipt, at=at, overrides=one.flushed.get("overrides", ()))
        return self._services.gate.outgoing(block, surface=str(Surface.DAILY), name=self._note(one))


def _ship(services: Services, one: Kept) -> None:
    """Write one kept flush to the store, publish it, and record its receipt in the journal. Raises: Conflict, Corrupt,
    Unavailable, Refused, PluginError, FlushRefused."""
    assert one.receipt is not None
    from holdfast_app.facts.flushing import FlushedFacts

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
