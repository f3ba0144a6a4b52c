"""Stores a flush's stated and extracted facts, and works through the backlog of turns for slow extractors.

The turns wait in the durable queue (:mod:`holdfast_app.facts.extraction.queue`), so no lock is held during a model
call. In the background only one process works, bounded in time and in calls a day; its record is ``state/upkeep.json``.
The session's journal records a piece after its facts are stored and before it leaves the queue. So a crash loses
nothing, and a recorded piece is not asked again.
"""

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import ExitStack
from datetime import datetime
from itertools import accumulate, chain
from typing import Final

from attrs import evolve

from holdfast import Session
from holdfast.config.layout import Surface
from holdfast.config.serde import stamp
from holdfast.errors import BadValue, HoldfastError, Refused, Unavailable
from holdfast.flush import notes
from holdfast.fs import paths, private
from holdfast.journal import order, summaries
from holdfast.models import AddOutcome, AddResult, Extraction, Fact, Message, Payload, Receipt, Turn, turns_of
from holdfast.services.interfaces import FactService, Gathered
from holdfast.storage import block_marker, sha256
from holdfast.text.lazy import log
from holdfast.text.plain import is_none
from holdfast.text.stored import DEFAULT_CONFIDENCE
from holdfast_app import background, progress
from holdfast_app.authorship.witness import REASON, Witness
from holdfast_app.base import Services
from holdfast_app.facts import restated
from holdfast_app.facts.extraction import extract
from holdfast_app.facts.extraction import queue as queues
from holdfast_app.facts.extraction.extract import ExtractResult
from holdfast_app.facts.extraction.queue import Queue, Run, Waiting
from holdfast_app.facts.store.lifecycle import Facts
from holdfast_app.facts.store.values import Value, check_source
from holdfast_app.journal import journal as journals
from holdfast_app.journal.journal import Journal
from holdfast_app.printable import cut
from holdfast_app.records import blocks, ownlines, recalled
from holdfast_app.sentences import lasting

logger = log("holdfast.facts")

_AGAIN: Final = "It is retried automatically, or now with `holdfast extract --queued`."
#: Characters of a session's earlier summaries that an extractor is shown.
_EARLIER_CHARS: Final = 4_000


class FlushedFacts(FactService):
    """One project's facts from flushes.

    With ``[extract] when = "turn"`` all extractors run later, for the messages not extracted yet. If an extracting
    process died and its results are lost, the extractors that a flush may wait for run again.
    """

    def __init__(self, services: Services, heard: Callable[[Sequence[Message]], Witness]) -> None:
        super().__init__(services.plugins)
        self._services, self._heard = services, heard

    def settle(
        self,
        gathered: Gathered | None,
        messages: Sequence[Message],
        *,
        session: str,
        flush: str,
        payload: Payload | None,
        at: datetime,
        late: bool,
        stored: Sequence[Fact] | None,
    ) -> tuple[list[str], tuple[str, ...]]:
        services, payload, queued = self._services, payload or Payload(), list[str]()
        try:
            by_turn, slow = services.config.extract.when == background.TURN, later(services)
            newest, heard = turns_of(messages[-extract.AT_ONCE_MESSAGES :]), self._heard(messages)
            fresh = _stated(services, payload, heard, flush=flush, at=at, late=session if late else "")
            gathered = Gathered() if by_turn else gathered or extract.at_once(services, newest)
            plugins, error = [*slow, *gathered.failed], " ".join(gathered.failed.values())
            queued += enqueue(services, session, messages, plugins, flush=flush, error=error)
            if slow:
                ids = {m.id for m in messages}
                Queue(services.state).flushed(session, ids, flush)
                add_summaries(services, session, ids, flush, at)  # those of waiting pieces follow
            done = extract.settle(services, gathered, heard, source=session, stated=fresh, stored=stored)
        except HoldfastError as error:  # a failure here must not refuse a flush
            logger.warning("facts of a flush could not be stored: %s", type(error).__name__)
            return queued, (f"These messages' facts could not be stored: {error}",)
        return queued, (*_unstored(payload, done.stated), *done.failures)

    def complete(self, receipt: Receipt, queued: Collection[str]) -> Receipt:
        extracted = work_off(self._services, first=queued)
        again = extracted.failures
        warnings = [text for text in receipt.warnings if not any(failure.startswith(text) for failure in again)]
        summaries = [text for flush_id, text in extracted.summaries if flush_id == receipt.flush_id]
        summary = "\n\n".join([receipt.summary, *([ownlines.SUMMARY, *summaries] if summaries else ())])
        return evolve(receipt, warnings=(*warnings, *again), summary=summary)

    def restore(self, flushes: Iterable[tuple[Receipt, Payload]]) -> None:
        for receipt, payload in flushes:
            payload = payload.evolve(facts=[text for text in payload.facts or () if notes.PURGED not in text])
            state_late(self._services, payload, session=receipt.session_id, flush=receipt.flush_id, at=receipt.at)


