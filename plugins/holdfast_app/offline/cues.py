"""Forms by which a user's sentence is worth keeping: its label, or the words for a rule, a
decision, a fact or a failure. English only, and only at a sentence's beginning.

Of the agent, only the labels "Decision:" and "Rejected:" count.
"""

from __future__ import annotations

import re
from enum import Enum
from functools import cache
from typing import Final, NamedTuple

from holdfast.models import Category
from holdfast.text.lazy import Lazy


class Kind(Enum):
    """Statement kinds."""

    RULE = "rule"
    FACT = "fact"
    DECISION = "decision"
    REJECTED = "rejected"
    NEXT = "next"
    FOLLOW_UP = "follow-up"
    BLOCKER = "blocker"


class Cue(NamedTuple):
    """``confidence`` and ``category`` of the resulting fact. Without a category no fact results.

    ``whole`` is a form without a label, so the statement keeps its words. ``line`` takes all sentences of the line.
    """

    kind: Kind
    category: Category | None = None
    confidence: float = 0.0
    whole: bool = False
    line: bool = False

    @property
    def is_agents(self) -> bool:
        """Whether it counts in the agent's answers, too."""
        return self.kind in (Kind.DECISION, Kind.REJECTED) and not self.whole


#: Longer sentences have no form without a label.
MAX_CHARS: Final = 500
EXPLICIT: Final = 0.9
DECIDED: Final = 0.8
STATED: Final = 0.7

RULE: Final = Cue(Kind.RULE, whole=True, line=True)
STATED_FACT: Final = Cue(Kind.FACT, Category.KNOWLEDGE, STATED, whole=True)
_RULE: Final = RULE._replace(whole=False)
_FACT: Final = Cue(Kind.FACT, Category.KNOWLEDGE, EXPLICIT, line=True)
_DECISION: Final = Cue(Kind.DECISION, Category.CONTEXT, DECIDED)
_FOLLOW_UP: Final = Cue(Kind.FOLLOW_UP)
#: The first or last word of a label -> its cue.
_LABELS: Final = {
    **dict.fromkeys(("rule", "constraint", "policy", "requirement", "limit", "preference", "convention"), _RULE),
    **dict.fromkeys(("fact", "remember"), _FACT),
    **dict.fromkeys(("note", "fyi"), _FACT._replace(confidence=STATED)),
    "goal": _FACT._replace(category=Category.GOAL),
    "correction": _FACT._replace(category=Category.CORRECTION),
    **dict.fromkeys(("decision", "decided", "agreed"), _DECISION),
    "rejected": Cue(Kind.REJECTED),
    "next": Cue(Kind.NEXT),
    **dict.fromkeys(("todo", "to-do", "follow", "follow-up", "followup"), _FOLLOW_UP),
    # The agent's "Blocker:" is mostly a review finding's severity, and its questions are read at the end.
    **dict.fromkeys(("blocked", "blocker", "waiting", "open question", "unresolved question"), Cue(Kind.BLOCKER)),
}
_LABEL: Final = Lazy(
    r"[*_ ]*(?!(?:the|an?|this|that|these|those|no|and|or|he|she|they)\b)(?P<words>[a-z][\w-]*(?: [\w-]+){0,2})"
    r"[*_]*\s*(?:[:—–]|\s-(?=\s))[*_]*\s*",
    re.IGNORECASE,
)
_LEAD: Final = (
    r"(?:(?:ok(?:ay)?|so|and|also|but|please|alright|yes|no|actually|btw|by the way|(?:quick )?update"
    r"|(?:in|for) this (?:project|repo\w*|codebase))\b[,:]?\s+)"
    r"{0,2}[*_]{0,3}"
)
#: A sentence that does not point to what only the moment explains, of at least three words.
_LASTING: Final = r"(?=(?:\W*[\w'’]+){3})(?!.*\b(?:it|this|that|these|those|here|now(?! on)|yet|today|them|again)\b)"
_MORE: Final = r"(?=\W*\w+\W+\w+)"
#: Words that make an order a rule.
_GENERAL: Final = (
    r"(?=.*\b(?:instead of|rather than|\w+where|by default|never|always|only|not|all|any\w*|every\w*|each|ever|no"
    r"|without|unless|until|except|before (?:you|any|every|each|\w+ing)|at most|at least)\b)"
)
_ANY_IN: Final = rf"(?!(?:the|an?|our|my|tests?)\b)(?:\w+ ){{0,3}}(?:in|for|as) {_LASTING}"
#: Subjects that name the sentence's topic.
_ABOUT: Final = (
    r"(?!(?:this|that|it|they|there|these|those|which|he|she|so|if|like|why|how|what|when|where|who|does?|did|is|are|can"
    r"|could|would|should|because|i|we|ok|okay|yes|no|now|and|but|then|please|also|let)\b)"
)
_SUBJECT: Final = _ABOUT + r"(?:[\w'’$/.,-]+ ){1,8}?"
_MUST: Final = r"(?:must|ha(?:s|ve) to|shall|(?:should|may|can) (?:always|never|not|only))"
#: Code, a path, a number, an address or a name.
_VALUE: Final = r"(?=.*(?:`|\w[./_@-]\w|\d|(?-i:\w[A-Z]|[a-z,] [A-Z])))"
#: Without a name, "remember that ..." is more often a hint for the request.
_NAMED: Final = r"(?! (?:your|my|this|that|these|it)\b)(?=.*(?:`|\w[./_]\w|\d\w|(?-i:\b[A-Z]\w)))"
_WE: Final = r"(?:we|i)(?:['’]ve| have)?(?: now| just| all| already)? "
#: Neither a report of trouble, which the next answer changes, nor a request.
_CALM: Final = (
    r"(?!.*\b(?:fail\w*|errors?|broken?|crash\w*|wrong|bugs?|flaky|missing|empty|doesn['’]t|isn['’]t|should|can['’]t"
    r"|please|need to|i['’]d|i['’]ll|make)\b)"
)
_TOPIC: Final = r"(?=(?:the|our|my|all)\b|(?-i:[A-Z]))"
_BECAUSE: Final = r"(?=.*\b(?:because|since|due to|so we|for us)\b)"
_WE_DO: Final = (
    r"(?:use|run|deploy|host|ship|support|store|call|are calling|moved|switched|rebased|target|promised|write|build"
    r"|test|review|are on)"
)
_STATES: Final = (
    r"(?:is|are|runs?|lives?|uses?|owns?|maintains?|belongs?|hosts?|points?|listens?|handles?|expires?|sits?|deploys?|goes"
    r"|ships?|starts?|ends?|call(?:ed|ing)|needs?|wants?|requires?|targets?|supports?|stores?|switched|rebased"
    r"|(?:has |have )?(?:moved|changed))"
)

