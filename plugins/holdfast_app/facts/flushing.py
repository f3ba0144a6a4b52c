"""Stores a flush's stated and extracted facts, and runs slow extractors later."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Final

from attrs import evolve

from holdfast.errors import BadValue, HoldfastError, Refused
from holdfast.journal import order
from holdfast.journal.journal import Journal
from holdfast.models import AddOutcome, AddResult, Category, Fact, Message, Payload, Receipt, turns_of
from holdfast.services.interfaces import FactService, Gathered
from holdfast.text.lazy import Lazy, log
from holdfast.text.plain import cut, is_none
from holdfast.text.stored import DEFAULT_CONFIDENCE
from holdfast_app import background
from holdfast_app.authorship.witness import REASON, Witness
from holdfast_app.base import Services
from holdfast_app.facts.extraction import backlog, extract
from holdfast_app.facts.extraction.queue import Queue
from holdfast_app.facts.rejected import FactTrail
from holdfast_app.facts.store.lifecycle import Facts
from holdfast_app.facts.store.writer import Value
from holdfast_app.records import ownlines, recalled

logger = log("holdfast.facts")

#: Characters of a fact that a warning quotes.
_QUOTED: Final = 60
#: A stated fact's first words, and its category.
_CUES: Final = (
    (Lazy(r"(?:correction|actually|no, )\b", re.IGNORECASE), Category.CORRECTION),
    (Lazy(r"(?:the user|we|i|\w+) (?:really |strongly )?(?:prefers?|likes?|dislikes?|wants?)\b", re.IGNORECASE),
     Category.PREFERENCE),
    (Lazy(r"(?:the (?:goal|objective|aim) is|goal:)", re.IGNORECASE), Category.GOAL),
)  # fmt: skip


class FlushedFacts(FactService):
    """One project's facts from flushes.

    With ``[extract] when = "turn"`` all extractors run later, for the messages not extracted yet. If an extracting
    process died and its results are lost, the extractors that a flush may wait for run again.
    """

    def __init__(self, services: Services) -> None:
        super().__init__(services.plugins)
        self._services = services

    def settle(
        self,
        found: Gathered | None,
        said: Sequence[Message],
        *,
        session: str,
        flush: str,
        payload: Payload | None,
        at: datetime,
        late: bool,
        stored: Sequence[Fact] | None,
    ) -> tuple[list[str], tuple[str, ...]]:
        services, payload = self._services, payload or Payload()
        queued: list[str] = []
        try:
            turns = recalled.without_recalled(turns_of(said[-extract.AT_ONCE_MESSAGES :]))
            by_turn, later = services.config.extract.when == background.TURN, backlog.later(services)
            heard = Witness(services, turns)
            fresh = _stated(services, payload, heard, flush=flush, at=at, late=session if late else "")
            found = Gathered() if by_turn else found or extract.at_once(services, turns)
            plugins, error = [*later, *found.failed], " ".join(found.failed.values())
            queued += backlog.enqueue(services, session, said, plugins, flush=flush, error=error)
            if later:
                ids = {m.id for m in said}
                Queue(services.state).flushed(session, ids, flush)
                backlog.add_summaries(services, session, ids, flush, at)  # those of waiting pieces follow
            results = extract.settle(services, found, heard, source=session, stated=fresh, stored=stored).stated
        except HoldfastError as error:  # a failure here must not refuse a flush
            logger.warning("facts of a flush could not be stored: %s", type(error).__name__)
            return queued, (f"These messages' facts could not be stored: {error}",)
        return queued, _unstored(payload, results)

    def queue(self, said: Sequence[Message], *, session: str, flush: str) -> list[str]:
        """Queue the messages for every extractor, because the store's server did not take the flush. Returns the queued
        items' ids. Raises: Unavailable."""
        plugins = list(self._services.plugins.extractors())
        return backlog.enqueue(self._services, session, said, plugins, flush=flush)

    def complete(self, receipt: Receipt, queued: Collection[str], found: Gathered | None) -> Receipt:
        asked = backlog.work_off(self._services, first=queued, but=found.failed if found else ())
        mine = [text for flush_id, text in asked.summaries if flush_id == receipt.flush_id]
        receipt = evolve(receipt, warnings=(*receipt.warnings, *asked.failures))
        if mine:
            receipt = evolve(receipt, summary="\n\n".join([receipt.summary, ownlines.SUMMARY, *mine]))
        return receipt

    def state(self, payload: Payload, *, session: str, flush: str, at: datetime) -> tuple[str, ...]:
        stated = _stated(self._services, payload, Witness(self._services), flush=flush, at=at, late=session)
        return _unstored(payload, Facts(self._services).store(stated))

    def restore(self, flushes: Iterable[tuple[Receipt, Payload]]) -> None:
        last = max((event.at for event in FactTrail(self._services.state).entries()), default=None)
        reached: dict[str, datetime] = {}  # by session, because its clock may have gone back
        for receipt, payload in flushes:
            session = receipt.session_id
            reached[session] = max(receipt.at, reached.get(session, receipt.at))
            if last is None or reached[session] > last:
                self.state(payload, session=session, flush=receipt.flush_id, at=receipt.at)


def _stated(
    services: Services, payload: Payload, heard: Witness, *, flush: str, at: datetime, late: str = ""
) -> list[Value | AddResult]:
    """The facts that the caller stated, in order, dated ``at`` and with the flush's id as their source; ``late`` names
    a flush's session, when it is stored late.

    A sentence that the gate refuses as a fact, or that instructs an agent and is not the user's, stays in the note
    alone, and has a refusal here. Raises: PluginError, Unavailable.
    """
    facts, found = Facts(services), list[Value | AddResult]()
    stated = _texts(payload)
    said = order.flushes(Journal(services.state, late)) if late and stated else None
    for text in stated:
        try:
            if heard.is_hostile(text):
                raise Refused(REASON, next_step="")
            category = next((known for cue, known in _CUES if cue.match(text)), Category.CONTEXT)
            found.append(facts.stated(text, category, DEFAULT_CONFIDENCE, flush, at=at, said=said))
        except (BadValue, Refused) as error:
            found.append(AddResult(outcome=AddOutcome.REFUSED, reason=error.message.rstrip(".")))
    return found


def _unstored(payload: Payload, results: Sequence[AddResult]) -> tuple[str, ...]:
    """A sentence for each unstored fact of ``payload``, with the reason."""
    return tuple(
        f"Stated fact {number} was not stored ({cut(text, _QUOTED)}): {result.reason}."
        for number, (text, result) in enumerate(zip(_texts(payload), results, strict=True), 1)
        if result.outcome is AddOutcome.REFUSED
    )


def _texts(payload: Payload) -> list[str]:
    """The stated facts."""
    return [] if "facts" in payload.derived else [text for text in payload.facts or () if not is_none(text)]
