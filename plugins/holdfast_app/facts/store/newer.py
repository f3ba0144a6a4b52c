"""Stores values; newer ones replace older ones. Several are stored in one round trip where the backend can."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC
from functools import partial
from typing import Final

from holdfast.models import AddOutcome, AddResult, Fact
from holdfast_app.facts.relation import K, Known, Relation
from holdfast_app.facts.store import origins
from holdfast_app.facts.store.writer import FactWriter, Value

#: A fact more confident than a newer statement by more than this stays.
_OUTRANKED: Final = 0.3


def store(
    facts: FactWriter, values: Sequence[Value | AddResult], stored: Sequence[Fact] | None = None
) -> list[AddResult]:
    """The result for each value, in order. Results among the values stay unchanged.

    A new value is stored first and then replaces older ones, which go to the trail with their content, so that a crash
    leaves both and the next try replaces. It is not stored when a newer one is. Values of another person or machine
    stay, see :mod:`holdfast_app.facts.store.origins`. ``stored`` are all stored facts, read just before; None to read
    them when they are needed. Raises: errors of the store.
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
        added = facts.add_all(list(waiting.values()), older=[leaving.get(at, []) for at in waiting])
        learn(result.fact for result in added if result.fact is not None)
        results.update(zip(waiting, added, strict=True))
        for (at, value), result in zip(waiting.items(), added, strict=True):
            said.remove(at)
            if not _cosign(facts, value, result):  # who stated it first has just taken it back
                results[at] = facts.add_all([value])[0]
        for fact_id, by in unsaid:
            facts.sign(fact_id, partial(origins.left, other=by))
        unsaid.clear()
        waiting.clear()

    if stored is None:
        stored = list(facts.services.store.backend.facts()) if any(isinstance(one, Value) for one in values) else []
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


def _cosign(facts: FactWriter, value: Value, result: AddResult) -> bool:
    """Add another origin to a value already stored by someone else. Returns False when the fact is gone meanwhile."""
    places = origins.places(value.source)
    known = result.fact is not None and places <= origins.places(result.fact.source)
    if result.duplicate_of is None or not places or known:
        return True
    return facts.sign(result.duplicate_of, lambda source: origins.joined(source, value.source))
