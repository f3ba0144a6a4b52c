"""The part of a brief that the store's server does not have yet: flushes kept on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen

from holdfast.config.layout import Surface
from holdfast.config.serde import flushed_payload, stamp
from holdfast.flush import handoff, notes
from holdfast.fs import private
from holdfast.storage import block_marker

if TYPE_CHECKING:
    from collections.abc import Iterable

    from holdfast.flush.spool.kept import Kept
    from holdfast.session.services import Services


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