#: Forms without a label. The first that matches counts.
_FORMS: Final = (
    (
        Cue(Kind.REJECTED, whole=True),
        rf"{_WE}(?:tried(?! to\b(?!.*\bbut\b))|(?:had to )?g[ai]ve up on|dropped|ruled out|abandoned)\b{_MORE}",
        rf"{_SUBJECT}(?:did(?:n['’]t| not) work|failed|kept \w+ing|(?:is|was|are|were) too)\b{_BECAUSE}",
        rf"{_SUBJECT}(?:was|were) (?:dropped|removed|abandoned)\b{_BECAUSE}",
        r".*(?:er|worse|too \w+), so (?:we|i) (?:went|dropped|reverted|switched)",
        r".{2,60} (?:is|was|turned out to be) a dead[ -]end\b",
    ),
    (
        RULE,
        rf"(?:from now on|going forward|in (?:the )?future|as a rule|under no circumstances)\b,?(?! i am\b){_MORE}",
        # Not a report: "never worked", "always fails".
        r"(?:(?:we|i(?= always)) )?(?:always|never) (?!(?:mind|ha[ds]|was|is|the|an?|\w+(?:(?<!e)ed|(?<!s)s))\b)\w+ \w",
        rf"(?:do not|don['’]?t) (?!worry|forget|know|think|see|need|want|care|get|have|remember|mind|you\b){_LASTING}",
        rf"no (?!one\b|idea|problem|need|longer|way\b|doubt){_LASTING}(?!.*\b(?:was|were|is|are|\w+(?<!allow)ed\W*$))",
        rf"only (?!the\b|one\b|when|if\b|an?\b|thing|problem|because|then){_LASTING}",
        rf"(?:whenever|every time|each time|(?:before|after) (?:each|every|any|you|\w+ing)\b)(?=.*, ){_LASTING}",
        r"if .{4,120}, (?:then )?(?:stop|ask|do not|don['’]t|never|always|use|run|tell|escalate|say|skip)\b",
        rf"(?:keep|stick|stay|avoid|refrain|prefer|treat|leave|limit|assume) (?!going|work|try|in mind){_LASTING}",
        rf"(?:(?:ask|tell|call|warn|address) (?:me|us)|(?:ask|wait|stop|confirm)(?: first)? before) {_LASTING}",
        rf"{_ABOUT}{_LASTING}{_CALM}[^?]*\b(?:everything|everywhere|anything|anywhere|nothing)\b",
        rf"{_ABOUT}{_LASTING}[^,?]+, (?:not|never) |[^?]*, so (?:please )?(?:avoid|always|never|don['’]t|use|keep) \w",
        rf"(?:use|write|answer|reply|report|format|name|run|put|sign|show|make sure|ensure) {_GENERAL}{_LASTING}",
        rf"(?:write|answer|reply|report) {_ANY_IN}",
        rf"(?:we|i) (?:\w+ly |much |always )?(?:prefer|hate|(?:do not |don['’]t )like|like (?:my|our|all))\b{_MORE}",
        rf"(?:i|we) (?:do not|don['’]t) want (?!to\b){_LASTING}",
        rf"i want (?:no|only|all|every|each|short|\w+ answers|.* (?:before|everywhere))\b{_LASTING}",
        rf"(?:(?:we|i)(?:['’]d| would) (?:rather|prefer)|(?:the )?users? (?:wants?|prefers?))\b{_MORE}",
        rf"{_SUBJECT}{_MUST} (?!have\b|be (?:an?|the|some\w*|wrong)\b){_MORE}",
        rf"(?:every|each|all|any|everything|nothing|nobody)\b.* (?:needs?|goes|gets|may|can|is|are) {_LASTING}",
        rf"{_SUBJECT}(?:on|in|by|to|from|with) [\w ]+ only\b",
        r"you (?:can|may) (?:skip|ignore|.*\b(?:except|but not|only))\b",
        r"(?:max(?:imum)?|min(?:imum)?|at most|at least|no more than|we can(?:not|['’]t)? (?:spend|exceed))\b.*\w",
        rf"(?:\w+ ){{0,2}}\w+s (?:in [\w ]+ )?should {_LASTING}",
        r"(?:do|replace|show|log|check) .*(?:\w+ever|every|always)\b",
        r"it(?:['’]s| is) (?:important|crucial|essential|critical|mandatory|forbidden)\b.* (?:that|to|for)\b",
        rf"{_SUBJECT}(?:is|are) (?:not allowed|forbidden|banned|prohibited|off[- ]limits|capped at|limited to)\b",
        rf"{_SUBJECT}(?:needs?|requires?) (?:\w+ )?(?:approval|sign-?off|review|to be (?:reviewed|approved))\b",
        r"(?:the |our |my )?(?:[\w-]+ )?(?:budget|cap|limit|ceiling|maximum|quota|spend\w*)\b[^?]*\d",
    ),
    (
        Cue(Kind.DECISION, Category.CONTEXT, STATED, whole=True),
        rf"{_WE}(?:decided|agreed|settled|chose)\b(?! (?:that )?(?:last|yesterday|already|in|at|before|when)\b){_MORE}",
        r"(?:let['’]s|we['’]ll|we will|we['’]re|we are|i['’]m|i am) (?:going|go) with (?!(?:it|this|that)\b)\w+",
        rf"(?:let['’]s|we['’]ll|we will) (?:not|keep|stay|stick|use|leave|support|drop) {_LASTING}",
        rf"(?:the team|everyone|management) (?:agreed|decided)\b|use {_ANY_IN}",
        r"(?:we|i)(?:['’]re| are|['’]m| am) (?:switching|moving|migrating|standardi[sz]ing) (?:to|on|from)\b",
    ),
    (
        Cue(Kind.FACT, Category.CORRECTION, STATED, whole=True),
        rf"(?:that['’]s|that is|this is) (?:wrong|not right|incorrect)\b(?=.*\b(?:use|is|it['’]s|are)\b){_MORE}",
        rf"(?:it['’]s|it is) (?=.*(?:, not\b|\bnot\b.*, ))|use (?=.*\binstead\b){_VALUE}",
        r"(?:sorry, |scratch that|i meant)\b.*\w",
    ),
    (
        STATED_FACT,
        rf"{_TOPIC}{_CALM}{_VALUE}{_SUBJECT}{_STATES} \S",
        rf"{_TOPIC}{_CALM}{_SUBJECT}(?:owns|is called|is named) \S",
        rf"we (?:now |only |do not |don['’]t )?{_WE_DO}\b{_LASTING}",
        rf"(?:the goal is|we want) to {_LASTING}|{_CALM}this (?:repo\w*|project|service|app|codebase) {_STATES} \S",
    ),
)
#: A plain declarative sentence, which is worth keeping when the message has no other.
_TOLD: Final = Lazy(
    rf"{_LEAD}{_TOPIC}{_CALM}{_LASTING}(?!.*\b(?:not|still|too|slow\w*|would|could|weird|looks?|seems?"
    rf"|shows?|when i|if i)\b)(?:i (?:work|live)|(?:the|our|my|all) {_SUBJECT}(?:are|is|has|have|\w{{3,}}(?<!s)s)"
    r"|\w+ (?:\w+ )?(?:are|is|has|have|go|comes?)) \w",
    re.IGNORECASE,
)
#: Beginnings omitted from the statement.
_BEGINS: Final = (
    (_FACT._replace(line=False), rf"remember(?:,? that|(?=,)){_NAMED},?\s*|for the record\b[,:]?\s*"),
    (_FOLLOW_UP, r"remind (?:me|us) to\b\s*"),
    # "We decided that last week" only points back.
    (_DECISION, rf"{_WE}decided (?:to|on|that(?! (?:last|in the|at the|already|yesterday|before|when)\b))\b\s*"),
)
_HABIT: Final = Lazy(r"(?:that )?(?:we |i |please )?(?:always|never|from now on)\b", re.IGNORECASE)
_PREFERENCE: Final = Lazy(r"(?:that )?(?:i|we|\w+)(?:['’]d| would)? prefers?\b", re.IGNORECASE)