def state_late(services: Services, payload: Payload, *, session: str, flush: str, at: datetime) -> tuple[str, ...]:
    """Store the facts that an earlier flush stated. Returns a sentence for each that was not stored."""
    stated = _stated(services, payload, Witness(services), flush=flush, at=at, late=session)
    return _unstored(payload, Facts(services).store(stated))


def _stated(
    services: Services, payload: Payload, heard: Witness, *, flush: str, at: datetime, late: str = ""
) -> list[Value | AddResult]:
    """The facts that the caller stated, in order, dated ``at`` and with the flush's id as their source; ``late`` names
    a flush's session, when it is stored late.

    A sentence that the gate refuses as a fact, or that instructs an agent and is not the user's, stays in the note
    alone, and has a refusal here. Raises: PluginError, Unavailable.
    """
    facts, stated, texts = Facts(services), list[Value | AddResult](), _texts(payload)
    flushes = order.flushes(Journal(services.state, late)) if late and texts else None
    for text in texts:
        try:
            if heard.is_hostile(text):
                raise Refused(REASON, next_step="")
            stated.append(facts.stated(text, lasting.by_words(text), DEFAULT_CONFIDENCE, flush, at=at, said=flushes))
        except (BadValue, Refused) as error:
            stated.append(AddResult(outcome=AddOutcome.REFUSED, reason=error.message.rstrip(".")))
    return stated


def _unstored(payload: Payload, results: Sequence[AddResult]) -> tuple[str, ...]:
    """A sentence for each unstored fact of ``payload``, with the reason."""
    return tuple(
        f"Stated fact {number} was not stored ({cut(text, 60)}): {result.reason}."
        for number, (text, result) in enumerate(zip(_texts(payload), results, strict=True), 1)
        if result.outcome is AddOutcome.REFUSED
    )


def _texts(payload: Payload) -> list[str]:
    """The stated facts."""
    return [] if "facts" in payload.derived else [text for text in payload.facts or () if not is_none(text)]


# the backlog


def extract_now(services: Services, turns: Sequence[Turn], *, source: str) -> ExtractResult:
    """Extract facts from turns outside the journal; see :meth:`holdfast.Holdfast.extract`."""
    source = services.gate.identifier(check_source(source))
    queue, names, ids = Queue(services.state), list(services.plugins.extractors()), list[str]()
    for piece in extract.pieces(extract.redacted(services, turns)) if names else ():
        if own := recalled.without_recalled(piece):
            ids.append(queue.add(own, names, error="", source=source, now=services.clock()))
    return work_off(services, first=ids)


def enqueue(
    services: Services,
    source: str,
    messages: Sequence[Message],
    plugins: Collection[str],
    *,
    flush: str = "",
    error: str = "",
) -> list[str]:
    """Queue messages of the session ``source`` for ``plugins``, unless they were already extracted or are queued
    already. Returns the new items' ids. Raises: Unavailable.

    The session's journal keeps the account.
    """
    queue, ids = Queue(services.state), list[str]()
    if not messages or not plugins:
        return ids
    private.make(services.state)
    with private.lock(services.private("extract-account"), timeout_s=60.0):
        pieces = [item.covers for item in queue.items() if item.source == source]  # first, as they move on
        known = set(chain(*pieces, *(piece.covers for piece in queues.extracted_of(services.state, source))))
        missing = turns_of([m for m in messages if m.id not in known])
        for piece in extract.pieces(recalled.without_recalled(missing)):
            covers = [m.id for turn in piece for m in turn.messages]
            now = services.clock()
            ids.append(queue.add(piece, plugins, error=error, source=source, now=now, flush=flush, covers=covers))
    return ids


