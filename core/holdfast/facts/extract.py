"""From conversation to facts: call the extractors, check their candidates, queue the failed turns.

Recalled memory is removed first, so that it is not learned again as new. Turns are redacted
before any extractor, and so any model, sees them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from attrs import asdict, evolve, field, frozen

from holdfast.config.layout import Surface
from holdfast.errors import BadValue, HoldfastError, NotFound, Refused
from holdfast.facts import profile
from holdfast.facts.queue import GivenUp, Queue
from holdfast.fs import paths
from holdfast.journal.witness import REASON
from holdfast.models import AddOutcome, AddResult, Extraction, FactCandidate, Profile, Turn
from holdfast.text import hostile, recall
from holdfast.text.lazy import log

if TYPE_CHECKING:
    from holdfast.errors import HookFailed
    from holdfast.facts.newer import Value
    from holdfast.models import Fact, Payload
    from holdfast.session.services import Services

logger = log(__name__)

_AGAIN: Final = "It is retried automatically, or now with `holdfast extract --queued`."
#: HTTP status (None without a response) -> the next step besides waiting.
_PASSING: Final[Mapping[int | None, str]] = {
    None: "Check `base_url` and the network.",
    429: "The quota is used up for now.",
}
#: Approximate characters per piece of a long conversation. Turns are never split.
BATCH_CHARS: Final = 60_000
#: Maximum number of stored facts shown to an extractor.
_KNOWN: Final = 30


@frozen(kw_only=True)
class Gathered:
    """The extractors' results for some turns, by plugin. ``failed`` maps a plugin to its error and the next step;
    ``queued`` is true when the turns wait for those plugins, ``given_up`` lists items that no longer wait."""

    results: Sequence[tuple[str, Extraction]] = ()
    failed: Mapping[str, str] = field(factory=dict)
    queued: bool = False
    given_up: Sequence[GivenUp] = ()


@frozen(kw_only=True)
class Judged:
    """A candidate, the plugin that proposed it, and its outcome."""

    plugin: str
    candidate: FactCandidate
    result: AddResult


@frozen(kw_only=True)
class ExtractResult:
    """``judged`` in order of proposal. ``failures`` describe extractor errors; ``queued`` counts the pieces
    to be retried, ``retried`` the waiting pieces that were tried now; ``given_up`` counts pieces that
    will not be retried; ``profile`` is true when the profile changed; ``summaries`` are of flushes, by their ids, from
    waiting turns."""

    judged: tuple[Judged, ...] = field(default=(), converter=tuple[Judged, ...])
    failures: tuple[str, ...] = field(default=(), converter=tuple[str, ...])
    queued: int = 0
    profile: bool = False
    retried: int = 0
    given_up: tuple[GivenUp, ...] = field(default=(), converter=tuple[GivenUp, ...])
    summaries: tuple[tuple[str, str], ...] = ()

    @property
    def added(self) -> tuple[str, ...]:
        """Ids of the added facts."""
        return tuple(j.result.fact.id for j in self.judged if j.result.outcome is AddOutcome.ADDED and j.result.fact)

    @property
    def evicted(self) -> tuple[str, ...]:
        """Ids of the facts evicted for them."""
        return tuple(fact_id for j in self.judged for fact_id in j.result.evicted)

    def __add__(self, other: ExtractResult) -> ExtractResult:
        return ExtractResult(
            judged=self.judged + other.judged,
            failures=self.failures + other.failures,
            queued=self.queued + other.queued,
            profile=self.profile or other.profile,
            retried=self.retried + other.retried,
            given_up=self.given_up + other.given_up,
            summaries=self.summaries + other.summaries,
        )


def gather(services: Services, turns: Sequence[Turn], *, source: str = "") -> Gathered:
    """Call every extractor. A failure does not delay the others, since the turns wait for that plugin in the queue."""
    said = recall.without_recalled(turns)
    found, troubles = ask(services, said)
    if not troubles:
        return found
    queue = queue_of(services)
    try:
        item = queue.put(said, found.failed, error=sentences(troubles), source=source, now=services.clock())
    except HoldfastError as problem:
        logger.warning("turns whose extraction failed could not be queued: %s", problem.message)
        return evolve(found, failed={p: f"{t} The turns do not wait: {problem}" for p, t in found.failed.items()})
    if item is None:
        return evolve(found, given_up=queue.given_up)
    return evolve(found, failed=told(troubles, waits=True), queued=True, given_up=queue.given_up)


class _Trouble(NamedTuple):
    """Why an extractor failed, as a sentence, and the next step. A failure that ``passes`` may be gone next time."""

    plugin: str
    sentence: str
    step: str
    passes: bool

    def text(self, *, waits: bool) -> str:
        steps = [self.step, _AGAIN if self.passes and waits else ""]
        return " ".join(filter(None, (self.sentence, *steps)))


def ask(
    services: Services, said: Sequence[Turn], only: Collection[str] = (), before: Payload | None = None
) -> tuple[Gathered, list[_Trouble]]:
    """Call the extractors, or only the plugins in ``only``. ``before`` is the session's state before the turns. Returns
    results, and failures."""
    if not said:
        return Gathered(), []
    quick = services.dispatch.extractors()
    known = _known(services, said) if any(not quick[name] for name in only or quick) else ()
    results, failures = services.dispatch.on_extract(said, only=only, known=known, before=before)
    shown = {fact.id for fact in known}
    results = [(plugin, evolve(e, retire=[i for i in e.retire if i in shown])) for plugin, e in results]
    troubles = [_trouble(failure, services.root) for failure in failures]
    return Gathered(results=results, failed=told(troubles, waits=False)), troubles


def _known(services: Services, said: Sequence[Turn]) -> Sequence[Fact]:
    """Stored facts on the turns' subjects, masked. None when the facts came with a clone. Never raises, because an
    extractor can work without them."""
    from holdfast.config import provenance
    from holdfast.facts import factsubject
    from holdfast.facts.lifecycle import Facts

    try:
        if services.store.is_withheld(provenance.FACTS):
            return ()
        texts = (m.text for turn in said for m in turn.messages)
        return Facts(services).shown(factsubject.related(services.store.backend.facts(), texts, limit=_KNOWN))
    except HoldfastError as error:
        logger.warning("stored facts could not be shown to the extractors: %s", type(error).__name__)
        return ()


def _trouble(failure: HookFailed, root: str) -> _Trouble:
    """A failure, described for a person. Shows only ``reason``, which dispatch has masked, never the cause itself,
    because a plugin's error may quote the conversation."""
    from holdfast.errors import AnswerUnusable, ModelFailed

    cause = failure.__cause__
    if not isinstance(cause, HoldfastError):
        passes = isinstance(cause, TimeoutError | ConnectionError)
        return _Trouble(
            failure.plugin, paths.rewrite(failure.message, root), "" if passes else failure.next_step, passes
        )
    sentence = f"{failure.plugin}: {failure.reason}"
    step = failure.next_step
    if isinstance(cause, ModelFailed) and cause.retryable:
        step, passes = _PASSING.get(cause.status, ""), True
    elif isinstance(cause, AnswerUnusable):
        step, passes = f"Another model may do better: `[plugins.{failure.plugin}] model`.", True
    else:
        passes = False
    return _Trouble(failure.plugin, paths.rewrite(sentence, root), paths.rewrite(step, root), passes)