@cache
def _forms() -> tuple[tuple[Cue, re.Pattern[str]], ...]:
    forms = (*_BEGINS, *((cue, "|".join(any_of)) for cue, *any_of in _FORMS))
    return tuple((cue, re.compile(f"{_LEAD}(?:{form})", re.IGNORECASE)) for cue, form in forms)


def match(sentence: str, *, user: bool, alone: bool = False) -> tuple[Cue, int] | None:
    """The cue that opens ``sentence``, and the offset of the statement's text, or None. ``alone`` is the user's only
    sentence."""
    found = _labelled(sentence)
    if found is None and user and len(sentence) <= MAX_CHARS and not sentence.rstrip("\"')* ").endswith("?"):
        matches = ((cue, pattern.match(sentence)) for cue, pattern in _forms())
        found = next(((cue, 0 if cue.whole else hit.end()) for cue, hit in matches if hit), None)
        if found is None and alone and _TOLD.match(sentence):
            found = (STATED_FACT, 0)
    if found is None or not (user or found[0].is_agents):
        return None
    if any(sentence[: max(found[1], 4)].count(mark) % 2 for mark in '`"'):
        return None  # inside code or a quotation
    return found


def is_statement(sentence: str) -> bool:
    """Whether the user's ``sentence`` states something lasting and requests nothing."""
    found = match(sentence, user=True)
    told = found is not None and (not found[0].whole or found[0].kind in (Kind.FACT, Kind.REJECTED))
    return told or (found is not None and _HABIT.match(sentence) is not None)


def _labelled(sentence: str) -> tuple[Cue, int] | None:
    label = _LABEL.match(sentence)
    words = [word.removesuffix("s") for word in label["words"].lower().split()] if label else []
    named = (" ".join(words[:2]), *words[:1], *(word for word in words[-1:] if word != "note"))
    cues = (_LABELS.get(one) for one in named)
    cue = next(filter(None, cues), None)
    return (cue, label.end()) if cue and label else None


def category(cue: Cue, text: str) -> Category | None:
    """The category for the fact ``text``: "remember: I prefer tabs" is a preference."""
    if cue.category is Category.KNOWLEDGE and not cue.whole:
        if _HABIT.match(text):
            return Category.BEHAVIOR
        if _PREFERENCE.match(text):
            return Category.PREFERENCE
    return cue.category
