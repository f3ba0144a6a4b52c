"""Flushes that wait for the store's server, for the API and for a brief. Other modules are imported when one waits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen

from holdfast.config.layout import Surface
from holdfast.config.serde import flushed_payload, stamp
from holdfast.flush import handoff, notes
from holdfast.fs import private
from holdfast.storage import block_marker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from contextlib import AbstractContextManager

    from holdfast.flush.spool import lastbrief
    from holdfast.flush.spool.kept import Kept
    from holdfast.flush.spool.shipping import Shipped
    from holdfast.session.services import Services


@frozen
class Spooled:
    """Flushes that are durable on this machine alone. See docs/spool.md."""

    _services: Services

    def items(self) -> list[Kept]:
        """The waiting flushes, in order. A damaged line is an item without a receipt. Raises: Unavailable."""
        from holdfast.flush.spool.kept import Spool

        return Spool(self._services.state).items()

    @property
    def sentence(self) -> str:
        """How many flushes wait, since when and for which server; empty when none waits. Raises: Unavailable."""
        from holdfast.flush.spool.kept import sentence

        return sentence(self.items(), self._services.config.tz)

    @property
    def is_on(self) -> bool:
        """Whether flushes may be kept, because the setting is on and the store is on a server."""
        from holdfast.flush.spool import shipping

        return shipping.is_on(self._services)

    def text(self) -> str:
        """The note blocks of the waiting flushes, oldest first, redacted. Raises: Unavailable, PluginError."""
        return Unshipped.of(self._services).text()

    def keeping_brief(self) -> AbstractContextManager[Callable[[str], None]]:
        """See :func:`holdfast.flush.spool.lastbrief.keeping`."""
        from holdfast.flush.spool import lastbrief

        return lastbrief.keeping(self._services)

    def last_brief(self) -> lastbrief.Kept | None:
        """The newest brief of this store that an agent's start read on this machine; None if there is none."""
        from holdfast.flush.spool import lastbrief

        return lastbrief.read(self._services)

    def send(self, *, limit_s: float = 60.0) -> Shipped:
        """Write them to the store, oldest first, for ``limit_s`` seconds at most. Never raises."""
        from holdfast.flush.spool import shipping

        return shipping.ship(self._services, limit_s=limit_s)


@frozen(kw_only=True)
class Unshipped:
    """The kept flushes, oldest first, and one sentence about them, empty when there are none."""

    kept: tuple[Kept, ...]
    sentence: str
    _services: Services

    @classmethod
    def of(cls, services: Services) -> Unshipped:
        """Raises: Unavailable."""
        if not services.waits(private.SPOOL):
            return cls(kept=(), sentence="", services=services)
        from holdfast.flush.spool.kept import Spool, sentence

        items = Spool(services.state).items()
        whole = tuple(one for one in items if one.receipt is not None)
        return cls(kept=whole, sentence=sentence(items, services.config.tz), services=services)

    def work(self, entries: tuple[handoff.Work, ...]) -> tuple[handoff.Work, ...]:
        """The handoff's entries as they will be once the kept flushes are stored."""
        for one in self.kept:
            if any(work.session == one.session and work.at > stamp(one.at) for work in entries):
                continue
            work = handoff.of(
                flushed_payload(one.flushed),
                session=one.session,
                flush=one.id,
                note=self._note(one),
                agent=str(one.flushed.get("agent", "")),
                at=stamp(one.at),
            )
            if work.is_open or entries:
                entries = handoff.put(entries, work)
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
        block = notes.framed(
            one.receipt.summary,
            block_id=one.id,
            session=one.session,
            reason=one.receipt.reason,
            at=one.at.astimezone(self._services.config.tz),
            overrides=one.flushed.get("overrides", ()),
            by=one.receipt.by,
        )
        return self._services.gate.outgoing(block, surface=str(Surface.DAILY), name=self._note(one))
