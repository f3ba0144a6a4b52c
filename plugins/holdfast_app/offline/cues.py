"""Phrases that mark a statement as worth keeping. English only, at the start of a sentence.

A phrase is listed because the text after it is nearly always worth keeping. Corrections, plans and preferences without
such a phrase are quoted in the summary, where nothing depends on a guess.
"""

from __future__ import annotations

import re
from enum import Enum
from functools import cache
from typing import Final, NamedTuple

from holdfast.models import Category
from holdfast.text.lazy import Lazy
from holdfast_app.markdown.lines import read_line


class Kind(Enum):
    """Statement kinds."""

    FACT = "fact"
    DECISION = "decision"
    NEXT = "next"
    FOLLOW_UP = "follow-up"
    BLOCKER = "blocker"


class Cue(NamedTuple):
    """``confidence`` and ``category`` are those of the resulting fact. Without a category there is no fact.

    ``whole`` keeps the cue in the text. ``user_only`` ignores the cue in assistant messages, ``agent_only`` in the
    user's: the agent answers the user's questions at once. ``lead`` is put before text on the next line. ``asks`` marks
    a question, open until it is answered.
    """

    kind: Kind
    pattern: str
    whole: bool = False
    user_only: bool = False
    agent_only: bool = False
    category: Category | None = None
    confidence: float = 0.0
    lead: str = ""
    asks: bool = False


EXPLICIT: Final = 0.9
DECIDED: Final = 0.8
HABIT: Final = 0.7

_WE = r"(?:we|i)"
_OWN: Final = r"\b(?! (?:your|my|this|that|these|it|option|approach|plan)\b)"
#: Code, a path, a number or a capital.
_NAME: Final = r"(?:`|\w[./_]\w|\d\w|(?-i:\b[A-Z]\w))"
_REJECTED: Final = r"\b(?:instead of|rather than)\b"
#: A name in the rest of the sentence, or the rejected alternative.
_NAMED: Final = rf"{_OWN}(?=.*(?:{_NAME}|{_REJECTED}))"
#: The same with the name before a purpose: "let's use a team to improve the UI" asks for work.
_NAMED_FIRST: Final = rf"{_OWN}(?=.*{_REJECTED}|(?:(?!(?-i: to [a-z])).)*{_NAME})"
#: A time or an occasion that no rule follows.
_WHEN = (
    r"(?:in|at|on|during|after|before|last|yesterday|already|earlier|together|when|with)\b"
    r"(?!.*\b(?:we|it|will|must|should|can|may|is|are|be|uses?|never|always|not|no|goes?|stays?|keeps?|gets?)\b)"
)
_LABEL_END = r"\s*(?:[:—–]|\s-(?=\s))[*_]*\s*"

