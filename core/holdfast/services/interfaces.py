"""The application's services for a flush: keep facts, and deliver waiting items.

An application gives its own in its :class:`holdfast.services.services.Services`. The kernel alone keeps no facts and
delivers nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple, Protocol

from holdfast import models
from holdfast.plugin.manager import PluginManager


class Room(NamedTuple):
    """The entries to add to a curated document, the items to remove for them, and warnings for the receipt."""

    entries: Sequence[models.CuratedEntry]
    gone: Sequence[str] = ()
    warnings: Sequence[str] = ()


class Decided(NamedTuple):
    """A decision by command that left work open or closed it."""

    is_open: bool
    because: str


class Gathered(NamedTuple):
    """The extractors' results for some turns, by plugin. ``failed`` maps a plugin to its error and the next step."""

    results: Sequence[tuple[str, models.Extraction]] = ()
    failed: Mapping[str, str] = MappingProxyType({})


class Completed(NamedTuple):
    """A flush's payload with its unanswered fields filled, and a summary of new messages. ``gathered`` is None when no
    extractor was asked about new messages; ``warnings`` are for the receipt."""

    payload: models.Payload
    summary: str = ""
    gathered: Gathered | None = None
    warnings: Sequence[str] = ()


class FactService:
    """Stores facts of one project's flushes, and runs the extractors that a flush does not wait for. The kernel's own
    keeps nothing and reports that.

    Facts never make a flush fail, so only the methods that say so raise errors.
    """

    WARNING = "No facts were stored or queued: the kernel alone keeps none."

    def __init__(self, plugins: PluginManager) -> None:
        self._plugins = plugins

    def settle(
        self,
        gathered: Gathered | None,
        messages: Sequence[models.Message],
        *,
        session: str,
        flush: str,
        payload: models.Payload | None,
        at: datetime,
        late: bool,
        stored: Sequence[models.Fact] | None,
    ) -> tuple[list[str], tuple[str, ...]]:
        """Store the facts that ``payload`` states and that extractors ``gathered`` from ``messages``, and queue the
        messages for the other extractors. Called when the flush's documents are verified. The facts are newer than all
        stored ones, whatever ``at`` says, unless ``late``: then an earlier attempt collected them.

        ``gathered`` is None when the extractors' results were lost with the process. ``stored`` are all stored facts,
        read just before; None if they were not read. Returns the queued items' ids, and warnings for the receipt, which
        name each unstored stated fact, with the reason.
        """
        states = payload is not None and bool(payload.facts) and "facts" not in payload.derived
        return [], (self.WARNING,) if states or self._plugins.extractors() else ()

    def complete(self, receipt: models.Receipt, queued: Collection[str]) -> models.Receipt:
        """Run the extractors that wait for this flush's messages. Called when the flush is durable and holds no lock.
        Returns the receipt with their summaries and warnings."""
        return receipt


class Outbox(Protocol):
    """Items that plugins could not publish, in ``outbox.jsonl`` of the private folder."""

    def send_due(self, *, limit_s: float = ...) -> int:
        """Publish due items, for ``limit_s`` seconds at most, and return how many still wait. Never raises."""
