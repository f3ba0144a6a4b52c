"""Find who said a sentence (the user, or a tool, page or client that the agent read).

A sentence that instructs an agent becomes curated memory only in the user's own words, and a stranger's sentence
only in the agent's. This machine's journals are the evidence.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Final

from holdfast.config.layout import Surface
from holdfast.errors import HoldfastError, Refused
from holdfast.models import Message, Turn
from holdfast.text.plain import is_none
from holdfast_app.authorship import hostile, ownwords, sessions, strangers, weighing
from holdfast_app.authorship.sessions import Journals
from holdfast_app.base import Services
from holdfast_app.records import lastbrief
from holdfast_app.records.ownlines import is_filler
from holdfast_app.sentences import lasting

if TYPE_CHECKING:
    from holdfast.models import CuratedEntry, Payload

_MOST_SENTENCES: Final = 2_000  # of what an editor wrote
_MOST_PARTS: Final = 40  # sentences of a text
_MOST_LABEL: Final = 3  # words
#: A pointer of as many words is checked as a sentence is.
_SENTENCE_WORDS: Final = 4
#: Least share that the user said of a rule or of a line about the user. A smaller share adds to the evidence.
_OF_USER: Final = 0.3
_UNSAID: Final = 4.0
#: Requests for now are far less likely to hold longer.
_LASTING: Final = 0.15
#: Share that the user said of what is theirs, whoever said as much.
_OF_USER_ALONE: Final = 0.8
#: Shared stems that tie a line for lasting memory to something planted beside it.
_SHARED_STEMS: Final = 2
#: Before the agent could say anything.
_FIRST: Final = datetime.min.replace(tzinfo=UTC)
REASON: Final = "it instructs an agent, or repeats what a tool read, and is not in the user's own words"
NEXT_STEP: Final = "If it belongs in the memory, add it there with an editor."


class Witness:
    """The messages in this machine's sessions, read on demand."""

    def __init__(self, services: Services, turns: Sequence[Turn] = ()) -> None:
        self._services = services
        self.said = turns
        self._journals = Journals(services.state, turns, services.recordings)
        self._sources: dict[tuple[str, bool], Message | None] = {}
        self._weights: dict[str, weighing.Weight] = {}
        self._suspected: list[frozenset[str]] = []

    def suspect(self, texts: Iterable[str]) -> bool:
        """From here on, a rewording of one of ``texts``, found to be planted, is hostile, too. False without any."""
        self._suspected += (stems for text in texts for stems in strangers.rewordable(text))
        return bool(self._suspected)

    def is_hostile(self, text: str, *, is_rule: bool = False, is_users: bool = False) -> bool:
        """Whether ``text``, or a sentence of it, instructs an agent or is a stranger's (for a rule, any tool's), and is
        not in the user's own words. What ``is_users``, a rule or a line about the user, is doubtful without these."""
        if hostile.is_marked(text) or hostile.instructs(text):
            return not self.is_own(text)
        forms = readings(text)
        others = [form for form in forms if not ownwords.by_user(form, (*self._earlier(form), *self.said))]
        if not others:
            return False
        if others == forms and self._rewords(text):  # a label before the user's words changes nothing
            return True
        weight, is_unsaid = self._weight(text), (is_rule or is_users) and not self._may_be_users(text, is_rule=is_rule)
        if weight.by_user < max(weight.read, _OF_USER_ALONE) and (
            any(self._stranger(form, is_rule=is_rule) for form in others)
            or (is_unsaid and self._is_foisted(text, is_rule=is_rule))
        ):
            return True
        # A planted sentence may follow a true one.
        parts = (part for part in _directing(text)[:_MOST_PARTS] if part != text)
        return self._weight(text).evidence + _UNSAID * is_unsaid > 0 or any(map(self.is_hostile, parts))

    def is_own(self, text: str) -> bool:
        """Whether the user said ``text``, which may be a note's line with its label."""
        forms = filter(hostile.instructs, readings(hostile.body_of(text.strip())))
        return any(ownwords.by_user(form, (*self._earlier(form), *self.said)) for form in forms)

    def source_of(self, text: str, otherwise: str = strangers.AGENT) -> str:
        """A noun phrase for the source of ``text``, else ``otherwise``; empty for the user's own words."""
        if self.is_own(text):
            return ""
        message = next(filter(None, map(self._stranger, readings(text))), None) or self._weight(text).source
        return strangers.named(message) if message else otherwise

    def marked(self, text: str, otherwise: str = strangers.AGENT, *, is_report: bool = False) -> str:
        """``text`` with the source before each line that instructs an agent (``otherwise`` where it is unknown), or in
        which a stranger's sentence directs its reader. The user's own lines stay. In a model's report, which tells what
        others said in words like theirs, such a sentence needs a known source."""
        text = hostile.marked(text, lambda line: self.source_of(line, otherwise))
        lines = []
        for line in text.split("\n"):
            body = hostile.body_of(line)
            unknown = "" if is_report else strangers.AGENT
            sources = (self.source_of(sentence, unknown) for sentence in _directing(body) if self.is_hostile(sentence))
            if not hostile.is_marked(body) and not is_filler(line) and (source := next(filter(None, sources), "")):
                line = line[: len(line) - len(body)] + hostile.MARK.format(name=source) + body
            lines.append(line)
        return "\n".join(lines)

    def _rewords(self, text: str) -> bool:
        """Whether a sentence of ``text`` has most stems of something planted, or the other way round, and the user did
        not say as much."""
        known = [*self._suspected, *self._quoted]
        sentences = strangers.rewordable(text) if known or self._purged else []
        return (
            any(strangers.is_rewording(mine, other) for mine in sentences for other in known)
            or any(sessions.is_purged(self._purged, mine, is_direction=strangers.directs(text)) for mine in sentences)
        ) and self._weight(text).by_user < _OF_USER_ALONE

    def is_about_suspected(self, text: str) -> bool:
        """Whether ``text``, for lasting memory, shares some stems with what is suspected, and few with the user's
        words."""
        near = (stems & other for stems in strangers.rewordable(text) for other in self._suspected)
        return any(len(shared) >= _SHARED_STEMS for shared in near) and self._weight(text).by_user < _OF_USER

    def _weight(self, text: str) -> weighing.Weight:
        if text not in self._weights:
            self._weights[text] = weighing.weigh(text, self._heard_before(text))
        return self._weights[text]

    def _may_be_users(self, text: str, *, is_rule: bool) -> bool:
        """Whether the user said a third of what ``text`` says, in this session or where its longest words are, or is
        not known to have said anything in its language, or no result was read that a line about them could be from."""
        heard = self._heard_before(text)
        own = [entry for entry in heard if entry.message.role == "user" and entry.is_in_language_of(text)]
        is_read = is_rule or any(entry.message.role == "tool" or entry.is_outside for entry in heard)
        return self._weight(text).by_user >= _OF_USER or not (own and is_read)

    def _is_foisted(self, text: str, *, is_rule: bool) -> bool:
        """Whether a result may say ``text`` in another language, or it is to be a rule, and the user said nothing in
        this session that may hold longer, which it could reword."""
        own = "\n".join(weighing.own_text(entry.message.text) for entry in self._heard if entry.message.role == "user")
        if is_rule and not any(lasting.judge(sentence).lasting > _LASTING for sentence in strangers.sentences(own)):
            return True
        line = strangers.Sentence(text, is_rule=True)
        return any(entry.message.role == "tool" and entry.may_translate(line) for entry in self._heard_before(text))

    def _heard_before(self, text: str) -> list[strangers.Heard]:
        earlier = self._earlier(text)
        return strangers.read(earlier, self._heard) if any(turn.messages for turn in earlier) else self._heard

    def _earlier(self, text: str) -> list[Turn]:
        parts = ownwords.JOINTS.split(text)  # each from one message
        return [self._recalled, *(turn for part in parts for turn in self._journals.holding(part))]

    def _stranger(self, text: str, *, is_rule: bool = False) -> Message | None:
        if (text, is_rule) not in self._sources:
            self._sources[text, is_rule] = strangers.source(text, self._heard_before(text), is_rule=is_rule)
        return self._sources[text, is_rule]

    @cached_property
    def _heard(self) -> list[strangers.Heard]:
        return strangers.read(self.said)

    @cached_property
    def _recalled(self) -> Turn:
        """The marked passages of the handoff, because each brief shows them to an agent, and of this machine's last
        flushes, as results of their tools. For a store on a server, those of the brief that this machine read last, so
        nothing is requested."""
        text = ""
        with suppress(OSError, HoldfastError):
            if self._services.is_remote:
                brief = lastbrief.read(self._services)
                text = brief.text if brief else ""
            elif handoff := self._services.store.read(self._services.layout.name(Surface.HANDOFF)):
                text = handoff.text
        passages = dict.fromkeys((*hostile.quoted(text), *self._journals.quoted))
        made = (strangers.cited(source, quote, at=_FIRST) for source, quote in passages if source != strangers.AGENT)
        return Turn(messages=tuple(made))

    @cached_property
    def _purged(self) -> list[frozenset[str]]:
        return sessions.purged(self._services.state)

    @cached_property
    def _quoted(self) -> list[frozenset[str]]:
        """The stems of the recalled passages' sentences. They are compared with each text."""
        return [stems for message in self._recalled.messages for stems in strangers.rewordable(message.text)]


