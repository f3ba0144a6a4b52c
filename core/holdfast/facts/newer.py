"""Stores values; newer ones replace older ones. Several are stored in one round trip where the backend can."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from attrs import evolve

from holdfast.facts import factsubject, origins
from holdfast.models import AddOutcome, AddResult, Fact

if TYPE_CHECKING:
    from holdfast.facts.lifecycle import Facts

#: A fact more confident than a newer statement by more than this stays.
_OUTRANKED: Final = 0.3


class Value(NamedTuple):
    """The values of a fact, checked and admitted. ``at`` is the instant at which it was stated, aware."""

    content: str
    category: str
    confidence: float
    source: str
    at: datetime


def store(facts: Facts, values: Sequence[Value | AddResult]) -> list[AddResult]:
    """The result for each value, in order; a result among the values stays as it is.

    A new value is stored first and then replaces older ones, which go to the trail with their content, so that a crash
    leaves both and the next try replaces. It is not stored when a newer one is. Values of another person or machine
    stay, see :mod:`holdfast.facts.origins`. Raises: errors of the store.
    """
    results: dict[int, AddResult] = {}
    waiting: dict[int, Value] = {}
    stored: list[Fact] = []

    def keep(value: Value, result: AddResult) -> AddResult:
        stored.extend([result.fact] if result.fact is not None else [])
        if result.duplicate_of is not None and origins.of(value.source):
            facts.sign(result.duplicate_of, lambda source: origins.joined(source, value.source))
        return result

    def add_waiting() -> None:
        results.update(zip(waiting, map(keep, waiting.values(), facts.add_all(list(waiting.values()))), strict=True))
        waiting.clear()

    if any(isinstance(value, Value) and factsubject.speaks(value.content) for value in values):
        stored += facts.list()
    for at, value in enumerate(values):
        if isinstance(value, AddResult):
            results[at] = value
            continue
        value = value._replace(at=value.at.astimezone(UTC))
        if factsubject.speaks(value.content):
            if any(factsubject.replaces(value.content, other.content) for other in waiting.values()):
                add_waiting()
            older = list(_older(stored, value))
            newer = next((fact for fact in older if fact.created_at > value.at), None)
            if newer is not None:
                reason = f"fact {newer.id} says something newer"
                results[at] = AddResult(outcome=AddOutcome.REFUSED, reason=reason)
                continue
            if older:
                add_waiting()
                results[at] = keep(value, _replace(facts, value, older))
                continue
        waiting[at] = value
    add_waiting()
    return [results[at] for at in range(len(values))]


def _older(stored: Iterable[Fact], value: Value) -> Iterable[Fact]:
    return (
        fact
        for fact in stored
        if fact.confidence - value.confidence <= _OUTRANKED
        and factsubject.replaces(value.content, fact.content)
        and (not (mine := origins.places(value.source)) or not (others := origins.places(fact.source)) or mine & others)
    )


def _replace(facts: Facts, value: Value, older: Sequence[Fact]) -> AddResult:
    result = facts.add_all([value])[0]
    by = result.fact.id if result.fact is not None else result.duplicate_of
    if by is None:
        return result
    gone = []
    for fact in older:
        if origins.of(value.source) and origins.of(origins.left(fact.source, value.source)):
            facts.sign(fact.id, lambda source: origins.left(source, value.source))  # others still say so
        elif fact.id != by:
            gone.append(fact.id)
            facts.retire(fact, by=by)
    return evolve(result, replaced=gone)
