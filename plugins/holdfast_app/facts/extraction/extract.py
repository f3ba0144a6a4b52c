"""From conversation to facts: call the extractors, describe their failures, check their candidates.

Recalled memory is removed first, so that it is not learned again as new. Turns are redacted
before any extractor, and so any model, sees them.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from math import fsum
from typing import Final, NamedTuple, Self, TypeAlias

from attrs import evolve, field, fields, frozen

from holdfast.config.layout import Surface
from holdfast.errors import BadValue, Conflict, HoldfastError, HookFailed, ModelFailed, NotFound, Refused
from holdfast.fs import paths
from holdfast.models import AddOutcome, AddResult, Fact, FactCandidate, Message, Payload, Profile, Turn, turns_of
from holdfast.services.interfaces import Gathered
from holdfast.text.humanize import count
from holdfast.text.lazy import Lazy, log
from holdfast.text.plain import same_key
from holdfast_app.authorship import ownwords
from holdfast_app.authorship.witness import REASON, Witness
from holdfast_app.base import Services
from holdfast_app.facts import profile, restated
from holdfast_app.facts.extraction.queue import GivenUp
from holdfast_app.facts.rejected import REASON as REJECTED
from holdfast_app.facts.rejected import Rejected
from holdfast_app.facts.store.lifecycle import Facts
from holdfast_app.facts.store.values import Value, check_content
from holdfast_app.records import recalled
from holdfast_app.sentences import lasting

#: An item of a conversation: a holdfast value, or a row of the Chat Completions or Messages interface.
Said: TypeAlias = Turn | Message | Mapping[str, object]

logger = log("holdfast.facts")

#: Approximate characters per piece of a long conversation, and the most that a tool's call or result counts, because a
#: model hardly sees it. Turns are never split.
BATCH_CHARS: Final = 60_000
_TOOL_CHARS: Final = 200
#: Newest messages that an extractor within a flush reads, because it has only a few seconds.
AT_ONCE_MESSAGES: Final = 25_000
#: Maximum number of stored facts shown to an extractor.
_KNOWN: Final = 30
_GIVE: Final = 'Give rows like {"role": "user", "content": "..."}, or Message and Turn objects of holdfast.models.'
_WORD: Final = Lazy(r"[^\W_]+(?:[-'._/][^\W_]+)*")
#: HTTP status (None without a response) -> the next step besides waiting.
_PASSING: Final[Mapping[int | None, str]] = {
    None: "Check `base_url` and the network.",
    429: "The quota is used up for now.",
}


class Judged(NamedTuple):
    """A candidate, the plugin that proposed it, and its outcome."""

    plugin: str
    candidate: FactCandidate
    result: AddResult


@frozen(kw_only=True)
class ExtractResult:
    """``judged`` in order of proposal. ``failures`` describe extractor errors; ``queued`` counts the pieces
    to be retried, ``retried`` the waiting pieces retried now. ``given_up`` counts pieces that
    will not be retried; ``profile`` is true when the profile changed; ``summaries`` are of flushes, by their ids, from
    waiting turns; ``stated`` are the outcomes of facts that a flush stated."""

    judged: tuple[Judged, ...] = field(default=(), converter=tuple[Judged, ...])
    failures: tuple[str, ...] = field(default=(), converter=tuple[str, ...])
    queued: int = 0
    profile: bool = False
    retried: int = 0
    given_up: tuple[GivenUp, ...] = ()
    summaries: tuple[tuple[str, str], ...] = ()
    stated: tuple[AddResult, ...] = ()

    @property
    def added(self) -> tuple[str, ...]:
        """Ids of the added facts."""
        return tuple(j.result.fact.id for j in self.judged if j.result.outcome is AddOutcome.ADDED and j.result.fact)

    @property
    def evicted(self) -> tuple[str, ...]:
        """Ids of the facts evicted for them."""
        return tuple(fact_id for j in self.judged for fact_id in j.result.evicted)

    def __add__(self, other: Self) -> Self:
        names = (attribute.name for attribute in fields(ExtractResult))
        sums = {name: getattr(self, name) + getattr(other, name) for name in names}
        return evolve(self, **{**sums, "profile": self.profile or other.profile})


def at_once(services: Services, turns: Sequence[Turn], before: Payload | None = None) -> Gathered:
    """Call the extractors that a flush may wait for. ``before`` is the session's state before the turns."""
    quick = [name for name, is_quick in services.plugins.extractors().items() if is_quick]
    return ask(services, recalled.without_recalled(turns), quick, before) if quick else Gathered()


