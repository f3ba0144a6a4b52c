"""What a flush needs to know about dreams, which rewrite MEMORY.md between flushes.

A package provides it with the entry ``services.dreams`` in the group ``holdfast.methods``: a function of the project's
services that returns a :class:`Dreams`. Without one no line counts as consolidated or confirmed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from holdfast.errors import PluginNotFound
from holdfast.plugin import discovery

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from holdfast.session.services import Services


class Dreams(Protocol):
    def gone_since(self, at: datetime) -> Iterable[str]:
        """The lines that dreams since ``at`` dropped, merged into others, replaced or archived. Raises: Unavailable."""

    def weights(self, items: Sequence[str]) -> Sequence[float]:
        """A number for each item of MEMORY.md, greater for later confirmation on more days, infinite without a
        record."""


def offered(services: Services) -> Dreams | None:
    """Raises: PluginLoadFailed."""
    try:
        make = discovery.method("services.dreams")
    except PluginNotFound:
        return None
    made: Dreams = make(services)
    return made
