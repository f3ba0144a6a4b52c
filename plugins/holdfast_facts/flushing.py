"""The entry ``services.facts``. It stores a flush's stated and extracted facts, and runs slow extractors later."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.flush.interfaces.facts import FactKeeper
from holdfast_facts.extraction import backlog
from holdfast_facts.store import statedfacts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from datetime import datetime

    from holdfast import Session
    from holdfast.flush.extraction import Gathered
    from holdfast.models import Fact, Message, Payload, Receipt
    from holdfast.session.services import Services


class Keeper(FactKeeper):
    """The fact keeper of one project."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def settle(
        self,
        found: Gathered | None,
        said: Sequence[Message],
        *,
        session: str,
        flush: str,
        payload: Payload | None,
        at: datetime,
        stored: Sequence[Fact] | None,
    ) -> tuple[list[str], tuple[str, ...]]:
        return backlog.settle_flush(
            self._services, found, said, source=session, flush=flush, payload=payload, at=at, stored=stored
        )

    def queue(self, said: Sequence[Message], *, session: str, flush: str) -> tuple[list[str], tuple[str, ...]]:
        return backlog.queue_all(self._services, session, said, flush), ()

    def complete(self, session: Session, receipt: Receipt, queued: Collection[str], found: Gathered | None) -> Receipt:
        return backlog.completed(self._services, session, receipt, queued, found)

    def state(self, payload: Payload, *, flush: str, at: datetime) -> None:
        statedfacts.store(self._services, payload, flush=flush, at=at, turns=())

    def restore(self, flushes: Iterable[tuple[Receipt, Payload]]) -> None:
        from holdfast_facts.store.audit_log import FactTrail

        last = max((event.at for event in FactTrail(self._services.state).entries()), default=None)
        for receipt, payload in flushes:
            if last is None or receipt.at > last:
                self.state(payload, flush=receipt.flush_id, at=receipt.at)
