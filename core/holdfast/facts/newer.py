"""Stores values; newer ones replace older ones. Several are stored in one round trip where the backend can."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from holdfast.facts import factsubject
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


def store(facts: Facts, values: Sequence[Value | AddResult], stored: Sequence[Fact] | None = None) -> list[AddResult]:
    """The result for each value, in order; a result among the values stays as it is.

    A new value is stored first and then replaces older ones, which go to the trail with their content, so that a crash
    leaves both and the next try replaces. It is not stored when a newer one is. ``stored`` are all stored facts, read
    just before; None to read them when they are needed. Raises: errors of the store.
    """
    results: dict[int, AddResult] = {}
    waiting: dict[int, Value] = {}
    leaving: dict[int, list[Fact]] = {}

    def add_waiting() -> None:
        added = facts.add_all(list(waiting.values()), older=[leaving.get(at, []) for at in waiting])
        known.extend(result.fact for result in added if result.fact is not None)
        results.update(zip(waiting, added, strict=True))
        waiting.clear()

    known = list(stored or ())
    if stored is None and any(isinstance(value, Value) and factsubject.speaks(value.content) for value in values):
        known += facts.list()
    for at, value in enumerate(values):
        if isinstance(value, AddResult):
            results[at] = value
            continue
        value = value._replace(at=value.at.astimezone(UTC))
        if factsubject.speaks(value.content):
            if any(factsubject.replaces(value.content, other.content) for other in waiting.values()):
                add_waiting()
            older = list(_older(known, value))
            newer = next((fact for fact in older if fact.created_at > value.at), None)
            if newer is not None:
                reason = f"fact {newer.id} says something newer"
                results[at] = AddResult(outcome=AddOutcome.REFUSED, reason=reason)
                continue
            leaving[at] = older
            known = [fact for fact in known if fact not in older]
        waiting[at] = value
    add_waiting()
    return [results[at] for at in range(len(values))]


def _older(stored: Iterable[Fact], value: Value) -> Iterable[Fact]:
    return (
        fact
        for fact in stored
        if fact.confidence - value.confidence <= _OUTRANKED and factsubject.replaces(value.content, fact.content)
    )