CUES: Final = (
    Cue(Kind.FACT, rf"correction{_LABEL_END}", user_only=True, category=Category.CORRECTION, confidence=EXPLICIT),
    Cue(
        Kind.FACT,
        r"(?:please )?remember[*_]*\s*[:—–][*_]*\s*|for the record\b[,:]?\s*"
        # Without a label it is more often a hint for the request, as is "note that", unless it names its subject.
        rf"|(?:please )?remember(?:,? that|(?=,)){_NAMED},?\s*"
        r"|(?:[^.!?]{0,120}[,;] (?:so |and )?)?for (?:future|later|your) reference\b[,:]?\s*",
        user_only=True,
        category=Category.KNOWLEDGE,
        confidence=EXPLICIT,
    ),
    Cue(
        Kind.DECISION,
        rf"{_WE}(?:['’]ve| have)? decided (?:against|not)\b|decided (?:against|not)\b"
        # A choice counts if it has a name of its own. "Let's use the widget's layout" needs the talk before it.
        rf"|(?:{_WE}(?:['’]ll| will| shall)|let['’]?s) (?:use|go with|stick (?:with|to)|switch to)(?! the\b)"
        rf"{_NAMED_FIRST}"
        # A limit is a rule. "X should be bigger" is a task.
        r"|(?!(?:maybe|perhaps|the should|the (?:first|last|second|next|other)|this|that|it|they|there|these|those"
        r"|which|what|you|he|she|we|i|who|how|where|when|why)\b)"
        r"(?:[\w'’`/.-]+ ){1,5}(?<!\bthe )(?<!\bthis )(?<!\bthat )(?<!\bit )(?<!\bthere )should"
        # "Should not be showing" reports a fault.
        r" (?:not|never|only|always|no longer)\b(?! be \w+ing\b)(?=(?:\W+\w+){2})",
        whole=True,
        user_only=True,
    ),
    Cue(
        Kind.DECISION,
        rf"(?:decisions?|decided)[*_]*{_LABEL_END}|agreed[*_]*\s*:[*_]*\s*",
        category=Category.CONTEXT,
        confidence=DECIDED,
    ),
    Cue(
        Kind.DECISION,
        # "We decided that in the review last year" only points back.
        rf"{_WE}(?:['’]ve| have)? (?:now )?decided (?:to|on|that(?! {_WHEN}))\b\s*",
        user_only=True,
        category=Category.CONTEXT,
        confidence=DECIDED,
    ),
    Cue(
        Kind.FACT,
        # A comparison expresses a habit. "I'd prefer a smaller button" is a request, and so is "I prefer two pages".
        rf"{_WE} (?:really |strongly |much |always )?prefer\b(?=.*\b(?:over|rather than|instead of)\b)",
        whole=True,
        user_only=True,
        category=Category.PREFERENCE,
        confidence=HABIT,
    ),
    # Not "always" and "never" alone: most are of a pasted prompt, and others hold for the request only.
    Cue(
        Kind.FACT,
        r"from now on\b,?(?=(?:\W+\w+){3})",
        whole=True,
        user_only=True,
        category=Category.BEHAVIOR,
        confidence=HABIT,
    ),
    Cue(
        Kind.FACT,
        # Not "is always" and "is never", which report faults as often as rules.
        # "Like there should always be a log" argues for a request.
        r"(?!(?:this|that|it|they|there|these|those|which|you|he|she|so|if|like)\b)(?:[\w'’/.-]+ ){1,7}(?<!\bthere )"
        r"(?:must|should) (?:always|never)\b(?=(?:\W+\w+){2})",
        whole=True,
        user_only=True,
        category=Category.BEHAVIOR,
        confidence=HABIT,
    ),
    Cue(Kind.NEXT, rf"next(?: steps?| actions?| up)?[*_]*{_LABEL_END}", user_only=True),
    Cue(
        Kind.FOLLOW_UP,
        rf"(?:to-?dos?|follow[- ]?ups?)[*_]*{_LABEL_END}|(?:please )?remind (?:me|us) to\b\s*",
        user_only=True,
    ),
    Cue(Kind.BLOCKER, rf"(?:blocked|waiting for)[*_]*{_LABEL_END}"),
    # The agent's "Blocker:" is mostly the severity of a review's finding.
    Cue(Kind.BLOCKER, rf"blockers?[*_]*{_LABEL_END}", user_only=True),
    Cue(Kind.BLOCKER, rf"(?:open|unresolved) questions?[*_]*{_LABEL_END}", asks=True),
    Cue(Kind.BLOCKER, rf"questions?[*_]*{_LABEL_END}", agent_only=True, asks=True),
)

_LEAD: Final = (
    r"(?:(?:ok(?:ay)?|so|and|also|but|please|alright|right|great|good|well|yes|fine)\b[,:]?\s+){0,2}[*_]{0,3}"
)

#: Every line with a cue contains at least one of these words.
_HINTS: Final = (
    "remember", "for the record", "deci", "agreed", "l use", "l go", "l stick",
    "l switch", "let", "prefer", "always", "never", "from now on", "correct", "next", "todo", "to-do",
    "follow", "remind", "block", "waiting", "question", "reference", "should", "not",
)  # fmt: skip