def ask(services: Services, turns: Sequence[Turn], only: Collection[str], before: Payload | None = None) -> Gathered:
    """Call the extractors in ``only``. Models see stored facts on the same subjects, and rules that were taken from the
    turns. They can retire only these."""
    if not turns:
        return Gathered()
    quick = services.plugins.extractors()
    is_quick = all(quick[name] for name in only)
    known = () if is_quick else (*known_on(services, turns), *restated.taken_from(services, turns))
    results, failures = services.plugins.on_extract(turns, only=only, known=known, before=before)
    shown = {fact.id for fact in known}
    results = [(plugin, evolve(e, retire=[i for i in e.retire if i in shown])) for plugin, e in results]
    return Gathered(results, {failure.plugin: _described(failure, services.root) for failure in failures})


def known_on(services: Services, turns: Sequence[Turn]) -> Sequence[Fact]:
    """Stored facts on the turns' subjects, masked. None when the facts came with a clone. Never raises, because an
    extractor can work without them."""
    try:
        near = related(services.store.backend.facts(), (m.text for turn in turns for m in turn.messages), limit=_KNOWN)
        return Facts(services).shown(services.store.known_facts(near))
    except HoldfastError as error:
        logger.warning("stored facts could not be shown to the extractors: %s", type(error).__name__)
        return ()


def _described(failure: HookFailed, root: str) -> str:
    """A failure, described for a person, and the next step. Shows only the masked ``reason``, never the cause itself,
    because a plugin's error may quote the conversation."""
    cause, sentence, step = failure.__cause__, f"{failure.plugin}: {failure.reason}", failure.next_step
    if not isinstance(cause, HoldfastError):
        sentence, step = failure.message, "" if isinstance(cause, TimeoutError | ConnectionError) else step
    elif isinstance(cause, ModelFailed) and cause.retryable:
        step = _PASSING.get(cause.status, "")
    return paths.rewrite(f"{sentence} {step}".strip(), root)


def settle(
    services: Services,
    gathered: Gathered,
    heard: Witness,
    *,
    source: str = "",
    stated: Sequence[Value | AddResult] = (),
    stored: Sequence[Fact] | None = None,
    at: datetime | None = None,
) -> ExtractResult:
    """Check and store the candidates from the turns that ``heard`` was given, and the ``stated`` facts after them,
    because the later value holds. A candidate that is stated, too, is left out. ``at`` is when the turns were said, if
    that was earlier. A sentence that instructs an agent and is not the user's own is refused. Raises: PluginError from
    the gate; Corrupt, Unavailable from the store."""
    facts, changed = Facts(services), False
    keys = {same_key(value.content) for value in stated if isinstance(value, Value)}
    proposals = [
        (plugin, candidate if candidate.source else evolve(candidate, source=source))
        for plugin, extraction in gathered.results
        for candidate in extraction.facts
        if not (isinstance(candidate.content, str) and same_key(candidate.content) in keys)
    ]
    rejected, offered, malformed = facts.rejected, list[Value | AddResult](), Counter[str]()
    for plugin, candidate in proposals:
        try:
            _check_words(candidate.content, heard, rejected)
            offered.append(facts.proposed(candidate, at))
        except (BadValue, Refused) as error:
            offered.append(AddResult(outcome=AddOutcome.REFUSED, reason=error.message.rstrip(".")))
            if isinstance(error, BadValue):
                malformed[f"left out, for a bad `{error.field}` by {plugin}"] += 1
    failures = [f"{count(number, 'fact')} {why}." for why, number in malformed.items()]
    results = facts.store([*offered, *stated], stored)
    pairs = zip(proposals, results, strict=False)
    judged = [Judged(plugin=plugin, candidate=candidate, result=result) for (plugin, candidate), result in pairs]
    for plugin, extraction in gathered.results:
        added = [j.result.fact.id for j in judged if j.plugin == plugin and j.result.fact is not None]
        why = f"{plugin}: out of date, or not lasting"
        for fact_id in extraction.retire:
            with suppress(NotFound, Conflict):
                if fact_id.startswith(restated.RULE):
                    restated.remove_rule(services, fact_id)
                else:
                    facts.retire(facts.get(fact_id), by=added[-1] if added else "", why=why)
        if extraction.profile != Profile():
            try:
                changed = profile.learn(services, extraction.profile, heard) or changed
            except (Refused, BadValue) as refused:
                failures.append(f"The profile was not changed: {refused.message}")
    return ExtractResult(judged=judged, failures=failures, profile=changed, stated=tuple(results[len(proposals) :]))


