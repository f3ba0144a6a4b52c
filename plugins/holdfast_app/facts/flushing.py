"""The entry ``services.facts``. It stores a flush's stated and extracted facts, and runs slow extractors later."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.flush.interfaces.facts import FactKeeper
from holdfast_app.facts.extraction import backlog
from holdfast_app.facts.store import statedfacts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from datetime import datetime

    from holdfast.flush.extraction import Gathered
    from holdfast.models import Fact, Message, Payload, Receipt
    from holdfast.session.services import Services
    from holdfast.session.session import Session


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
        late: bool,
        stored: Sequence[Fact] | None,
    ) -> tuple[list[str], tuple[str, ...]]:
        return backlog.settle_flush(
            self._services, found, said, source=session, flush=flush, payload=payload, at=at, late=late, stored=stored
        )

    def queue(self, said: Sequence[Message], *, session: str, flush: str) -> tuple[list[str], tuple[str, ...]]:
        return backlog.queue_all(self._services, session, said, flush), ()

    def complete(self, session: Session, receipt: Receipt, queued: Collection[str], found: Gathered | None) -> Receipt:
        return backlog.completed(self._services, session, receipt, queued, found)

    def state(self, payload: Payload, *, session: str, flush: str, at: datetime) -> tuple[str, ...]:
        return statedfacts.store(self._services, payload, session=session, flush=flush, at=at)

    def restore(self, flushes: Iterable[tuple[Receipt, Payload]]) -> None:
        from holdfast_app.facts.store.audit_log import FactTrail

        last = max((event.at for event in FactTrail(self._services.state).entries()), default=None)
        reached: dict[str, datetime] = {}  # by session, because its clock may have gone back
        for receipt, payload in flushes:
            session = receipt.session_id
            reached[session] = max(receipt.at, reached.get(session, receipt.at))
            if last is None or reached[session] > last:
                self.state(payload, session=session, flush=receipt.flush_id, at=receipt.at)
