"""Explicit statements: facts, decisions, blockers, promises and pointers, in the speaker's words.

A user's statements come only from the user's own words. A message as long as a pasted document yields no statements.
"""

from __future__ import annotations

import re
from typing import Final

from attrs import define, evolve, field

from holdfast.facts.relation import same_key
from holdfast.models import FactCandidate, Message
from holdfast.text.lazy import Lazy
from holdfast_app.authorship.ownwords import own_words
from holdfast_app.markdown.lines import Lines
from holdfast_app.offline import cues, replies
from holdfast_app.offline.conversation import asked, picks
from holdfast_app.offline.cues import Cue, Kind
from holdfast_app.offline.pointers import may_point, pointers
from holdfast_app.offline.speech import clip, listed, own_lines, sentences

#: Number of newest statements of each kind to keep.
MAX_ITEMS: Final = 20
MAX_ITEM_CHARS: Final = 500
#: Maximum length of a user message to search for statements, in characters. Longer messages were pasted.
MAX_STATED_CHARS: Final = 1_500
#: Limits per message: number of lines that may hold a statement, and characters read per line.
MAX_LINES: Final = 50_000
MAX_LINE_CHARS: Final = 20_000

_NOTHING: Final = Lazy(r"(?:none|nothing|n/?a|no|null|tbd|-+|—)(?: yet| so far| at the moment)?[.!]?", re.IGNORECASE)
_BOX: Final = Lazy(r"\[([ xX])\]\s+")
#: "I think it's fine to run them in parallel, can you revert that?" decides before it asks.
_ASKS_AFTER: Final = Lazy(r"\s*[,;] (?:so )?(?:can|could|would|will) you\b[^,;]*\?$", re.IGNORECASE)
#: A decision that only refers to an earlier statement.
_POINTS_BACK: Final = Lazy(
    r".*\(\d\)|.*\b(?:it|this|that|them|these|those|here|there)$"
    r"|(?:\S+ ){1,5}(?:this|that|the|your) (?:fix|solution|approach|plan|idea|option|suggestion|recommendation|one|way"
    r"|proposal|changes?|implementation)$",
    re.IGNORECASE,
)
#: A decision about something that only the talk before it names ("let's go with A").
_OF_THE_TALK: Final = Lazy(
    r".*?\bgo(?:ing)? with [a-z0-9]$"
    r"|.*?\b(?:use|go with) (?:this|that|it|them|these|those|something|anything|the (?:one|same|other)|one|another"
    r"|both)\b",
    re.IGNORECASE,
)
#: A rule for what is on the screen, under work or in the talk.
_HERE: Final = Lazy(r"\b(?:this|these|those|here|now|you|your)\b", re.IGNORECASE)
#: "Decision: whether to retry, and why" names what is to be decided, and "Decision: option A" needs the options.
_TOPIC: Final = Lazy(r"(?:whether|how|why|which|option \w)\b", re.IGNORECASE)
#: A fact that only refers to something shown or done: "never do that again", "this is the command I ran".
_POINTS_AT: Final = Lazy(
    r"for\b|you\b(?! (?:must|should|can|may) (?:always|never|only|not)\b)"
    r"|(?:this|that|these|those|it|here)(?:['’]s| is| are| was| were)\b"
    r"|(?:please )?(?:never|always|do not|don['’]t) (?:ever )?(?:do|say|use|try|run|make|change|touch) (?:this"
    r"|that|it|these|those|so)\b|.*\b(?:it|this|that|them|these|those|here|there)$"
    r"|from now on,? (?:i|we)(?: am|['’]m| are|['’]re) (?!always|never)",
    re.IGNORECASE,
)
#: A pasted prompt for an agent, or a document: somebody's role, or a tag on a line of its own.
_PROMPT: Final = Lazy(
    r"^[^\w\n]*you (?:are (?:a|an|the|now)\b|are [\w-]+,|must (?:fully|act|assume|embody|become)\b)"
    r"|^[^\S\n]*</?[\w-]++[^<>\n]*>[^\S\n]*$",
    re.IGNORECASE | re.MULTILINE,
)
#: Code and the nested lines of a pasted configuration.
_INDENTED: Final = ("    ", "\t")
#: Minimum number of words of a fact; fewer are a fragment.
_LEAST_WORDS: Final = 3


