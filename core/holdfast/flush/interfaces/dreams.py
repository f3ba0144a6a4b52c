"""A flush's questions about dreams, which rewrite MEMORY.md between flushes.

An application offers it (:mod:`holdfast.session.collaborators`). Without one no line
counts as consolidated or confirmed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime


class Dreams(Protocol):
    def gone_since(self, at: datetime) -> Iterable[str]:
        """The lines that dreams since ``at`` dropped, merged into others, replaced or archived. Raises: Unavailable."""

    def weights(self, items: Sequence[str]) -> Sequence[float]:
        """A number for each item of MEMORY.md, greater for later confirmation on more days, infinite without a
        record."""
