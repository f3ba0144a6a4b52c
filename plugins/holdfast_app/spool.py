"""Flushes kept on this machine until the store's server takes them: ``memory.spool`` and ``holdfast spool``.

``state/spool.jsonl`` has one checksummed line per flush, in order. A line holds the complete, redacted flush: payload,
summary, time, id and receipt. So it can be written to the server later as it would have been written then, and writing
it twice changes nothing: blocks, the handoff entry, curated lines, published comments and stated facts are known by the
flush's id. A line goes only after the server has shown everything it proves. A damaged line stays where it is until it
is repaired from the journal.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from attrs import evolve, field, frozen

from holdfast.config.layout import Surface
from holdfast.config.serde import flushed_payload, stamp, unstructure
from holdfast.errors import FlushRefused, HoldfastError, Unavailable
from holdfast.flush import handoff, notes, pipeline, plan, record, verify
from holdfast.flush.apply import Documents, is_newer
from holdfast.flush.check import check
from holdfast.flush.plan import Attempt
from holdfast.fs import durable, private
from holdfast.journal import safety
from holdfast.models import Receipt
from holdfast.storage import block_marker, deadline
from holdfast_app.base import Services
from holdfast_app.durable_queue import DurableQueue, damaged_id
from holdfast_app.journal.journal import Journal

FILE: Final = private.SPOOL
#: Seconds that a flush gives the server before it is kept on this machine. Clients wait about 50 s for all of it.
PATIENCE_S: Final = 12.0
#: Journal record for a kept flush that is on the server now.
SHIPPED: Final = "shipped"


@frozen(kw_only=True)
class Kept:
    """One kept flush. ``id`` is the flush's, ``at`` the flush's time, ``server`` the store it is for. ``flushed`` is
    the flush as the journal records it. ``error`` and ``next_step`` describe the last failure. A damaged line has no
    receipt."""

    id: str
    session: str
    at: datetime
    server: str
    receipt: Receipt | None = None
    flushed: dict[str, Any] = field(factory=dict, repr=False)
    error: str = ""
    next_step: str = ""

    @property
    def is_damaged(self) -> bool:
        return self.receipt is None


class Shipped(NamedTuple):
    """``written`` are on the server now, ``left`` still wait. ``down`` is the error when it did not answer."""

    written: Sequence[Kept] = ()
    left: Sequence[Kept] = ()
    down: HoldfastError | None = None


class Spool(DurableQueue[Kept]):
    """Flushes that are durable on this machine alone: :attr:`holdfast.Holdfast.spool`. A damaged line is an item
    without a receipt. Methods may raise Unavailable. See docs/spool.md."""

    def __init__(self, services: Services) -> None:
        super().__init__(os.path.join(services.state, FILE), Kept, damaged=_damaged)
        self._services = services

    @property
    def sentence(self) -> str:
        """How many flushes wait, since when and for which server; empty when none waits."""
        return self._sentence(self.items())

    @property
    def is_on(self) -> bool:
        """Whether flushes may be kept, because the setting is on and the store is on a server."""
        return self._services.keeps_flushes

    @property
    def server(self) -> str:
        """The store's server, for people."""
        backend = self._services.store.backend
        return backend.where() or backend.name

    def text(self) -> str:
        """The note blocks of the waiting flushes, oldest first, redacted. Raises: PluginError, too."""
        return self.unshipped().text()

    def waits_for(self, receipt: Receipt) -> str:
        """The server that the flush of ``receipt`` still waits for; empty when it is stored."""
        return next((flush.server for flush in self.items() if flush.id == receipt.flush_id), "")

    def unshipped(self) -> Unshipped:
        items = self.items()
        whole = tuple(flush for flush in items if flush.receipt is not None)
        return Unshipped(kept=whole, sentence=self._sentence(items), services=self._services)

    def keep(self, receipt: Receipt, flushed: dict[str, Any], why: HoldfastError | None) -> None:
        """Keep a flush, durably on return. ``why`` is the server's error. Raises: FlushRefused."""
        reason, step = (why.message, why.next_step) if why else ("", "")
        flush = Kept(
            id=receipt.flush_id,
            session=receipt.session_id,
            at=receipt.at,
            server=receipt.spooled,
            receipt=receipt,
            flushed=flushed,
            error=reason,
            next_step=step,
        )
        try:
            self.put([flush], renew=True)
        except Unavailable as error:
            message = f"{reason} The flush could not be kept on this machine either: {error.message} Context is kept."
            raise FlushRefused(message.lstrip(), next_step=error.next_step, target="spool") from error

    def restore(self, flushes: Iterable[tuple[Receipt, dict[str, Any]]]) -> tuple[int, int]:
        """Keep the missing ``flushes`` again, and move damaged lines to files of their own. Returns the
        number of both. Raises: FlushRefused, too."""
        rows = self.rows()
        known = {row.item.id for row in rows if row.item}
        again = [pair for pair in flushes if pair[0].flush_id not in known]
        for receipt, flushed in again:
            self.keep(receipt, flushed, None)
        damaged = {row.item.id: row.line for row in rows if row.item and row.item.is_damaged}
        for name, line in damaged.items():
            durable.replace(os.path.join(self._services.state, f"spool.{name}"), line)
        self.remove(damaged)
        return len(again), len(damaged)

    def send(self, *, limit_s: float = 60.0) -> Shipped:
        """Write the waiting flushes to the store, for ``limit_s`` seconds at most. Never raises.

        It stops at the first flush that the server does not take now. A flush that fails for another reason keeps the
        later ones of its session back, not those of other sessions.
        """
        if not self._services.waits(FILE):
            return Shipped()
        try:
            with deadline(limit_s), self.sending(timeout_s=limit_s):
                return self._send()
        except HoldfastError as error:
            try:
                return Shipped(left=self.items(), down=error)
            except HoldfastError:
                return Shipped(down=error)

    def _send(self) -> Shipped:
        written: list[Kept] = []
        held: set[str] = set()
        down: HoldfastError | None = None
        for flush in self.items():
            if flush.receipt is None or flush.session in held:
                continue
            try:
                _write(self._services, flush.receipt, flush.flushed)
            except HoldfastError as error:
                self._failed(flush, error)
                held.add(flush.session)
                if isinstance(error, Unavailable):
                    down = error
                    break
            else:
                self.remove([flush.id])
                written.append(flush)
        return Shipped(written, self.items(), down)

    def _failed(self, flush: Kept, error: HoldfastError) -> None:
        """Record why a flush could not be written, unless it is recorded already."""
        if (flush.error, flush.next_step) != (error.message, error.next_step):
            tried = evolve(flush, error=error.message, next_step=error.next_step)
            self.update(lambda item: tried if item.id == flush.id else item)

    def _sentence(self, items: Iterable[Kept]) -> str:
        whole = [flush for flush in items if not flush.is_damaged]
        if not whole:
            return ""
        servers = ", ".join(dict.fromkeys(flush.server for flush in whole))
        many = "1 flush is" if len(whole) == 1 else f"{len(whole):,} flushes are"
        since = min(flush.at for flush in whole).astimezone(self._services.config.tz)
        return f"{many} kept on this machine, not yet on {servers}, since {since:%Y-%m-%d %H:%M}."


