"""Checks facts' values, in the order content, category, confidence (reading A09), writes them to the store, and records
in the trail which facts leave."""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import Final, NamedTuple

from attrs import evolve

from holdfast.errors import BadValue, NotFound
from holdfast.fs import durable, private
from holdfast.journal import order
from holdfast.models import AddOutcome, AddResult, Fact
from holdfast.storage import Remove, get_fact
from holdfast.text.lazy import log
from holdfast.text.plain import cut, same_key
from holdfast.text.stored import CATEGORIES, duplicate_key
from holdfast_app.base import Services
from holdfast_app.facts.rejected import Departure, FactTrail, Rejected, key_of
from holdfast_app.facts.relation import Known, Relation
from holdfast_app.facts.store import origins

logger = log("holdfast.facts")

SURFACE = "fact"

_NEWER = "a newer value was stated"
#: A fact more confident than a newer statement by more than this stays.
_OUTRANKED: Final = 0.3


def check_content(value: object) -> str:
    """``value`` without surrounding whitespace. Raises: BadValue when it is blank or not a string."""
    if not isinstance(value, str) or not value.strip():
        problem = "is blank" if isinstance(value, str) else "is not a string"
        raise BadValue("content", problem, next_step="Say what to keep.")
    return value.strip()


def check_category(value: object, *, other: str = "") -> str:
    """Normalise a category's name, or ``other`` for an unknown one. Case and outer whitespace are ignored.

    Raises: BadValue. Source: R037, R038, reading A08.
    """
    name = value.strip().casefold() if isinstance(value, str) else ""
    name = name if name in CATEGORIES else other
    if not name:
        step = f"Use one of: {', '.join(CATEGORIES)}."
        raise BadValue("category", f"cannot be {cut(repr(value), 40)}", next_step=step)
    return name


