"""What a flush could not deliver yet. It waits in the private folder, and a package delivers it later.

A package offers this with an entry point in the group ``holdfast.methods``, ``services.outbox``: a function of the
project's services that returns an :class:`Outbox`. It is called only when something waits. If items wait and no package
can deliver them, a flush is refused, because they would be forgotten.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from holdfast.errors import PluginNotFound
from holdfast.plugin import discovery

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from holdfast.models import Payload, Receipt
    from holdfast.session.services import Services


class Unpublished(Protocol):
    """An item to publish that waits. ``error`` and ``next_step`` describe the last failure. A damaged item represents
    an unreadable line."""

    @property
    def at(self) -> datetime: ...
    @property
    def error(self) -> str: ...
    @property
    def next_step(self) -> str: ...
    @property
    def is_damaged(self) -> bool: ...


class Outbox(Protocol):
    """``services.outbox``: items that plugins could not publish, in ``outbox.jsonl`` of the private folder."""

    def waiting(self) -> Sequence[Unpublished]:
        """The waiting items, oldest first. Raises: Unavailable."""

    def send_due(self, *, limit_s: float | None = None) -> int:
        """Publish due items, for ``limit_s`` seconds at most, and return how many still wait. Never raises."""

    def restore(self, flushes: Iterable[tuple[Receipt, Payload]]) -> int:
        """Put back items of ``flushes`` that were removed other than by a call; returns their number. Raises:
        HoldfastError."""


def offered(services: Services, name: str) -> Any:
    """The value that a package offers as ``services.NAME``. Raises: PluginNotFound, PluginLoadFailed."""
    try:
        make = discovery.method(f"services.{name}")
    except PluginNotFound as error:
        raise PluginNotFound(
            f"No installed package provides `services.{name}`, which delivers what waits in {name}.jsonl.",
            next_step="Install the distribution that provides it.",
        ) from error
    return make(services)