def repeating(state: str, passages: Iterable[str]) -> set[str]:
    """Those of ``passages``, which an editor wrote, with a sentence of a stranger that is not the user's own. After
    :data:`_MOST_SENTENCES` all count, because each is searched for in all journals."""
    journals, left, planted = Journals(state), _MOST_SENTENCES, set[str]()
    for text in passages if journals.read else ():  # without a journal no agent has read anything
        bodies = (hostile.body_of(line) for line in text.split("\n"))
        parts = (part for body in bodies for part in strangers.sentences(body))
        forms = [form for part in parts for form in dict.fromkeys(readings(part))]
        left -= len(forms)
        read = ((form, journals.holding(form)) for form in forms)
        strange = (pair for pair in read if strangers.source(pair[0], strangers.read(pair[1]), only_outside=True))
        if left < 0 or not all(ownwords.by_user(*pair) for pair in strange):
            planted.add(text)
    return planted


def readings(text: str) -> list[str]:
    """``text``, and without a label such as ``Decision:``."""
    label, _, rest = text.partition(": ")
    is_label = label.replace(" ", "").isalpha() and len(label.split()) <= _MOST_LABEL
    return [text, rest] if is_label and rest.strip() else [text]


def _directing(text: str) -> list[str]:
    """The sentences of ``text`` that may direct their reader or have a label."""
    return [part for part in strangers.sentences(text) if strangers.directs(part) or len(readings(part)) > 1]


