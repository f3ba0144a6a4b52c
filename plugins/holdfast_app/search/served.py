"""Documents and facts found by a backend on a server that has a search of its own."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from holdfast.errors import NotFound
from holdfast.storage import Hit, HitKind
from holdfast.text import ownlines
from holdfast_app.search import records, words
from holdfast_app.search.hits import SearchHit

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
) -> list[SearchHit]:
    """The hits, best first, masked, without excerpts. Empty when the backend serves none. Raises: Unavailable."""
    if not records.is_served(memory):
        return []
    filtered = bool(kinds or since or until)  # not by the backend, whose first hits could all be left out
    served = memory.services.store.backend.search(words.asked(question), max(limit, _FILTERED) if filtered else limit)
    found = [one for hit in served if (one := _described(memory, hit))]
    if records.DECISION in kinds:
        notes = [one.name for one in found if one.kind == records.NOTE]
        found += [one for name in notes for one in _decisions(memory, name, words.stems(question))]
    kept = [
        one
        for one in found
        if (not kinds or one.kind in kinds)
        and (since is None or (one.at and _latest(one, one.at) >= since))
        and (until is None or (one.at and one.at < until))
    ][:limit]
    masked = memory.services.gate.outgoing_all([one.text for one in kept], surface="daily")
    return [
        one._replace(text=text, score=round(_BEST * _NEXT**number, 4))
        for number, (one, text) in enumerate(zip(kept, masked, strict=True))
    ]


def _latest(one: SearchHit, at: datetime) -> datetime:
    return at if one.kind == records.FACT else at + timedelta(seconds=records.REST_OF_DAY_S)


def _decisions(memory: Holdfast, name: str, stems: set[str]) -> list[SearchHit]:
    """A note's decisions with a stem from the question. Backends do not distinguish decisions from other lines."""
    at = records.day_of(memory, name)
    return [
        SearchHit(one.kind, name, one.place, f"{name}:{one.place}", at, "", 0.0, "", one.body)
        for one in records.document(memory, name)
        if one.kind == records.DECISION and stems & words.stems(one.body)
    ]


def _described(memory: Holdfast, hit: Hit) -> SearchHit | None:
    """None for a removed entry. A store on a server withholds nothing."""
    if hit.kind == HitKind.FACT:
        try:
            fact = memory.facts.get(hit.name)
        except NotFound:
            return None
        at = fact.created_at.astimezone(memory.config.tz)
        return SearchHit(records.FACT, "", fact.id, fact.id, at, str(fact.category), 0.0, "", fact.content)
    kind = records.kind_of(memory, hit.name)
    text = ownlines.without(hit.text).strip()
    if kind is None or not text:
        return None
    return SearchHit(kind, hit.name, "1", hit.name, records.day_of(memory, hit.name), "", 0.0, "", text)