def _check_words(content: str, heard: Witness, rejected: Rejected) -> None:
    """Raises: BadValue when it is not a string; Refused for a sentence that is not the user's own and instructs an
    agent, or was removed before, or will not last."""
    check_content(content)
    if reason := REASON if heard.is_hostile(content) else lasting.unfit(content):
        raise Refused(reason, next_step="")
    if since := rejected.at(content):
        later = [evolve(turn, messages=[m for m in turn.messages if m.at > since]) for turn in heard.said]
        if not ownwords.by_user(content, later):
            raise Refused(REJECTED, next_step="")
        rejected.lift(content)


def redacted(services: Services, turns: Sequence[Turn]) -> list[Turn]:
    """The turns as a journal would hold them. Raises: Refused, PluginError; in that case nothing was sent anywhere."""
    strings = [paths.rewrite(m.text, services.root) for turn in turns for m in turn.messages]
    admitted = iter(services.gate.admit_all(strings, surface=Surface.JOURNAL) if strings else ())
    return [evolve(turn, messages=[evolve(m, text=next(admitted)) for m in turn.messages]) for turn in turns]


def pieces(turns: Sequence[Turn]) -> Iterator[list[Turn]]:
    """``turns`` in pieces of about :data:`BATCH_CHARS` characters. Turns are never split."""
    piece, room = list[Turn](), BATCH_CHARS
    for turn in turns:
        size = sum(len(m.text) if not m.tool else min(len(m.text), _TOOL_CHARS) for m in turn.messages)
        room -= size
        if piece and room < 0:
            yield piece
            piece, room = [], BATCH_CHARS - size
        piece.append(turn)
    if piece:
        yield piece


def related(stored: Iterable[Fact], strings: Iterable[str], *, limit: int) -> list[Fact]:
    """Up to ``limit`` facts that share most words with ``strings``, the closest first. Takes time in proportion."""
    newest = [(fact, set(_WORD.findall(fact.content.casefold()))) for fact in stored][::-1]
    parts = set("\n".join(strings).casefold().split()) if newest else set[str]()  # most occur often, and take long
    wanted = set(_WORD.findall("\n".join(parts)))
    spread = Counter(word for _, words in newest for word in words)
    shared = [(fact, {word for word in words & wanted if len(word) > 2}) for fact, words in newest]
    near = [(fsum(1 / spread[word] for word in words), fact) for fact, words in shared if len(words) > 1]
    return [fact for _, fact in sorted(near, key=lambda row: -row[0])[:limit]]


def turns_from(messages: Said | Iterable[Said]) -> tuple[Turn, ...]:
    """A caller's conversation, as turns. Raises: BadValue."""
    from holdfast_app.message_formats import messages as plain
    from holdfast_app.message_formats.reading import Reading

    if isinstance(messages, Turn | Message | Mapping):
        messages = (messages,)
    if isinstance(messages, str | bytes) or not isinstance(messages, Iterable):
        raise BadValue("messages", f"cannot be of type {type(messages).__name__}", next_step=_GIVE)
    turns, reading = list[Turn](), Reading()  # which pairs the calls of tools with their results
    for number, item in enumerate(messages):
        if isinstance(item, Turn):
            turns += (*turns_of(reading.messages), item)
            reading.messages.clear()
        elif isinstance(item, Message):
            reading.messages.append(item)
        # Equal ids would merge two messages.
        elif not (
            isinstance(item, Mapping)
            and isinstance(item.get("content"), str | list | tuple | Mapping | None)
            and plain.take({**item, "id": None}, number, reading)
        ):
            what = "a row without role or content" if isinstance(item, Mapping) else f"a {type(item).__name__}"
            raise BadValue("messages", f"holds {what} at position {number}", next_step=_GIVE)
    return (*turns, *turns_of(reading.messages))
