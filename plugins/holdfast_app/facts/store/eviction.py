"""Which facts are evicted when the store is full. By default the store decides, in one atomic step with the insertion;
the options of ``[facts]`` decide here instead, one process at a time.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from attrs import evolve

from holdfast.errors import Conflict, Unavailable
from holdfast.fs import durable, private
from holdfast.models import AddOutcome, AddResult, Category, Fact
from holdfast.storage import Capability, Remove
from holdfast.text.lazy import log
from holdfast.text.stored import duplicate_key

if TYPE_CHECKING:
    from holdfast_app.base import Services
    from holdfast_app.config import FactsConfig
    from holdfast_app.facts.store.audit_log import FactTrail

logger = log("holdfast.facts")


def _trail(services: Services) -> FactTrail:
    from holdfast_app.facts.store.audit_log import FactTrail  # here, because most facts evict none

    return FactTrail(services.state)


def replaces_at_once(services: Services) -> bool:
    """Whether :func:`add_all` also deletes the replaced facts: on a server that takes several changes in one step."""
    return Capability.TRANSACTIONS in services.store.backend.capabilities and not by_choice(services.config.facts)


def add_all(services: Services, facts: Sequence[Fact], gone: Sequence[str] = ()) -> list[AddResult | None]:
    """Store ``facts`` in order by the configured rules and record the evicted facts in the trail. The result is None
    for a fact whose id is taken. ``gone``, if :func:`replaces_at_once`, are the ids of facts to delete in the same
    step. Raises: Unavailable.
    """
    rules = services.config.facts
    if (gone or len(facts) > 1) and not by_choice(rules):
        results = services.store.add_facts(facts, rules.max_facts, gone)
        for fact, result in zip(facts, results, strict=True):
            if result is not None and result.evicted:
                _trail(services).evicted(result.evicted, fact.id, services.clock())
    else:
        results = [_add(services, fact, rules) for fact in facts]
    for fact, result in zip(facts, results, strict=True):
        if result is not None and result.evicted:
            logger.info("evicted for %s: %s", fact.id, ", ".join(result.evicted))
    return results


def _add(services: Services, fact: Fact, rules: FactsConfig) -> AddResult | None:
    try:
        return (_add_by_choice if by_choice(rules) else _add_by_store)(services, fact, rules)
    except Conflict:
        return None


def by_choice(rules: FactsConfig) -> bool:
    """Whether evictions are decided here, not by the store."""
    return rules.rank_union or rules.supersede or rules.reserved_corrections > 0


def _add_by_store(services: Services, fact: Fact, rules: FactsConfig) -> AddResult:
    """The store chooses, atomically. A crash right after it loses the trail lines."""
    result = services.store.add_fact(fact, rules.max_facts)
    if result.evicted:
        _trail(services).evicted(result.evicted, fact.id, services.clock())
    return result


def _add_by_choice(services: Services, fact: Fact, rules: FactsConfig) -> AddResult:
    """Reads the whole store at the cap. The lock keeps other processes from choosing at the same time."""
    backend = services.store.backend
    private.make(services.state)
    with durable.lock(services.private("facts.lock")):
        stored = list(backend.facts())
        if len(stored) < rules.max_facts:
            return _add_by_store(services, fact, rules)
        leaving = choose(stored, fact, rules)
        if fact not in leaving:
            return _swap(services, fact, leaving, rules)
        if duplicate_key(fact.content) in [duplicate_key(one.content) for one in stored]:
            return _add_by_store(services, fact, rules)  # reports the duplicate
        reason = "the store is full of facts that are at least as strong"
        return AddResult(outcome=AddOutcome.REFUSED, reason=reason)


def _swap(services: Services, fact: Fact, leaving: Sequence[Fact], rules: FactsConfig) -> AddResult:
    """Add ``fact``, record the facts to evict, then delete them. In this order nothing is ever lost.

    A crash or a full disk before the fact is stored leaves everything unchanged. After that, the store is above its
    limit and has no line. After the lines, the store still holds some or all of the facts they name. The
    next addition shrinks it and writes a line for each evicted fact. So a line never names a new fact that is
    missing, and no fact is evicted without its line, with its content under ``supersede``.
    """
    backend, now, keep = services.store.backend, services.clock(), rules.supersede
    result = services.store.add_fact(fact, sys.maxsize)  # fits even if others add; only chosen facts go
    if result.outcome is not AddOutcome.ADDED:  # a duplicate evicts nothing
        return result
    try:
        _trail(services).evicted([f.id for f in leaving], fact.id, now, kept=leaving if keep else (), ahead=True)
    except Unavailable:
        backend.commit([Remove(fact.id)])  # or each try makes the store larger while the trail cannot be written
        raise
    removed = backend.commit([Remove(leaver.id) for leaver in leaving]).removed
    gone = [one for one in removed if one is not None]  # another process may have deleted one meanwhile
    return evolve(result, evicted=tuple(f.id for f in gone))


def choose(stored: Sequence[Fact], newcomer: Fact, rules: FactsConfig) -> list[Fact]:
    """The facts to evict so that ``newcomer`` fits, first to leave first; only ``[newcomer]`` when it is rejected.

    Lowest confidence first; among equals the oldest, then the earlier inserted (reading A02). The reserved places for
    corrections belong to the newest corrections, including the new fact if it is one.
    """
    places = min(rules.reserved_corrections, rules.max_facts)
    reserved: set[str] = set()
    if places:
        corrections = [f for f in (*stored, newcomer) if f.category == Category.CORRECTION]
        reserved = {f.id for f in sorted(corrections, key=lambda f: f.created_at)[-places:]}
    ranked = sorted(stored, key=lambda f: (f.confidence, f.created_at))
    if newcomer.id not in reserved:
        weakest_of_all = rules.rank_union and ranked and newcomer.confidence < ranked[0].confidence
        if weakest_of_all or len(reserved) == rules.max_facts:
            return [newcomer]
    free = [f for f in ranked if f.id not in reserved]
    return free[: len(stored) + 1 - rules.max_facts]