def possible(text: str) -> bool:
    """Whether ``text`` may hold a cue at all; much faster than searching for one."""
    text = text.lower()
    return any(hint in text for hint in _HINTS)


_HEADINGS: Final = (
    (Lazy(r"decisions?(?: made| taken)?", re.IGNORECASE), Kind.DECISION),
    (Lazy(r"blocked(?: by| on)?|blockers?|waiting for|open questions?|unresolved", re.IGNORECASE), Kind.BLOCKER),
    (Lazy(r"remember|for the record", re.IGNORECASE), Kind.FACT),
)
_HEADING_CUES: Final = {
    Kind.DECISION: Cue(Kind.DECISION, "", category=Category.CONTEXT, confidence=DECIDED),
    Kind.FACT: Cue(Kind.FACT, "", user_only=True, category=Category.KNOWLEDGE, confidence=EXPLICIT),
}
_LABEL: Final = Lazy(r"\s*[*_]*([^*_:#]+)(?:[*_]*:[*_]*|[*_]+)\s*$")
_QUESTIONS: Final = Lazy(r"questions?|unresolved", re.IGNORECASE)
_SEVERITY: Final = Lazy(r"blockers?", re.IGNORECASE)
_HABIT: Final = Lazy(r"(?:that )?(?:we |i |please )?(?:always|never)\b", re.IGNORECASE)
_PREFERENCE: Final = Lazy(r"(?:that )?(?:i|we|\w+)(?:['’]d| would)? prefers?\b", re.IGNORECASE)


@cache
def _any() -> re.Pattern[str]:
    """One expression for all cues, compiled on first use: compiling takes half as long as starting an interpreter."""
    return re.compile(_LEAD + "(?:" + "|".join(cue.pattern for cue in CUES) + ")", re.IGNORECASE)


#: Praise of a question or a decision is not a label.
_PRAISE: Final = Lazy(
    r"\W*(?:(?:that['’]s|that is|it['’]s|a|an|very|really) )*(?:good|great|right|fine|fair|nice|excellent|valid"
    r"|interesting"
    r"|reasonable|sensible|smart|solid) (?:questions?|decisions?)\b",
    re.IGNORECASE,
)


def match(sentence: str, *, user: bool) -> tuple[Cue, int] | None:
    """The cue at the start of ``sentence``, and the offset of the text after it, or None."""
    if not _any().match(sentence) or _PRAISE.match(
        sentence
    ):  # most sentences stop here, after one search instead of one per cue
        return None
    for cue in CUES:
        # Compiled on first use and cached by `re`: few conversations need many, and a flush waits for the import.
        pattern = re.compile(f"{_LEAD}(?P<cue>{cue.pattern})", re.IGNORECASE)
        if not (cue.agent_only if user else cue.user_only) and (found := pattern.match(sentence)):
            if any(found[0].count(mark) % 2 for mark in '`"'):
                return None  # inside code or a quotation
            return cue, found.start("cue") if cue.whole else found.end()
    return None


def heading(line: str, *, user: bool) -> Cue | None:
    """The cue of a line that only introduces the list below it, such as ``## Decisions``."""
    if len(line) > 60:
        return None
    found = read_line(line)
    if found.level:
        words = found.text.strip("*_: ")
    elif label := _LABEL.match(line):
        words = label[1].strip()
    else:
        return None
    for pattern, kind in _HEADINGS:
        if pattern.fullmatch(words):
            own = bool(_SEVERITY.fullmatch(words))
            cue = _HEADING_CUES.get(kind, Cue(kind, "", user_only=own, asks=bool(_QUESTIONS.search(words))))
            return cue if user or not cue.user_only else None
    return None


def category(cue: Cue, text: str) -> Category | None:
    """The category for the fact ``text``: "remember: I prefer tabs" is a preference."""
    if cue.category is Category.KNOWLEDGE:
        if _HABIT.match(text):
            return Category.BEHAVIOR
        if _PREFERENCE.match(text):
            return Category.PREFERENCE
    return cue.category
