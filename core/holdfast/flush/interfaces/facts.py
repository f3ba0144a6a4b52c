"""The fact keeper: a flush's requests to the package that keeps facts. Core itself stores no fact.

An application offers it (:mod:`holdfast.session.collaborators`). Without one, a flush works and its receipt reports
that no facts were stored.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from holdfast.text.lazy import log

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from datetime import datetime

    from holdfast.flush.extraction import Gathered
    from holdfast.models import Fact, Message, Payload, Receipt
    from holdfast.session.services import Services
    from holdfast.session.session import Session

logger = log(__name__)


class FactService(ABC):
    """Stores facts of one project's flushes, and runs the extractors that a flush does not wait for.

    Facts never make a flush fail, so only the methods that say so raise errors.
    """

    @abstractmethod
    def settle(
        self,
        found: Gathered | None,
        said: Sequence[Message],
        *,
        session: str,
        flush: str,
        payload: Payload | None,
        at: datetime,
        late: bool,
        stored: Sequence[Fact] | None,
    ) -> tuple[list[str], tuple[str, ...]]:
        """Store the facts that ``payload`` states and that extractors ``found`` in the messages ``said``, and queue the
        messages for the other extractors. Called when the flush's documents are verified. The facts are newer than all
        stored ones, whatever ``at`` says, unless ``late``: then an earlier attempt collected them.

        ``found`` is None when the extractors' results were lost with the process. ``stored`` are all stored facts, read
        just before; None if they were not read. Returns the queued items' ids, and warnings for the receipt, which name
        each stated fact that was not stored, with the reason.
        """

    @abstractmethod
    def queue(self, said: Sequence[Message], *, session: str, flush: str) -> tuple[list[str], tuple[str, ...]]:
        """Queue the messages for every extractor, because the store's server did not take the flush. Returns as
        :meth:`settle`. Raises: Unavailable."""

    @abstractmethod
    def complete(self, session: Session, receipt: Receipt, queued: Collection[str], found: Gathered | None) -> Receipt:
        """Run the extractors that wait for this flush's messages. Called when the flush is durable and holds no lock.
        Returns the receipt with their summaries and warnings."""

    @abstractmethod
    def state(self, payload: Payload, *, session: str, flush: str, at: datetime) -> tuple[str, ...]:
        """Store the facts that an earlier flush of ``session`` stated, each once, unless a newer one is stored: a later
        flush of the session, or a fact dated after ``at``. Returns warnings as :meth:`settle`. Raises: PluginError,
        Corrupt, Unavailable."""

    @abstractmethod
    def restore(self, flushes: Iterable[tuple[Receipt, Payload]]) -> None:
        """Store again the facts stated since a call last removed or changed a fact, because stored facts were lost.
        Raises: as :meth:`state`."""


class NoFacts(FactService):
    """Keeps nothing and reports that."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._warning = "No facts were stored or queued: the kernel alone keeps none."

    def settle(
        self,
        found: Gathered | None,
        said: Sequence[Message],
        *,
        session: str,
        flush: str,
        payload: Payload | None,
        at: datetime,
        late: bool,
        stored: Sequence[Fact] | None,
    ) -> tuple[list[str], tuple[str, ...]]:
        states = payload is not None and bool(payload.facts) and "facts" not in payload.derived
        return [], (self._warning,) if states or self._services.plugins.extractors() else ()

    def queue(self, said: Sequence[Message], *, session: str, flush: str) -> tuple[list[str], tuple[str, ...]]:
        return [], (self._warning,) if self._services.plugins.extractors() else ()

    def complete(self, session: Session, receipt: Receipt, queued: Collection[str], found: Gathered | None) -> Receipt:
        return receipt

    def state(self, payload: Payload, *, session: str, flush: str, at: datetime) -> tuple[str, ...]:
        logger.warning("%s", self._warning)
        return ()

    def restore(self, flushes: Iterable[tuple[Receipt, Payload]]) -> None:
        logger.warning("%s", self._warning)
