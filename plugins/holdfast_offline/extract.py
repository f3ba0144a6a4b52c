"""Puts together what cues, pointers and tools say. Nothing here makes up a word."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from attrs import define, field

from holdfast.facts import duplicate_key
from holdfast.models import Category, Extraction, FactCandidate, Message, Payload, Turn
from holdfast_offline import cues
from holdfast_offline.artifacts import may_point, pointers
from holdfast_offline.cues import Cue, Kind
from holdfast_offline.outcomes import Outcomes, outcomes
from holdfast_offline.speech import BULLET, clip, own_lines, sentences, spoken

#: The newest this many of each kind are kept.
MAX_ITEMS: Final = 20
MAX_ITEM_CHARS: Final = 500
MAX_OBJECTIVE_CHARS: Final = 300
#: What is looked at of one message: this many lines that may hold something, of each this many characters. More is no
#: conversation but a pasted file, and must not hold up a flush.
MAX_LINES: Final = 50_000
MAX_LINE_CHARS: Final = 20_000
_DIGEST_ITEMS: Final = 5
FAILING: Final = "failing check: "

_NOTHING: Final = re.compile(
    r"(?:none|nothing|n/?a|no|null|tbd|-+|—)(?: yet| so far| at the moment)?[.!]?", re.IGNORECASE
)
_BOX: Final = re.compile(r"\[([ xX])\]\s+")
_NO_REQUEST: Final = re.compile(
    r"/[a-z]|(?:ok|okay|yes|no|thanks|thank you|continue|go on|go ahead|proceed|hi|hello|hey|good morning)\b\W*$",
    re.IGNORECASE,
)


def extract(turns: Sequence[Turn]) -> Extraction:
    """What ``turns`` state. Fields that nothing was said about stay None."""
    found = _Found()
    for message in spoken(iter(turns)):
        found.read(message)
    done = outcomes(message for turn in turns for message in turn.messages)
    blockers = [*found.blockers.texts(), *(clip(FAILING + text, MAX_ITEM_CHARS) for text in done.failing)]
    draft = Payload(
        objective=found.goal or found.assistant_goal or found.request or None,
        facts=[f.content for f in found.facts.values() if f.category not in (Category.CONTEXT, Category.GOAL)] or None,
        decisions=found.decisions.texts() or None,
        blockers=blockers[-MAX_ITEMS:] or None,
        next_step=found.next_step or found.later or None,
        artifacts=_newest([*done.edited, *found.pointers.texts()]) or None,
        follow_ups=found.follow_ups.texts() or None,
    )
    return Extraction(summary=_digest(draft, len(turns), done), facts=tuple(found.facts.values()), draft=draft)


def _newest(texts: list[str]) -> list[str]:
    return texts[-MAX_ITEMS:]


@define
class _Newest:
    """Texts without duplicates, in order of their last mention; only the newest are kept."""

    _texts: dict[str, str] = field(factory=dict)

    def add(self, text: str) -> None:
        key = duplicate_key(text)
        self._texts.pop(key, None)
        self._texts[key] = text
        if len(self._texts) > MAX_ITEMS:
            del self._texts[next(iter(self._texts))]

    def texts(self) -> list[str]:
        return list(self._texts.values())


@define
class _Found:
    goal: str = ""
    assistant_goal: str = ""
    request: str = ""
    next_step: str = ""
    later: str = ""
    decisions: _Newest = field(factory=_Newest)
    blockers: _Newest = field(factory=_Newest)
    follow_ups: _Newest = field(factory=_Newest)
    pointers: _Newest = field(factory=_Newest)
    facts: dict[str, FactCandidate] = field(factory=dict)

    def read(self, message: Message) -> None:
        """Take from one message what it states."""
        user = message.role == "user"
        cued = cues.possible(message.text)
        pointing = may_point(message.text)
        announced: Cue | None = None  # a cue whose text follows in the next line or list
        listed = looked = 0
        for line in own_lines(message.text):
            line = line[:MAX_LINE_CHARS]
            if user and not self.request:
                self.request = _request(line)
            pointed = pointing and may_point(line)
            hinted = cued and cues.possible(line)
            looked += pointed or hinted
            if looked > MAX_LINES or not (cued or pointing or (user and not self.request)):
                return
            for pointer in pointers(line) if pointed else ():
                self.pointers.add(pointer)
            if announced and (text := _announced(line, listed, user=user, hinted=hinted)):
                self._take(announced, text, message, first=listed == 0)
                listed += 1
                if not BULLET.match(line):
                    announced = None
            elif announced or hinted:
                announced, listed = cues.heading(line), 0
                if announced is None and hinted:
                    announced = self._sentences(line, message)

    def _sentences(self, line: str, message: Message) -> Cue | None:
        """Take what the sentences of a line state; returns a cue at its end that announces something."""
        announced: Cue | None = None
        for sentence in sentences(line):
            hit = cues.match(sentence, user=message.role == "user")
            if hit is None:
                if announced:
                    self._take(announced, sentence, message)
                announced = None
            elif sentence[hit[1] :].strip(" .!*_"):
                self._take(hit[0], sentence[hit[1] :], message)
                announced = None
            else:
                announced = hit[0]
        return announced

    def _take(self, cue: Cue, text: str, message: Message, *, first: bool = True) -> None:
        if box := _BOX.match(text.strip()):
            if box[1] != " ":
                return  # done
            text = text.strip()[box.end() :]
        text = clip(text.strip(" \t*_"), MAX_ITEM_CHARS).removesuffix(".").rstrip(" *_")
        question = cue.kind is not Kind.BLOCKER and text.endswith("?")
        if len(text) < 2 or question or _NOTHING.fullmatch(text):
            return
        match cue.kind:
            case Kind.DECISION:
                self.decisions.add(text)
            case Kind.GOAL if message.role == "user":
                self.goal = text
            case Kind.GOAL:
                self.assistant_goal = text
            case Kind.NEXT if first:
                self.next_step = text
            case Kind.NEXT | Kind.FOLLOW_UP:  # of a list of next steps the first is next, the others follow
                self.follow_ups.add(text)
            case Kind.LATER:
                self.later = text
                self.follow_ups.add(text)
            case Kind.BLOCKER:
                self.blockers.add(text)
            case Kind.FACT:
                pass
        if category := cues.category(cue, text):
            self._fact(FactCandidate(content=text, category=category, confidence=cue.confidence, source=message.id))

    def _fact(self, fact: FactCandidate) -> None:
        key = duplicate_key(fact.content)
        before = self.facts.pop(key, None)
        self.facts[key] = before if before and before.confidence > fact.confidence else fact
        if len(self.facts) > MAX_ITEMS:
            del self.facts[next(iter(self.facts))]


def _announced(line: str, listed: int, *, user: bool, hinted: bool) -> str:
    """What ``line`` says to the cue before it: an item of its list, or the one line below it; else empty."""
    bullet = BULLET.match(line)
    if (listed and not bullet) or cues.heading(line):
        return ""
    text = line[bullet.end() :] if bullet else line
    return "" if hinted and cues.match(text.strip(), user=user) else text


def _request(line: str) -> str:
    """The first sentence of ``line`` if it asks for something, as it stands; a cue is a statement and no request."""
    sentence = next(sentences(line[: 10 * MAX_OBJECTIVE_CHARS]), "")
    if _NO_REQUEST.match(sentence) or cues.match(sentence, user=True) or cues.heading(line):
        return ""
    return clip(sentence, MAX_OBJECTIVE_CHARS) if any(c.isalnum() for c in sentence) else ""


def _digest(draft: Payload, turns: int, done: Outcomes) -> str:
    """A few lines for people: what the draft holds, and how much was said and done. Empty when nothing was."""
    if not turns:
        return ""
    lines = [f"- Objective: {draft.objective}"] if draft.objective else []
    for label, texts in (("Decided", draft.decisions), ("Learned", draft.facts), ("Blocked", draft.blockers)):
        lines += [f"- {label}: {text}" for text in (texts or ())[-_DIGEST_ITEMS:]]
    if draft.next_step:
        lines.append(f"- Next: {draft.next_step}")
    return "\n".join([*lines, f"- {_count(turns, 'turn')}, {_count(done.calls, 'tool call')}"])


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
