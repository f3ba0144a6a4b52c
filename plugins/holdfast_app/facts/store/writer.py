"""Writes checked values to the store, and records in the trail which facts leave."""

from __future__ import annotations

from datetime import UTC
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from attrs import evolve

from holdfast.errors import Conflict, NotFound
from holdfast.fs import durable, private
from holdfast.journal import order
from holdfast.models import AddOutcome, AddResult, Fact
from holdfast.storage import Capability, delete_fact
from holdfast.text.lazy import log
from holdfast.text.stored import duplicate_key
from holdfast_app.facts.rejected import Rejected, key_of
from holdfast_app.facts.relation import K, Known, Relation
from holdfast_app.facts.store import origins
from holdfast_app.facts.store.checks import draw_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime

    from holdfast_app.base import Services
    from holdfast_app.facts.store.audit_log import FactTrail

logger = log("holdfast.facts")

_DRAWS = 100
_NEWER = "a newer value was stated"
#: A fact more confident than a newer statement by more than this stays.
_OUTRANKED: Final = 0.3


class Value(NamedTuple):
    """A fact's values, checked and admitted. ``at`` is the instant at which it was stated, aware.

    ``id`` is the one to store it under, unless it is taken. A present statement is newer than everything stored,
    whatever the clocks say. A statement stored later than it was said has ``said``, its session's flushes in their
    order. They decide. The clock decides for other facts."""

    content: str
    category: str
    confidence: float
    source: str
    at: datetime
    said: tuple[str, ...] | None = None
    id: str | None = None

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

    def add_all(self, values: Sequence[Value], *, older: Sequence[Sequence[Fact]] = ()) -> list[AddResult]:
        """Store values already checked and admitted, in order, in one step where the backend can. New ids are drawn
        where there is none or it is taken. ``older`` has the facts that each value replaces."""
        facts = [
            Fact(id=one.id or self._new_id(), content=one.content, category=one.category, confidence=one.confidence,
                 created_at=one.at.astimezone(UTC), source=one.source)
            for one in values
        ]  # fmt: skip
        pairs = list(zip(facts, older, strict=True)) if any(older) else []
        choosing = self.services.config.facts.rank_union
        at_once = bool(pairs) and not choosing and Capability.TRANSACTIONS in self.services.store.backend.capabilities
        gone = [old.id for fact, replaced in pairs for old in self._recorded(fact, replaced)] if at_once else []
        added = [self._ranked(fact) for fact in facts] if choosing else self._add(facts, gone)
        results = [self._logged(one or self._redrawn(fact)) for one, fact in zip(added, facts, strict=True)]
        for at, (_, replaced) in enumerate(pairs):
            stored = results[at].fact
            by = stored.id if stored is not None else results[at].duplicate_of or ""
            results[at] = evolve(results[at], replaced=[old.id for old in replaced if old.id != by])
            if not at_once:
                for old in replaced:
                    self.retire(old, by=by)
        return results

    def store(self, values: Sequence[Value | AddResult], stored: Sequence[Fact] | None = None) -> list[AddResult]:
        """The result for each value, in order. Results among the values stay unchanged.

        A new value is stored first and then replaces older ones, which go to the trail with their content. So a crash
        leaves both and the next try replaces. It is not stored when a newer one is. Values of another person or
        machine stay, see :mod:`holdfast_app.facts.store.origins`. ``stored`` are all stored facts, read just before;
        None to read them when they are needed. Raises: errors of the store.
        """
        results: dict[int, AddResult] = {}
        waiting: dict[int, Value] = {}
        said = Known[int]()  # the waiting values
        leaving: dict[int, list[Fact]] = {}
        unsaid: list[tuple[str, str]] = []  # facts that a source no longer states while others do: id and source
        known = Known[str]()  # the stored facts, by id
        by_id: dict[str, Fact] = {}

        def learn(found: Iterable[Fact]) -> None:
            for fact in found:
                known.add(fact.id, fact.content)
                by_id[fact.id] = fact

        def add_waiting() -> None:
            added = self.add_all(list(waiting.values()), older=[leaving.get(at, []) for at in waiting])
            learn(result.fact for result in added if result.fact is not None)
            results.update(zip(waiting, added, strict=True))
            for (at, value), result in zip(waiting.items(), added, strict=True):
                said.remove(at)
                if not self._cosign(value, result):  # who stated it first has just taken it back
                    results[at] = self.add_all([value])[0]
            for fact_id, by in unsaid:
                self.sign(fact_id, partial(origins.left, other=by))
            unsaid.clear()
            waiting.clear()

        if stored is None:
            stored = list(self.services.store.backend.facts()) if any(isinstance(one, Value) for one in values) else []
        learn(stored)
        for at, value in enumerate(values):
            if isinstance(value, AddResult):
                results[at] = value
                continue
            value = value._replace(at=value.at.astimezone(UTC))
            if _rivals(said, value):
                add_waiting()
            older = list(_older((by_id[key] for key in _rivals(known, value)), value))
            newer = next((fact for fact in older if value.is_before(fact)), None)
            if newer is not None:
                results[at] = AddResult(outcome=AddOutcome.REFUSED, reason=f"fact {newer.id} has a newer value")
                continue
            shared = [fact for fact in older if _others(fact, value)]
            unsaid += [(fact.id, value.source) for fact in shared]
            leaving[at] = [fact for fact in older if fact not in shared]
            for fact in older:
                known.remove(fact.id)
            waiting[at] = value
            said.add(at, value.content)
        add_waiting()
        return [results[at] for at in range(len(values))]

    def _cosign(self, value: Value, result: AddResult) -> bool:
        """Add another origin to a value already stored by someone else. Returns False when the fact is gone."""
        places = origins.places(value.source)
        known = result.fact is not None and places <= origins.places(result.fact.source)
        if result.duplicate_of is None or not places or known:
            return True
        return self.sign(result.duplicate_of, lambda source: origins.joined(source, value.source))

    def _add(self, facts: Sequence[Fact], gone: Sequence[str] = ()) -> list[AddResult | None]:
        """Store ``facts``, delete those ``gone``, and record in the trail which facts the full store evicted. The
        result is None for a fact whose id is taken. A crash right after it loses the trail's lines."""
        results = self.services.store.add_facts(facts, self.services.config.facts.max_facts, gone)
        for fact, result in zip(facts, results, strict=True):
            if result is not None and result.evicted:
                self.trail.evicted(result.evicted, fact.id, self.services.clock())
                logger.info("evicted for %s: %s", fact.id, ", ".join(result.evicted))
        return results

    def _ranked(self, fact: Fact) -> AddResult | None:
        """Like :meth:`_add`, but at the cap a fact weaker than all stored ones is refused (reading A01). Only this
        machine's processes take turns."""
        private.make(self.services.state)
        with durable.lock(self.services.private("facts.lock")):
            stored = list(self.services.store.backend.facts())
            is_weakest = all(fact.confidence < one.confidence for one in stored)
            if len(stored) < self.services.config.facts.max_facts or not is_weakest:
                return self._add([fact])[0]
            if duplicate_key(fact.content) in {duplicate_key(one.content) for one in stored}:
                return self._add([fact])[0]  # reports the duplicate
        reason = "the store is full of facts that are at least as strong"
        return AddResult(outcome=AddOutcome.REFUSED, reason=reason)

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


def _rivals(known: Known[K], value: Value) -> list[K]:
    return [key for key, found in known.related(value.content) if found is Relation.REPLACES]


def _older(stored: Iterable[Fact], value: Value) -> Iterable[Fact]:
    return (
        fact
        for fact in stored
        if fact.confidence - value.confidence <= _OUTRANKED and origins.share(value.source, fact.source)
    )


def _others(fact: Fact, value: Value) -> bool:
    """Whether ``fact`` has another origin besides that of ``value``."""
    return bool(origins.of(value.source) and origins.of(origins.left(fact.source, value.source)))