def _damaged(line: bytes) -> Kept:
    return Kept(
        id=damaged_id(line),
        session="",
        at=datetime(1970, 1, 1, tzinfo=UTC),
        server="",
        error=f"A line of state/{FILE} is damaged.",
        next_step="Run `holdfast doctor --fix`: it restores the flush from its session's journal.",
    )


def take(services: Services, attempt: Attempt) -> Receipt:
    """Flush as :func:`holdfast.flush.pipeline.take`, after the flushes that wait. It is kept on this machine while the
    server does not take it, if the settings permit that."""
    spool, session = Spool(services), attempt.session
    down: HoldfastError | None = None
    waits = False

    def before() -> None:
        nonlocal down, waits
        last, flushed = session.last_receipt, session.last_flush
        if last is not None and flushed and last.spooled and last.summary != notes.PURGED and not spool.waits_for(last):
            spool.keep(last, flushed, None)  # the spool has lost it
        shipped = spool.send(limit_s=PATIENCE_S)
        down, waits = shipped.down, session.id in {flush.session for flush in shipped.left}
        session.catch_up()  # a receipt may have its documents now

    def write(attempt: Attempt) -> Receipt:
        keeps = services.keeps_flushes
        if keeps and (down or waits):
            return _keep(services, attempt, down)
        try:
            with deadline(PATIENCE_S) if keeps else nullcontext():
                return pipeline.take_steps(attempt)
        except Unavailable as error:
            if not keeps or attempt.step in record.VERIFIED:
                raise
            explain(services, error)
            return _keep(services, attempt, error)

    def unchecked(last: Receipt) -> Receipt:
        warning = f"{spool.server} does not answer, so the earlier flush was not compared with it again."
        receipt = record.repeat(attempt, last)
        return evolve(receipt, warnings=(*receipt.warnings, warning))

    receipt = pipeline.take(
        attempt, before=before, write=write, unchecked=unchecked if services.keeps_flushes else None
    )
    return evolve(receipt, spooled=spool.waits_for(receipt)) if receipt.repeated else receipt