class Newest:
    """Strings without duplicates, in order of their last mention. Only the newest are kept."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def add(self, text: str) -> None:
        """Add ``text``, or move it to the end."""
        key = same_key(text)
        self._texts.pop(key, None)
        self._texts[key] = text
        if len(self._texts) > MAX_ITEMS:
            del self._texts[next(iter(self._texts))]

    def discard(self, text: str) -> None:
        """Remove ``text``; a missing one is ignored."""
        self._texts.pop(same_key(text), None)

    def texts(self) -> list[str]:
        """Oldest first."""
        return list(self._texts.values())


@define(eq=False, repr=False)
class Statements:
    """The statements in the messages read so far. ``next_step`` is the next task named in the user's newest message
    with a request or a statement; empty when it names none."""

    next_step: str = ""
    decisions: Newest = field(factory=Newest)
    blockers: Newest = field(factory=Newest)
    follow_ups: Newest = field(factory=Newest)
    pointers: Newest = field(factory=Newest)
    facts: dict[str, FactCandidate] = field(factory=dict)
    _asked: list[str] = field(factory=list)  # the agent's questions and blockers since the user last spoke
    _report: bool | None = None  # whether the message being read is a document, when known
    _answer: str = ""  # the agent's newest answer, until the user speaks

    def read(self, message: Message, *, point: bool = True) -> None:
        """Read a message of the user, an answer of the agent, or the user's reply in a tool result, whose pointers are
        left out (``point``)."""
        if message.role == "tool":
            self._replied(message)
            return
        self._report = None
        user = message.role == "user"
        text = own_words(message.text) if user else message.text
        if user and (option := picks.picked(self._answer, text)) and replies.settles(option):
            self.decisions.add(clip(f"{option.question} {option.text}", MAX_ITEM_CHARS))
        self._answer = "" if user else text
        kind = asked.kind_of_words(text) if user else asked.Kind.NOTHING
        if kind is asked.Kind.REQUEST:
            self.next_step = ""
        if kind in (asked.Kind.REQUEST, asked.Kind.ASSENT):
            self._answered()
        cued = cues.possible(text) and not (user and (len(text) > MAX_STATED_CHARS or _is_document(text)))
        pointing = point and may_point(text)
        if not (cued or pointing):
            return
        announced: Cue | None = None  # a cue with its text on the next line or in a list
        taken = looked = 0
        for line in own_lines(text):
            if user and line.startswith(_INDENTED):
                continue
            line = line[:MAX_LINE_CHARS]
            pointed = pointing and may_point(line)
            hinted = cued and cues.possible(line)
            looked += pointed or hinted
            if looked > MAX_LINES:
                return
            for pointer in pointers(line) if pointed else ():
                self.pointers.add(pointer)
            if announced and (said := _announced(line, taken, user=user, hinted=hinted)):
                self._take(announced, said, message)
                taken += 1
                if listed(line) is None:
                    announced = None
            elif announced or hinted:
                announced, taken = cues.heading(line, user=user) if cued else None, 0
                if announced is None and hinted:
                    announced = self._sentences(line, message)

    def _replied(self, message: Message) -> None:
        for reply in replies.replies(message):
            self._answered()
            if reply.decides:
                self.decisions.add(clip(reply.text, MAX_ITEM_CHARS))
            elif reply.refuses:
                self.read(evolve(message, role="user", tool="", text=reply.text), point=False)

    def _answered(self) -> None:
        """Close the agent's open questions and blockers, because the user has spoken."""
        for question in self._asked:
            self.blockers.discard(question)
        self._asked.clear()

    def _sentences(self, line: str, message: Message) -> Cue | None:
        """Collect statements from a line's sentences. Returns a cue at the end of the line, which introduces the
        next."""
        announced: Cue | None = None
        user = message.role == "user"
        is_item = listed(line) is not None
        for sentence in sentences(line):
            hit = cues.match(sentence, user=user)
            if hit and user and is_item and (hit[0].whole or hit[0].kind is Kind.BLOCKER):
                hit = None  # depends on the line above, or defines a word
            if hit is None:
                if announced:
                    self._take(announced, sentence, message)
                announced = None
            elif sentence[hit[1] :].strip(" .!*_"):
                self._take(hit[0], sentence[hit[1] :], message)
                announced = None
            else:
                announced = hit[0]
            if hit and not hit[0].whole and sentence.rstrip(" *_").endswith(":") and sentence[hit[1] :].strip(" :*_"):
                announced = hit[0]._replace(lead=f"{clip(sentence[hit[1] :], MAX_ITEM_CHARS // 2)} ")
        return announced

    def _take(self, cue: Cue, text: str, message: Message) -> None:
        if box := _BOX.match(text.strip()):
            if box[1] != " ":
                return  # done
            text = text.strip()[box.end() :]
        text = clip(cue.lead + text.strip(" \t*_").replace("**", ""), MAX_ITEM_CHARS).rstrip(".;, *_")
        if cue.asks and not text.endswith("?"):
            return  # "Question: say I commit twice ..." is a request, and "question: what to ask" describes a parameter
        if cue.kind is Kind.DECISION and cue.whole:
            text = _ASKS_AFTER.sub("", text)
        if _states_nothing(cue, text) or self._is_of_a_report(cue, message):
            return
        question = cue.kind is not Kind.BLOCKER and text.endswith("?")
        if len(text) < 2 or question or text.endswith(":") or _NOTHING.fullmatch(text):
            return
        match cue.kind:
            case Kind.DECISION:
                self.decisions.add(text)
            case Kind.NEXT:
                self.next_step = text
            case Kind.FOLLOW_UP:
                self.follow_ups.add(text)
            case Kind.BLOCKER:
                self.blockers.add(text)
                if message.role == "assistant":
                    self._asked.append(text)
            case Kind.FACT:
                pass
        category = cues.category(cue, text)
        if category and message.role == "user" and len(text.split()) >= _LEAST_WORDS:
            self._fact(FactCandidate(content=text, category=category, confidence=cue.confidence, source=message.id))

    def _is_of_a_report(self, cue: Cue, message: Message) -> bool:
        """Whether a decision is in a report of the agent, where it is a proposal or needs the section around it."""
        if cue.kind is not Kind.DECISION or message.role != "assistant":
            return False
        if self._report is None:
            self._report = _is_document(message.text)
        return self._report

    def _fact(self, fact: FactCandidate) -> None:
        key = same_key(fact.content)
        before = self.facts.pop(key, None)
        self.facts[key] = before if before and before.confidence > fact.confidence else fact
        if len(self.facts) > MAX_ITEMS:
            del self.facts[next(iter(self.facts))]


def _states_nothing(cue: Cue, text: str) -> bool:
    """Whether the text after a cue only refers to something, or is about the work or the conversation itself."""
    if cue.kind is Kind.FACT:
        return ":" not in text and bool(_POINTS_AT.match(text))
    if cue.kind is not Kind.DECISION:
        return False
    points = _POINTS_BACK.fullmatch(text) or _OF_THE_TALK.match(text) or _HERE.search(text)
    topic = not cue.whole and _TOPIC.match(text)
    return bool(text.startswith(("#", "|")) or len(text.split()) < 2 or topic or (cue.whole and points))


def _is_document(text: str) -> bool:
    """Whether a message is a pasted prompt, a plan, a report or another document rather than conversation."""
    return sum(line.level > 0 for line in Lines(text)) > 1 or _PROMPT.search(text) is not None


def _announced(line: str, taken: int, *, user: bool, hinted: bool) -> str:
    """The text of ``line`` for the cue before it: a list item, or the one line after the cue. Otherwise empty."""
    item = listed(line)
    if (taken and item is None) or cues.heading(line, user=user):
        return ""
    text = line if item is None else item
    return "" if hinted and cues.match(text.strip(), user=user) else text
