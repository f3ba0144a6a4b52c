"""Documents and facts found by a backend on a server that has a search of its own."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from holdfast.errors import NotFound
from holdfast.storage import Hit, HitKind
from holdfast.text import ownlines
from holdfast_app.search import texts, words
from holdfast_app.search.excerpts import excerpt

if TYPE_CHECKING:
    from datetime import datetime

    from holdfast import Holdfast

#: Score for the backend's best hit, and the share of it for each further hit. The backend's own scores differ in scale.
_BEST: Final = 0.5
_NEXT: Final = 0.95
#: Number of hits to ask for when some of them are left out afterwards.
_FILTERED: Final = 1_000


def hits(
    memory: Holdfast, question: str, limit: int, kinds: Collection[str], since: datetime | None, until: datetime | None
) -> list[dict[str, Any]]:
    """Each hit's fields, best first, masked. Empty for a backend that does not serve searches. Raises: Unavailable."""
    if not texts.is_served(memory):
        return []
    filtered = bool(kinds or since or until)  # not by the backend, whose first hits could all be left out
    found = memory.services.store.backend.search(words.asked(question), max(limit, _FILTERED) if filtered else limit)
    described = [one for hit in found if (one := _described(memory, hit))]
    if texts.DECISION in kinds:
        notes = [one["name"] for one in described if one["kind"] == texts.NOTE]
        described += [one for name in notes for one in _decisions(memory, name, words.stems(question))]
    kept = [
        one
        for one in described
        if (not kinds or one["kind"] in kinds)
        and (since is None or (one["at"] and _latest(one) >= since))
        and (until is None or (one["at"] and one["at"] < until))
    ][:limit]
    masked = memory.services.gate.outgoing_all([one["text"] for one in kept], surface="daily")
    for number, (one, text) in enumerate(zip(kept, masked, strict=True)):
        part = excerpt(text, question)
        one |= {"text": text, "excerpt": part.match, "before": part.before, "after": part.after}
        one["score"] = round(_BEST * _NEXT**number, 4)
    return kept


def _latest(one: dict[str, Any]) -> datetime:
    at: datetime = one["at"]
    return at if one["kind"] == texts.FACT else at + timedelta(seconds=texts.REST_OF_DAY_S)


def _decisions(memory: Holdfast, name: str, stems: set[str]) -> list[dict[str, Any]]:
    """A note's decisions with a stem from the question. Backends do not distinguish decisions from other lines."""
    at = texts.day_of(memory, name)
    return [
        {"kind": one.kind, "text": one.body, "name": name, "place": one.place, "where": f"{name}:{one.place}", "at": at,
         "role": ""}
        for one in texts.document(memory, name)
        if one.kind == texts.DECISION and stems & words.stems(one.body)
    ]  # fmt: skip


def _described(memory: Holdfast, hit: Hit) -> dict[str, Any] | None:
    """None for a removed entry. A store on a server withholds nothing."""
    if hit.kind == HitKind.FACT:
        try:
            fact = memory.facts.get(hit.name)
        except NotFound:
            fact = None
        if fact is None:
            return None
        at = fact.created_at.astimezone(memory.config.tz)
        named = {"name": "", "place": fact.id, "where": fact.id, "at": at, "role": str(fact.category)}
        return {"kind": texts.FACT, "text": fact.content, **named}
    kind = texts.kind_of(memory, hit.name)
    if kind is None:
        return None
    if not (text := ownlines.without(hit.text).strip()):
        return None
    named = {"name": hit.name, "place": "1", "where": hit.name, "at": texts.day_of(memory, hit.name), "role": ""}
    return {"kind": kind, "text": text, **named}