def later(services: Services) -> list[str]:
    """The extractors that a flush does not wait for: models, and turn by turn all of them."""
    by_turn = services.config.extract.when == background.TURN
    return [name for name, is_quick in services.plugins.extractors().items() if by_turn or not is_quick]


def _summary(services: Services, extraction: Extraction, heard: Witness) -> str:
    """A plugin's summary as it may be stored, with the decisions and the rejected approaches; lines that instruct
    an agent are marked with their source. Empty when a validator refuses it."""
    text = "\n\n".join(filter(None, (extraction.summary, blocks.late(extraction.draft))))
    text = paths.rewrite(heard.marked(text, is_report=True), services.root).strip()
    try:
        return services.gate.admit(text, surface=Surface.DAILY) if text else ""
    except Refused as refused:
        logger.warning("a summary was refused: %s", refused.message)
        return ""


def work_off(
    services: Services, *, limit: int = 1, first: Collection[str] = (), even_if_not_due: bool = False
) -> ExtractResult:
    """Try the waiting items with an id in ``first`` and, if none of them fails, up to ``limit`` others that are due.
    Never raises."""
    queue, known, result = Queue(services.state), services.plugins.extractors().keys(), ExtractResult()
    if not known:
        return result

    def is_first(item: Waiting) -> bool:
        return item.id in first and not known.isdisjoint(item.plugins)

    def is_due(item: Waiting) -> bool:
        return (even_if_not_due or item.due <= services.clock()) and not known.isdisjoint(item.plugins)

    try:
        for item in queue.claim(services.clock(), limit=len(first), wanted=is_first):
            result += _tried(services, queue, item)
        for item in queue.claim(services.clock(), limit=0 if result.failures else limit, wanted=is_due):
            progress.report(result.retried, 0, "queued conversations extracted")
            result += evolve(_tried(services, queue, item), retried=1)
    except HoldfastError as error:
        logger.warning("waiting turns could not be extracted: %s", error.message)
        result += ExtractResult(failures=(f"Facts of waiting turns could not be stored: {error}",))
    return result + ExtractResult(given_up=tuple(queue.given_up))


def _tried(services: Services, queue: Queue, item: Waiting) -> ExtractResult:
    """Extract a claimed item. Raises: HoldfastError."""
    plugins = [name for name in _unasked(services, item) if name in services.plugins.extractors()]
    if not plugins:  # its process died after recording it, or another process was faster
        queue.remove([item.id])
        return ExtractResult()
    gathered = extract.ask(services, item.turns, plugins, Payload(facts=_earlier(services, item)))
    heard = Witness(services, item.turns)
    result = extract.settle(services, gathered, heard, source=item.source, at=item.since)
    if item.covers:
        texts = {plugin: _summary(services, extraction, heard) for plugin, extraction in gathered.results}
        queues.note_extracted(services.state, item, [name for name in plugins if name not in gathered.failed], texts)
        # The flush may have run during the extraction.
        if flush := item.flush or next((queued.flush for queued in queue.items() if queued.id == item.id), ""):
            result = evolve(result, summaries=add_summaries(services, item.source, {*item.covers}, flush, item.since))
            try:
                for plugin, extraction in gathered.results:
                    draft = extraction.draft
                    restated.restate(services, item.source, flush, item.covers, by=plugin, read=draft, heard=heard)
            except HoldfastError as error:
                logger.warning("work could not be restated: %s", error.message)
    if not gathered.failed:
        queue.remove([item.id])
        return result
    waits = queue.failed(item, gathered.failed, now=services.clock())
    failures = [f"{error} {_AGAIN}" if waits else error for error in gathered.failed.values()]
    return result + ExtractResult(failures=failures, queued=int(waits))


def _earlier(services: Services, item: Waiting) -> list[str]:
    """The summaries of what was extracted from the item's session before it, oldest first; at least the newest."""
    before = queues.extracted_of(services.state, item.source) if item.covers else ()
    earlier = [piece.summary for piece in before if piece.summary]
    sizes = accumulate(map(len, reversed(earlier)))
    return earlier[-max(1, sum(size <= _EARLIER_CHARS for size in sizes)) :]


