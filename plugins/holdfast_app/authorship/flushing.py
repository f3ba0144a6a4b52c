"""The entry ``services.authorship``, which answers a flush's questions about authors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.flush import contract
from holdfast.models import CuratedDecision
from holdfast.text.plain import is_none
from holdfast_app.authorship import hostile, ownwords, sources
from holdfast_app.authorship.witness import NEXT_STEP, REASON, Witness

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from holdfast.models import CuratedEntry, Message, Payload, Turn
    from holdfast_app.base import Services


class Authorship:
    """See :class:`holdfast.flush.interfaces.Authorship`."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def own_words(self, text: str) -> str:
        return ownwords.own_words(text)

    def cleared(self, draft: Payload, turns: Sequence[Turn]) -> Payload:
        return hostile.cleared(draft, turns)

    def sources(self, payload: Payload, messages: Sequence[Message]) -> tuple[str, ...]:
        return sources.of(payload, messages)

    def attributed(self, payload: Payload, summary: str, said: Iterable[Message]) -> tuple[Payload, str, list[str]]:
        return _attributed(Witness(self._services, said), payload, summary)


def _attributed(witness: Witness, payload: Payload, summary: str) -> tuple[Payload, str, list[str]]:
    """Content that instructs an agent is marked with its source, where known. Such curated lines become facts of the
    note, like stated rules that a tool returned and the user did not say."""
    withheld = [rule for rule in payload.rules or () if "rules" not in payload.derived and witness.is_read(rule)]
    if withheld:
        payload = payload.evolve(rules=[rule for rule in payload.rules or () if rule not in withheld])
    if payload.curated is not None and not payload.curated.is_none:
        kept = {name: _curated(getattr(payload.curated, name), witness, withheld) for name in ("memory", "user")}
        payload = payload.evolve(curated=CuratedDecision(**kept))
    if withheld:
        facts = dict.fromkeys((*(f for f in payload.facts or () if not is_none(f)), *withheld))
        payload = payload.evolve(facts=tuple(facts))
    aside = _not_prose(payload)
    changed = {
        text: hostile.MARK.format(name=source) + text
        for text in contract.strings_of(payload)
        if text not in aside
        and hostile.instructs_anywhere(text)
        and not hostile.is_marked(text)
        and (source := witness.source_of(text))
    }
    if changed:
        strings = contract.strings_of(payload)
        payload = contract.map_texts(payload, {text: changed.get(text, text) for text in strings})
    warnings = [f"A line was not put into lasting memory and is in the note: {REASON}. {NEXT_STEP}" for _ in withheld]
    return payload, hostile.marked(summary, witness.source_of), warnings


def _curated(entries: Sequence[CuratedEntry], witness: Witness, withheld: list[str]) -> tuple[CuratedEntry, ...]:
    kept = tuple(entry for entry in entries if not witness.is_hostile(entry.text))
    withheld += (entry.text for entry in entries if entry not in kept)
    return kept


def _not_prose(payload: Payload) -> set[str]:
    """Pointers, names, and lines of curated memory, already checked or stored."""
    found = {*(payload.artifacts or ()), *(m.target for m in payload.state_mutations or ())}
    if payload.curated is not None:
        for entry in (*payload.curated.memory, *payload.curated.user):
            found |= {entry.text, entry.replaces}
    return found