def check(services: Services, strings: Iterable[str], name: str) -> None:
    """Refuse lines that may not enter the curated document ``name``. Raises: Refused for the first of them."""
    witness = Witness(services)
    for text in strings:
        if witness.is_hostile(text):
            raise Refused(f"A line for {name} was refused: {REASON}.", next_step=NEXT_STEP)


def attributed(witness: Witness, payload: Payload, summary: str) -> tuple[Payload, str, list[str]]:
    """Content that instructs an agent, or that a stranger wrote, is marked with its source, where known, and so is a
    rewording of it. Such curated lines and stated rules become facts of the note."""
    changed, withheld, marked = _attributed(payload, witness)
    if witness.suspect((*withheld, *marked)):
        changed, withheld, _ = _attributed(payload, witness)
    warnings = [f"A line was not put into lasting memory and is in the note: {REASON}. {NEXT_STEP}" for _ in withheld]
    return changed, witness.marked(summary), warnings


def _attributed(payload: Payload, witness: Witness) -> tuple[Payload, list[str], list[str]]:
    """The changed payload, the rules and curated lines withheld from it, and the other texts that were marked."""
    from holdfast.flush import contract  # a brief uses this module and needs no payload

    payload, withheld = _withheld(payload, witness)
    if "artifacts" in payload.derived and payload.artifacts is not None:
        links = {text for text in payload.artifacts if "://" in text}
        gone = links - hostile.linked(links, witness.said)
        payload = payload.evolve(artifacts=[text for text in payload.artifacts if text not in gone])
    aside = _not_prose(payload)
    for name, joint in (("objective", hostile.ANSWERED), ("next_step", hostile.LAST_CALL)):
        words, _, more = (getattr(payload, name) or "").rstrip("…)").partition(joint)
        if more and name in payload.derived:  # two speakers, or a call, which are judged alone
            is_bad = hostile.instructs(more) if joint == hostile.LAST_CALL else witness.is_hostile(more)
            payload = payload.evolve(**{name: words}) if is_bad else payload
            aside |= set() if witness.is_hostile(words) else {getattr(payload, name)}
    changed = {
        text: hostile.MARK.format(name=source) + text
        for text in dict.fromkeys(contract.strings_of(payload))
        if text not in aside
        and not hostile.is_marked(text)
        and witness.is_hostile(text)
        and (source := witness.source_of(text))
    }
    if changed:
        strings = contract.strings_of(payload)
        payload = contract.map_texts(payload, {text: changed.get(text, text) for text in strings})
    return payload, withheld, list(changed)


