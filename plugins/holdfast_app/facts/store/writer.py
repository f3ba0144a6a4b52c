"""Writes checked values to the store, and records in the trail which facts leave."""

from __future__ import annotations

from datetime import UTC
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

from attrs import evolve

from holdfast.errors import Conflict, NotFound
from holdfast.journal import order
from holdfast.models import AddOutcome, AddResult, Fact
from holdfast.storage import Capability, delete_fact
from holdfast.text.lazy import log
from holdfast.text.stored import duplicate_key
from holdfast_app.facts.rejected import Rejected, key_of
from holdfast_app.facts.store import origins
from holdfast_app.facts.store.checks import draw_id

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from holdfast_app.base import Services
    from holdfast_app.facts.store.audit_log import FactTrail

logger = log("holdfast.facts")

_DRAWS = 100
_NEWER = "a newer value was stated"


class Value(NamedTuple):
    """A fact's values, checked and admitted. ``at`` is the instant at which it was stated, aware.

    A present statement is newer than everything stored, whatever the clocks say. A statement stored later than it
    was said has ``said``, its session's flushes in their order. They decide. The clock decides for other facts."""

    content: str
    category: str
    confidence: float
    source: str
    at: datetime
    said: tuple[str, ...] | None = None

    def is_before(self, fact: Fact) -> bool:
        """Whether ``fact``, on the same subject, was stated later."""
        if self.said is None:
            return False
        after = order.is_after(self.said, origins.unsigned(fact.source), origins.unsigned(self.source))
        return fact.created_at > self.at if after is None else after


class FactWriter:
    """Writes one project's facts. ``new_id`` draws ids. All methods may raise the store's Unavailable and Corrupt."""

    def __init__(self, services: Services, *, new_id: Callable[[], str] = draw_id) -> None:
        self.services = services
        self._new_id = new_id

    @property
    def trail(self) -> FactTrail:
        """The removals from the store, and the changes, with their reasons."""
        from holdfast_app.facts.store.audit_log import FactTrail

        return FactTrail(self.services.state)

    @property
    def rejected(self) -> Rejected:
        """Statements removed or replaced on this machine, read now."""
        return Rejected(self.services)

    def _reject(self, *facts: Fact, stays: str | None = "") -> None:
        """Record facts that leave, before they do. The content that ``stays`` is none of them."""
        keys = {key_of(fact.content) for fact in facts} - {key_of(stays or "")}
        if stays is not None:
            self.rejected.add(keys, self.services.clock())

    def add(
        self,
        content: str,
        category: str,
        confidence: float,
        source: str = "",
        *,
        fact_id: str | None = None,
    ) -> AddResult:
        """Store values already checked and admitted. A new id is drawn when there is none or it is taken."""
        value = Value(content, category, confidence, source, self.services.clock().astimezone(UTC))
        return self.add_all([value], ids=[fact_id])[0]

    def add_all(
        self, values: Sequence[Value], *, ids: Sequence[str | None] = (), older: Sequence[Sequence[Fact]] = ()
    ) -> list[AddResult]:
        """Store values already checked and admitted, in order, in one step where the backend can. New ids are drawn
        where ``ids`` has none or they are taken. ``older`` has the facts that each value replaces."""
        facts = [
            Fact(id=fact_id or self._new_id(), content=one.content, category=one.category, confidence=one.confidence,
                 created_at=one.at, source=one.source)
            for one, fact_id in zip_longest(values, ids[: len(values)])
        ]  # fmt: skip
        pairs = list(zip(facts, older, strict=True)) if any(older) else []
        at_once = bool(pairs) and Capability.TRANSACTIONS in self.services.store.backend.capabilities
        gone = [old.id for fact, replaced in pairs for old in self._recorded(fact, replaced)] if at_once else []
        added = self._add(facts, gone)
        results = [self._logged(one or self._redrawn(fact)) for one, fact in zip(added, facts, strict=True)]
        for at, (_, replaced) in enumerate(pairs):
            stored = results[at].fact
            by = stored.id if stored is not None else results[at].duplicate_of or ""
            results[at] = evolve(results[at], replaced=[old.id for old in replaced if old.id != by])
            if not at_once:
                for old in replaced:
                    self.retire(old, by=by)
        return results

    def _add(self, facts: Sequence[Fact], gone: Sequence[str] = ()) -> list[AddResult | None]:
        """Store ``facts``, delete those ``gone``, and record in the trail which facts the full store evicted. The
        result is None for a fact whose id is taken. A crash right after it loses the trail's lines."""
        results = self.services.store.add_facts(facts, self.services.config.facts.max_facts, gone)
        for fact, result in zip(facts, results, strict=True):
            if result is not None and result.evicted:
                self.trail.evicted(result.evicted, fact.id, self.services.clock())
                logger.info("evicted for %s: %s", fact.id, ", ".join(result.evicted))
        return results

    def _recorded(self, fact: Fact, replaced: Sequence[Fact]) -> list[Fact]:
        """The facts that ``fact`` replaces, recorded in the trail. A stored twin of ``fact`` stays instead of it."""
        key = duplicate_key(fact.content)
        by = next((old.id for old in replaced if duplicate_key(old.content) == key), fact.id)
        leaving = [old for old in replaced if old.id != by]
        for old in leaving:
            self.trail.replaced(old, by, self.services.clock(), why=_NEWER)
        self._reject(*leaving, stays=fact.content)
        return leaving

    def _redrawn(self, fact: Fact) -> AddResult:
        """Add a fact whose id is taken. Raises: Conflict."""
        for _ in range(_DRAWS - 1):
            result = self._add([evolve(fact, id=self._new_id())])[0]
            if result is not None:
                return result
        raise Conflict(f"{_DRAWS} new ids were all taken.", next_step="The source of ids is broken.")

    @staticmethod
    def _logged(result: AddResult) -> AddResult:
        if result.outcome is AddOutcome.DUPLICATE:
            logger.info("a fact was skipped: duplicate of %s", result.duplicate_of)
        elif result.outcome is AddOutcome.ADDED and result.fact is not None:
            logger.debug("fact %s was added", result.fact.id)
        else:
            logger.info("a fact was skipped: %s", result.reason)
        return result

    def sign(self, fact_id: str, change: Callable[[str], str]) -> bool:
        """Change a fact's source, which names who states it. Returns False for a fact that is gone meanwhile."""
        try:
            self.services.store.update_fact(fact_id, source=change)
        except NotFound:
            return False
        return True

    def retire(self, fact: Fact, *, by: str = "", why: str = _NEWER) -> None:
        """Remove an obsolete fact. Its content goes to the trail first, durably. A missing fact is not an
        error."""
        if fact.id == by:
            return
        self.trail.replaced(fact, by, self.services.clock(), why=why)
        self._reject(fact)
        try:
            delete_fact(self.services.store.backend, fact.id)
        except NotFound:
            return
        logger.info("fact %s was replaced", fact.id)