def told(troubles: Sequence[_Trouble], *, waits: bool) -> dict[str, str]:
    """Each failed plugin with its trouble and the next step; ``waits`` when the turns are tried again."""
    return {trouble.plugin: trouble.text(waits=waits) for trouble in troubles}


def sentences(troubles: Sequence[_Trouble]) -> str:
    """The troubles without next steps, as the queue keeps them."""
    return " ".join(trouble.sentence for trouble in troubles)


def at_once(services: Services, turns: Sequence[Turn], before: Payload | None = None) -> Gathered:
    """Call the extractors that a flush may wait for. Nothing is queued or stored: see :func:`settle_flush`."""
    only = [name for name, quick in services.dispatch.extractors().items() if quick]
    return ask(services, recall.without_recalled(turns), only, before)[0] if only else Gathered()


def settle(
    services: Services,
    found: Gathered,
    *,
    said: Sequence[Turn] = (),
    source: str = "",
    stated: Sequence[Value] = (),
    stored: Sequence[Fact] | None = None,
) -> ExtractResult:
    """Check and store the candidates from the turns ``said``, and the ``stated`` facts after them. A sentence that
    instructs an agent and is not the user's own is refused. Raises: PluginError from the gate; Corrupt, Unavailable
    from the store."""
    from holdfast.facts.lifecycle import Facts

    facts = Facts(services)
    failures = list(found.failed.values())
    changed = False
    named = [
        (plugin, candidate if candidate.source else evolve(candidate, source=source))
        for plugin, extraction in found.results
        for candidate in extraction.facts
    ]
    offered = [_HOSTILE if _is_hostile(one, said) else facts.proposed(one) for _, one in named]
    results = facts.store([*offered, *stated], stored)
    judged = [
        Judged(plugin=plugin, candidate=one, result=result)
        for (plugin, one), result in zip(named, results[: len(named)], strict=True)
    ]
    for plugin, extraction in found.results:
        added = [j.result.fact.id for j in judged if j.plugin == plugin and j.result.fact is not None]
        for fact_id in extraction.retire:
            with suppress(NotFound):
                facts.retire(facts.get(fact_id), by=added[-1] if added else "", why=f"{plugin}: out of date")
        if extraction.profile != Profile():
            try:
                before = profile.load(services)
                learnt = _without_instructions(extraction.profile, said)
                changed = profile.learn(services, learnt) != before or changed
            except (Refused, BadValue) as refused:
                failures.append(f"The profile was not changed: {refused.message}")
    return ExtractResult(
        judged=judged, failures=failures, queued=int(found.queued), profile=changed, given_up=found.given_up
    )