def _withheld(payload: Payload, witness: Witness) -> tuple[Payload, list[str]]:
    """The payload, with the rules and curated lines that may not stay moved to its facts, and a list of these."""
    from holdfast.models import CuratedDecision

    withheld = [
        rule
        for rule in payload.rules or ()
        if "rules" not in payload.derived and witness.is_hostile(rule, is_rule=True)
    ]
    if withheld:
        payload = payload.evolve(rules=[rule for rule in payload.rules or () if rule not in withheld])
    if payload.curated is not None and not payload.curated.is_none:
        memory = _curated(payload.curated.memory, witness, withheld, is_users=False)
        user = _curated(payload.curated.user, witness, withheld, is_users=True)
        payload = payload.evolve(curated=CuratedDecision(memory=memory, user=user))
    source = "what the agent read"
    lines = [hostile.MARK.format(name=witness.source_of(line, source)) + line for line in withheld]
    if lines:
        facts = dict.fromkeys((*(f for f in payload.facts or () if not is_none(f)), *lines))
        payload = payload.evolve(facts=tuple(facts))
    return payload, withheld


def _curated(
    entries: Sequence[CuratedEntry], witness: Witness, withheld: list[str], *, is_users: bool
) -> tuple[CuratedEntry, ...]:
    kept = tuple(
        entry
        for entry in entries
        if not (witness.is_hostile(entry.text, is_users=is_users) or witness.is_about_suspected(entry.text))
    )
    withheld += (entry.text for entry in entries if entry not in kept)
    return kept


def _not_prose(payload: Payload) -> set[str]:
    """Pointers and names shorter than a sentence, and lines of curated memory, already checked or stored."""
    texts = {
        text
        for text in (*(payload.artifacts or ()), *(m.target for m in payload.state_mutations or ()))
        if all(_words_in(part) < _SENTENCE_WORDS for part in text.split("/"))
    }
    if payload.curated is not None:
        for entry in (*payload.curated.memory, *payload.curated.user):
            texts |= {entry.text, entry.replaces}
    return texts


def _words_in(part: str) -> int:
    """The words of a path's part. Two Chinese characters are one."""
    return strangers.Sentence(part, is_rule=False).size - sum("\u3400" <= c <= "\u9fff" for c in part) // 2
