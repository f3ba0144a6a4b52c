"""Flushes that wait for the store's server, for the API and for core. What sends them is imported when it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import evolve, frozen

from holdfast.config.layout import Surface
from holdfast.config.serde import flushed_payload, stamp
from holdfast.flush import handoff, notes
from holdfast.flush.apply import is_newer
from holdfast.storage import block_marker, deadline
from holdfast_app.spool.kept import Kept, Spool, sentence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from contextlib import AbstractContextManager

    from holdfast.errors import HoldfastError
    from holdfast.models import Receipt
    from holdfast_app import lastbrief
    from holdfast_app.base import Services
    from holdfast_app.spool.shipping import Shipped


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
        """Write them to the store, oldest first, for ``limit_s`` seconds at most. Never raises."""
        from holdfast_app.spool import shipping

        return shipping.ship(self._services, limit_s=limit_s)

    # for a flush

    @property
    def server(self) -> str:
        """The store's server, for people."""
        backend = self._services.store.backend
        return backend.where() or backend.name

    def patience(self) -> AbstractContextManager[None]:
        """A limit for the server's answers to one flush."""
        from holdfast_app.spool import shipping

        return deadline(shipping.PATIENCE_S)

    def send_before(
        self, session: str, last: Receipt | None, flushed: dict[str, Any] | None
    ) -> tuple[HoldfastError | None, bool]:
        """See :meth:`holdfast.flush.interfaces.Spool.send_before`."""
        from holdfast_app.spool import shipping

        shipped = shipping.ship_before(self._services, last, flushed)
        return shipped.down, session in {one.session for one in shipped.left}

    def keep(self, receipt: Receipt, flushed: dict[str, Any], why: HoldfastError | None) -> None:
        """See :func:`holdfast_app.spool.shipping.keep`."""
        from holdfast_app.spool import shipping

        shipping.keep(self._services, receipt, flushed, why)

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
