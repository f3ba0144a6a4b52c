"""The public face of the spool. Its modules are imported when something waits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen

if TYPE_CHECKING:
    from collections.abc import Callable
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
        """Whether flushes may be kept: the setting is on and the store is on a server."""
        from holdfast.flush.spool import shipping

        return shipping.is_on(self._services)

    def text(self) -> str:
        """The note blocks of the waiting flushes, oldest first, redacted. Raises: Unavailable, PluginError."""
        from holdfast.session.unshipped import Unshipped

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