def _is_hostile(candidate: FactCandidate, said: Sequence[Turn]) -> bool:
    content = candidate.content
    return isinstance(content, str) and hostile.instructs(content) and not hostile.by_user(content, said)


def _without_instructions(learnt: Profile, said: Sequence[Turn]) -> Profile:
    kept = {
        name: "" if isinstance(text, str) and not hostile.without_instructions([text], said) else text
        for name, text in asdict(learnt).items()
    }
    return Profile(**kept)


_HOSTILE: Final = AddResult(outcome=AddOutcome.REFUSED, reason=REASON)


def queue_of(services: Services) -> Queue:
    """The project's queue of turns."""
    return Queue(services.state, services.config.extract)


def redacted(services: Services, turns: Sequence[Turn]) -> list[Turn]:
    """The turns as a journal would hold them. Raises: Refused, PluginError; in that case nothing was sent anywhere."""
    texts = [paths.rewrite(m.text, services.root) for turn in turns for m in turn.messages]
    admitted = iter(services.gate.admit_all(texts, surface=Surface.JOURNAL) if texts else ())
    return [evolve(turn, messages=[evolve(m, text=next(admitted)) for m in turn.messages]) for turn in turns]


def pieces(turns: Sequence[Turn]) -> Iterator[list[Turn]]:
    """``turns`` in pieces of about :data:`BATCH_CHARS` characters. Turns are never split."""
    piece: list[Turn] = []
    size = 0
    for turn in turns:
        cost = sum(len(m.text) for m in turn.messages)
        if piece and size + cost > BATCH_CHARS:
            yield piece
            piece, size = [], 0
        piece.append(turn)
        size += cost
    if piece:
        yield piece