def _keep(services: Services, attempt: Attempt, why: HoldfastError | None) -> Receipt:
    """Keep the flush on this machine, because the server does not take it now. Raises: as the first steps of a flush;
    FlushRefused when it cannot be kept here either."""
    from holdfast_app.facts.flushing import enqueue

    spool, session, attempt.offline = Spool(services), attempt.session, True
    attempt.documents = Documents(services=services, session_id=session.id)
    attempt.step = "collect"
    attempt.marker = safety.read(services.state, session.id) or attempt.marker
    made = plan.make(attempt)
    if made is None:
        return record.nothing_left(attempt)
    made = check(attempt, made)
    receipt = evolve(record.receipt_of(attempt, made, made.flush_id(session.id)), spooled=spool.server)
    attempt.step = "spool"
    spool.keep(receipt, made.flushed(), why)
    extractors = list(services.plugins.extractors())
    attempt.queued += enqueue(services, session.id, attempt.messages, extractors, flush=receipt.flush_id)
    return record.finish(attempt, made, receipt)


def _write(services: Services, receipt: Receipt, flushed: dict[str, Any]) -> None:
    """Write one kept flush to the store, publish it, and record its receipt in the journal. Raises: Conflict, Corrupt,
    Unavailable, Refused, PluginError, FlushRefused."""
    from holdfast_app.facts.flushing import state_late

    services.plugins.require_all()
    payload, session = flushed_payload(flushed), receipt.session_id
    documents = Documents(services=services, session_id=session, is_later=True)
    at = receipt.at.astimezone(services.config.tz)
    documents.read_ahead(at)
    overrides = tuple(flushed.get("overrides", ()))
    written_id = documents.write(
        payload,
        receipt.flush_id,
        at,
        lambda block_id: notes.of_receipt(evolve(receipt, flush_id=block_id), at=at, overrides=overrides),
        note=documents.note(at),
        agent=str(flushed.get("agent", "")),
    )
    warnings = (*receipt.warnings, *documents.warnings)
    done = evolve(receipt, flush_id=written_id, written=documents.written, warnings=warnings, spooled="")
    done = verify.publish(services, payload, done)
    unstored = state_late(services, payload, session=session, flush=receipt.flush_id, at=done.at)
    done = evolve(done, warnings=(*done.warnings, *unstored))
    journal = Journal(services.state, session)
    if journal.exists():
        journal.append({"kind": SHIPPED, "at": stamp(services.now()), "receipt": unstructure(done)})


@frozen(kw_only=True)
class Unshipped:
    """The kept flushes, oldest first, and one sentence about them."""

    kept: tuple[Kept, ...]
    sentence: str
    _services: Services

    def work(self, entries: tuple[handoff.Work, ...]) -> tuple[handoff.Work, ...]:
        """The handoff's entries as they will be once the kept flushes are stored."""
        for flush in self.kept:
            work = handoff.of(
                flushed_payload(flush.flushed),
                session=flush.session,
                flush=flush.id,
                note=self._note(flush),
                agent=str(flush.flushed.get("agent", "")),
                at=stamp(flush.at),
            )
            if any(is_newer(entry, work, self._services) for entry in entries):
                continue
            if work.is_open or work.rules or entries:
                before = next((entry.rules for entry in entries if entry.session == work.session), ())
                rules, standing = work.rules, self._services.standing
                work = evolve(work, rules=handoff.ruled(before, rules, standing))
                entries = handoff.put(entries, work, standing, rules)
        return entries

    def notes(self, days: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
        """The notes, name and text, with the blocks of kept flushes that they lack."""
        texts = dict(days)
        for flush in self.kept:
            name = self._note(flush)
            if block_marker(flush.id) not in texts.get(name, ""):
                texts[name] = texts.get(name, "") + self._block(flush)
        return tuple(sorted(texts.items()))

    def text(self) -> str:
        return "".join(map(self._block, self.kept)).strip()

    def _note(self, flush: Kept) -> str:
        return self._services.layout.name(Surface.DAILY, flush.at.astimezone(self._services.config.tz).date())

    def _block(self, flush: Kept) -> str:
        assert flush.receipt is not None
        at = flush.at.astimezone(self._services.config.tz)
        block = notes.of_receipt(flush.receipt, at=at, overrides=flush.flushed.get("overrides", ()))
        return self._services.gate.outgoing(block, surface=str(Surface.DAILY), name=self._note(flush))


def explain(services: Services, error: HoldfastError) -> None:
    """Add the server's address to the error for a flush that it did not take, and mention that flushes can be kept."""
    address = services.store.backend.where()
    if not services.is_remote:
        return
    if address and address not in error.message:
        error.message = f"{error.message} The store is {address}."
    if not services.config.storage.spool:
        error.next_step = (
            f"{error.next_step} With `[storage] spool = true` in your own settings a flush is kept on this machine "
            "while the server is away (docs/spool.md)."
        ).lstrip()
