"""Who leaves when the store is full. By default the store decides, in one atomic step with the insertion; the options
of ``[facts]`` decide here instead, one process at a time.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from attrs import evolve

from holdfast import durable, private
from holdfast.facts import duplicate_key
from holdfast.models import AddOutcome, AddResult, Category, Fact

if TYPE_CHECKING:
    from holdfast.config import FactsConfig
    from holdfast.facttrail import FactTrail
    from holdfast.services import Services

logger = logging.getLogger(__name__)


def add(services: Services, trail: FactTrail, fact: Fact) -> AddResult:
    """Store ``fact`` by the configured rules and put what leaves for it into the trail. Raises: Conflict, ..."""
    rules = services.config.facts
    if by_choice(rules):
        result = _add_by_choice(services, trail, fact, rules)
    else:
        result = services.store.backend.add_fact(fact, rules.max_facts)
        if result.evicted:
            trail.evicted(result.evicted, fact.id, services.clock())
    if result.evicted:
        logger.info("evicted for %s: %s", fact.id, ", ".join(result.evicted))
    return result


def by_choice(rules: FactsConfig) -> bool:
    """Whether it is decided here, and not by the store, who leaves."""
    return rules.rank_union or rules.supersede or rules.reserved_corrections > 0


def _add_by_choice(services: Services, trail: FactTrail, fact: Fact, rules: FactsConfig) -> AddResult:
    """Costs a reading of the whole store at the cap; the lock keeps others from choosing at the same time."""
    backend = services.store.backend
    private.make(services.state)
    with durable.lock(services.private("facts.lock")):
        if backend.count_facts() < rules.max_facts:
            return backend.add_fact(fact, rules.max_facts)
        stored = list(backend.facts())
        key = duplicate_key(fact.content)
        if any(duplicate_key(f.content) == key or f.id == fact.id for f in stored):
            return backend.add_fact(fact, rules.max_facts)  # a duplicate or a conflict: nothing leaves for it
        leaving = choose(stored, fact, rules)
        if fact in leaving:
            reason = "the store is full of facts that are at least as strong"
            return AddResult(outcome=AddOutcome.REFUSED, reason=reason)
        trail.evicted([f.id for f in leaving], fact.id, services.clock(), kept=leaving if rules.supersede else ())
        if rules.reserved_corrections:  # else the store chooses the same ones, atomically
            for leaver in leaving:
                backend.delete_fact(leaver.id)
        result = backend.add_fact(fact, rules.max_facts)
        return evolve(result, evicted=tuple(f.id for f in leaving))


def choose(stored: Sequence[Fact], newcomer: Fact, rules: FactsConfig) -> list[Fact]:
    """The facts that leave so that ``newcomer`` fits, first to leave first; just ``[newcomer]`` when it stays out.

    Lowest confidence first; of equals the oldest, then the earlier inserted (reading A02).
    """
    room = len(stored) + 1 - rules.max_facts
    ranked = sorted(stored, key=lambda f: (f.confidence, f.created_at))
    if rules.rank_union and ranked and newcomer.confidence < ranked[0].confidence:
        return [newcomer]
    if newcomer.category != Category.CORRECTION and rules.reserved_corrections:
        corrections = [f for f in ranked if f.category == Category.CORRECTION]
        reserved = {f.id for f in corrections[-rules.reserved_corrections :]}
        ranked = sorted(ranked, key=lambda f: f.id in reserved)
        if all(f.id in reserved for f in ranked[:room]):
            return [newcomer]
    return ranked[:room]