def _unasked(services: Services, item: Waiting) -> tuple[str, ...]:
    """The plugins that have not extracted ``item``. The journal is more reliable here than the queue."""
    if not item.covers:
        return item.plugins
    pieces = queues.extracted_of(services.state, item.source)
    known = {name: {i for piece in pieces if piece.plugin == name for i in piece.covers} for name in item.plugins}
    return tuple(name for name in item.plugins if not {*item.covers} <= known[name])


def add_summaries(
    services: Services, source: str, ids: set[str], flush: str, at: datetime
) -> tuple[tuple[str, str], ...]:
    """Put the summaries of the extracted pieces that cover only messages in ``ids`` into the daily note of the time
    ``at``, which is the flush's, and into the journal of the session ``source``, once however often this is called.
    Returns them, by flush. Raises: PluginError; Unavailable."""
    journal, added = Journal(services.state, source), list[tuple[str, str]]()
    at = at.astimezone(services.config.tz)
    name = services.layout.name(Surface.DAILY, at.date())
    for piece in queues.extracted_of(services.state, source):
        if not piece.summary or not ids.issuperset(piece.covers):
            continue
        part = sha256("\n".join(piece.covers))[:16]
        block_id, block = blocks.later(flush, piece.plugin, piece.summary, session=source, at=at, part=part)
        try:
            block = services.gate.admit(block, surface=Surface.DAILY, name=name)
        except Refused as refused:
            logger.warning("a summary was refused: %s", refused.message)
            continue
        note = services.store.read(name)
        if note is None or block_marker(block_id) not in note.text:  # a model asked twice does not say the same twice
            services.store.append(Surface.DAILY, name, block, notes.header(at.date()), block_id)
        journal.append(summaries.record(flush, f"{piece.plugin} {part}", piece.summary, stamp(at)))
        added.append((flush, piece.summary))
    return tuple(added)


# --- in the background

#: Maximum wait for another process that may be about to end, in seconds.
_PATIENCE_S: Final = 3.0
#: Maximum duration of a run, in seconds. The next one continues.
_LIMIT_S: Final = 600.0


def run(services: Services) -> ExtractResult:
    """Extract every ended turn not yet extracted, and everything else due in the queue.

    A failure ends the run, because the next piece would most likely fail too, and so do the limits of time and of calls
    a day. The rest waits. Returns an empty result while another process works, which looks for new turns after each
    piece. Raises: Unavailable.
    """
    private.make(services.state)
    with ExitStack() as working:
        result = ExtractResult()
        try:
            working.enter_context(private.lock(services.private("extract-work"), timeout_s=_PATIENCE_S))
        except Unavailable:
            return result
        record = Run(at=services.now(), calls=queues.calls_today(services))
        most, until = services.config.extract.calls_a_day, time.monotonic() + _LIMIT_S
        while True:
            collect(services)
            if not services.waits(queues.FILE):
                break
            if record.calls >= most or time.monotonic() > until:
                problem = f"The rest waits: at most {most} calls a day, in at most 10 minutes each."
                record = evolve(record, problem=problem)
                break
            record.save(services)
            step = work_off(services)
            result += step
            calls, facts, problem = record.calls + step.retried, len(result.added), " ".join(step.failures)
            record = evolve(record, calls=calls, pieces=result.retried, facts=facts, problem=problem)
            if step.failures or not step.retried:
                break
        if record.pieces or record.problem:
            evolve(record, ended=services.now()).save(services)
    return result


def everything(services: Services) -> ExtractResult:
    """Try every waiting item once, due or not. Raises: Unavailable."""
    if services.config.extract.when == background.TURN:
        collect(services)
    return work_off(services, limit=queues.MAX_ITEMS, even_if_not_due=True)


def collect(services: Services) -> None:
    """Queue every session's ended turns that are neither extracted nor queued."""
    plugins = later(services)
    for journal in journals.every(services.state) if plugins else ():
        try:
            if journal.is_unflushed():
                enqueue(services, journal.session_id, ended(Session(services, journal.session_id).unflushed), plugins)
        except HoldfastError as error:
            logger.warning("cannot queue a session's turns: %s", error.message)


def ended(messages: Sequence[Message]) -> Sequence[Message]:
    """``messages`` without a final turn that has no answer yet."""
    begun = answered = 0
    for number, message in enumerate(messages):
        begun = number if message.role == "user" else begun
        answered = number + 1 if message.role == "assistant" and not message.tool else answered
    return messages[: max(answered, begun)]