def check_confidence(value: object) -> float:
    """A number from 0.0 to 1.0. Raises: BadValue, for NaN, booleans and strings too. Source: R036, reading A07."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise BadValue("confidence", f"cannot be {cut(repr(value), 40)}", next_step="Use a number from 0.0 to 1.0.")
    return float(value) + 0.0  # -0.0 becomes 0.0


def check_source(value: object) -> str:
    """``value`` without surrounding whitespace, possibly empty. Raises: BadValue when it is not a string."""
    if not isinstance(value, str):
        raise BadValue("source", f"cannot be {cut(repr(value), 40)}", next_step="Use a string, which may be empty.")
    return value.strip()


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

    def is_about(self, fact: Fact) -> bool:
        """Whether ``fact``, which contradicts it, is weak enough, and of the same origin."""
        return fact.confidence - self.confidence <= _OUTRANKED and origins.share(self.source, fact.source)

    def is_before(self, fact: Fact) -> bool:
        """Whether ``fact``, on the same subject, was stated later."""
        if self.said is None:
            return False
        after = order.is_after(self.said, origins.unsigned(fact.source), origins.unsigned(self.source))
        return fact.created_at > self.at if after is None else after


def draw_id() -> str:
    """As a uuid4 begins with. Stores report collisions. Source: R043."""
    return "fact_" + os.urandom(4).hex()


class _Placed(NamedTuple):
    """A value to store, the facts that it replaces, and those that others state, too. These lose only its origin."""

    value: Value
    leaving: Sequence[Fact]
    shared: Sequence[Fact]


def _placed(value: Value, known: Known[Fact], together: Container[tuple[str, datetime]]) -> _Placed | AddResult:
    """The value with the facts in its place, which leave ``known``, or the refusal if there is a newer one. What was
    stated ``together`` (key and time) has no order, so all of it holds."""
    value, older = value._replace(at=value.at.astimezone(UTC)), list[Fact]()
    for fact, how in known.related(value.content):
        if how is Relation.SAME:
            value = value._replace(content=fact.content)  # with the stored text, the store finds the duplicate
        elif value.is_about(fact) and (same_key(fact.content), value.at) not in together:
            older.append(fact)
    if newer := next(filter(value.is_before, older), None):
        return AddResult(outcome=AddOutcome.REFUSED, reason=f"fact {newer.id} has a newer value")
    for fact in older:
        known.remove(fact)
    by = value.source
    shared = [fact for fact in older if origins.of(by) and origins.of(origins.left(fact.source, by))]
    return _Placed(value, [fact for fact in older if fact not in shared], shared)


class FactWriter:
    """Writes one project's facts. All methods may raise the store's Unavailable and Corrupt."""

    def __init__(self, services: Services) -> None:
        self.services = services

    @property
    def trail(self) -> FactTrail:
        """The removals from the store, and the changes, with their reasons."""
        return FactTrail(self.services.state)

    @property
    def rejected(self) -> Rejected:
        """Statements removed or replaced on this machine, read now."""
        return Rejected(self.services)

    def _reject(self, *facts: Fact) -> None:
        """Record facts that leave, before they do."""
        self.rejected.add({key_of(fact.content) for fact in facts}, self.services.clock())

    def _record(self, replaced: Sequence[Fact], by: str, why: str = _NEWER) -> None:
        """Record facts that leave for the fact ``by``, with their content in the trail."""
        if replaced:
            self._trace("replaced", why, *replaced, by=by, is_kept=True)
            self._reject(*replaced)

    def _trace(self, event: str, why: str, *facts: Fact, by: str = "", is_kept: bool = False) -> None:
        """Record what happened to facts, with ``is_kept`` durably and with their content."""
        names = ("id", "category", "confidence", *(("content", "source") if is_kept else ()))
        at = self.services.clock().astimezone(UTC)
        told = ({name: getattr(fact, name) for name in names} for fact in facts)
        self.trail.add(*(Departure(at=at, event=event, why=why, by=by, **one) for one in told), flush=is_kept)

    def add_all(self, values: Sequence[Value], *, older: Sequence[Sequence[Fact]] = ()) -> list[AddResult]:
        """Store values already checked and admitted, in order, in one step where the backend can. New ids are drawn
        where there is none or it is taken. ``older`` has the facts that each value replaces, which leave in the same
        step. The trail gets their content first."""
        facts = [
            Fact(id=one.id or draw_id(), content=one.content, category=one.category, confidence=one.confidence,
                 created_at=one.at.astimezone(UTC), source=one.source)
            for one in values
        ]  # fmt: skip
        replaced = older or [()] * len(facts)
        is_ranked = self.services.config.facts.rank_union
        added = list(map(self._ranked, facts, replaced)) if is_ranked else self._add(facts, replaced)
        results = []
        for fact, old, result in zip(facts, replaced, added, strict=True):
            if result.outcome is AddOutcome.ADDED:
                logger.debug("fact %s was added", fact.id)
            else:
                logger.info("a fact was skipped: %s", result.reason or f"duplicate of {result.duplicate_of}")
            if result.outcome is not AddOutcome.REFUSED:
                result = evolve(result, replaced=[one.id for one in old])
            results.append(result)
        return results

    def store(self, values: Sequence[Value | AddResult], stored: Sequence[Fact] | None = None) -> list[AddResult]:
        """The result for each value, in order. Results among the values stay unchanged.

        A new value replaces older ones, see :meth:`add_all`. Where the backend makes no single step of it, a crash
        leaves both and the next try replaces. It is not stored when a newer one is. Values of another person or
        machine stay, see :mod:`holdfast_app.facts.store.origins`. ``stored`` are all stored facts, read just before;
        None reads them. Raises: errors of the store."""
        if stored is None:
            stored = list(self.services.store.backend.facts()) if any(isinstance(one, Value) for one in values) else []
        known = Known[Fact]()
        for fact in self.services.store.known_facts(stored):
            known.add(fact, fact.content)
        together = {(same_key(v.content), v.at.astimezone(UTC)) for v in values if isinstance(v, Value)}
        results: dict[int, AddResult] = {}
        waiting, said = dict[int, _Placed](), Known[int]()
        for at, value in enumerate(values):
            if isinstance(value, Value) and any(said.related(value.content)):
                self._store_together(waiting, known, results)
                said = Known()
            placed = _placed(value, known, together) if isinstance(value, Value) else value
            if isinstance(placed, _Placed):
                said.add(at, placed.value.content)
                waiting[at] = placed
            else:
                results[at] = placed
        self._store_together(waiting, known, results)
        return [results[at] for at in range(len(values))]

    def _store_together(self, waiting: dict[int, _Placed], known: Known[Fact], results: dict[int, AddResult]) -> None:
        """Move what is ``waiting`` to the ``results``; ``known`` gets the new facts."""
        placed = list(waiting.values())
        added = self.add_all([one.value for one in placed], older=[one.leaving for one in placed])
        for fact in (result.fact for result in added if result.fact is not None):
            known.add(fact, fact.content)
        for (at, one), result in zip(waiting.items(), added, strict=True):
            # Without the fact to cosign, who stated it first has just taken it back.
            results[at] = result if self._cosign(one.value, result) else self.add_all([one.value])[0]
            for fact in one.shared:
                self.sign(fact.id, partial(origins.left, other=one.value.source))
        waiting.clear()

    def _cosign(self, value: Value, result: AddResult) -> bool:
        """Add another origin to a value already stored by someone else. Returns False when the fact is gone."""
        places = origins.places(value.source)
        known = result.fact is not None and places <= origins.places(result.fact.source)
        if result.duplicate_of is None or not places or known:
            return True
        return self.sign(result.duplicate_of, lambda source: origins.joined(source, value.source))

    def _add(self, facts: Sequence[Fact], replaced: Sequence[Sequence[Fact]]) -> list[AddResult]:
        """Store ``facts``, delete what each replaced, and record in the trail which facts the full store evicted. A
        fact whose id is taken gets another one. A crash right after it loses the lines of the evicted ones."""
        for fact, older in zip(facts, replaced, strict=True):
            self._record(older, fact.id)
        results, stayed = self.services.store.add_facts(facts, self.services.config.facts.max_facts, replaced)
        for old in stayed:
            self._take_back(old)
        for fact, result in zip(facts, results, strict=True):
            if result is not None and result.evicted:
                at, why = self.services.clock(), "the store was full"
                gone = (Departure(at=at, event="evicted", id=one, why=why, by=fact.id) for one in result.evicted)
                self.trail.add(*gone, flush=False)
                logger.info("evicted for %s: %s", fact.id, ", ".join(result.evicted))
        again = zip(facts, results, strict=True)
        return [result or self._add([evolve(fact, id=draw_id())], [()])[0] for fact, result in again]

    def _take_back(self, fact: Fact) -> None:
        """Remove a fact. Where others have stated it, too, since it was read, it stays theirs."""
        with suppress(NotFound):
            while not self.services.store.backend.commit([Remove(fact.id, fact.source)]).removed[0]:
                now = get_fact(self.services.store.backend, fact.id)
                if origins.of(origins.left(now.source, fact.source)):
                    self.sign(fact.id, partial(origins.left, other=fact.source))
                    return
                fact = now

    def _ranked(self, fact: Fact, older: Sequence[Fact]) -> AddResult:
        """Like :meth:`_add`, but at the cap a fact weaker than all stored ones is refused (reading A01), unless it is
        a duplicate. Only this machine's processes take turns."""
        private.make(self.services.state)
        with durable.lock(self.services.private("facts.lock")):
            stored = self.services.store.known_facts(self.services.store.backend.facts())
            is_weakest = all(fact.confidence < one.confidence for one in stored)
            is_new = duplicate_key(fact.content) not in {duplicate_key(one.content) for one in stored}
            if not is_weakest or not is_new or len(stored) < self.services.config.facts.max_facts:
                return self._add([fact], [older])[0]
        return AddResult(outcome=AddOutcome.REFUSED, reason="the store is full of facts that are at least as strong")

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
        self._record([fact], by, why)
        self._take_back(fact)
        logger.info("fact %s was replaced", fact.id)
