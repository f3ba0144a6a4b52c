"""Phrases that mark a statement as worth keeping. English only, at the start of a sentence.

The label "Decision:" counts in the agent's answers, too; all others ("blocked:", "we decided to") only in the user's
own words. Other text that may matter is quoted in the summary, where nothing depends on a guess.
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

    FACT = "fact"
    DECISION = "decision"
    NEXT = "next"
    FOLLOW_UP = "follow-up"
    BLOCKER = "blocker"


class Cue(NamedTuple):
    """``confidence`` and ``category`` of the resulting fact. Without a category no fact results.

    ``whole`` keeps the cue in the text. ``user_only`` ignores the cue in messages of the agent.
    """

    kind: Kind
    pattern: str
    whole: bool = False
    user_only: bool = True
    category: Category | None = None
    confidence: float = 0.0


EXPLICIT: Final = 0.9
DECIDED: Final = 0.8
HABIT: Final = 0.7

_WE: Final = r"(?:we|i)(?:['’]ve| have)?(?: now)?"
#: Code, a path, a number or a capital. Without a name, "remember that ..." is more often a hint for the request.
_NAMED: Final = r"(?! (?:your|my|this|that|these|it)\b)(?=.*(?:`|\w[./_]\w|\d\w|(?-i:\b[A-Z]\w)))"
_LABEL_END: Final = r"[*_]*\s*(?:[:—–]|\s-(?=\s))[*_]*\s*"

CUES: Final = (
    Cue(Kind.FACT, rf"correction{_LABEL_END}", category=Category.CORRECTION, confidence=EXPLICIT),
    Cue(
        Kind.FACT,
        rf"(?:please )?remember(?:{_LABEL_END}|(?:,? that|(?=,)){_NAMED},?\s*)|for the record\b[,:]?\s*",
        category=Category.KNOWLEDGE,
        confidence=EXPLICIT,
    ),
    Cue(Kind.DECISION, rf"(?:{_WE} )?decided (?:against|not)\b", whole=True),
    Cue(
        Kind.DECISION,
        rf"(?:decisions?(?: made| taken)?|decided){_LABEL_END}|agreed[*_]*\s*:[*_]*\s*",
        user_only=False,
        category=Category.CONTEXT,
        confidence=DECIDED,
    ),
    Cue(
        Kind.DECISION,
        # "We decided that last week" only points back.
        rf"{_WE} decided (?:to|on|that(?! (?:last|in the|at the|already|yesterday|before|when)\b))\b\s*",
        category=Category.CONTEXT,
        confidence=DECIDED,
    ),
    Cue(
        Kind.FACT,
        # A comparison expresses a habit. "I'd prefer a smaller button" is a request.
        r"(?:we|i) (?:really |strongly |much |always )?prefer\b(?=.*\b(?:over|rather than|instead of)\b)",
        whole=True,
        category=Category.PREFERENCE,
        confidence=HABIT,
    ),
    Cue(
        Kind.FACT,
        # Not "always" and "never" alone: most are of a pasted prompt, and others hold for the request only.
        r"from now on\b,?(?! (?:i|we) am\b)(?=(?:\W+\w+){3})"
        r"|(?!(?:this|that|it|they|there|these|those|which|you|he|she|so|if|like)\b)(?:[\w'’/.-]+ ){1,7}(?<!\bthere )"
        r"(?:must|should) (?:always|never)\b(?=(?:\W+\w+){2})",
        whole=True,
        category=Category.BEHAVIOR,
        confidence=HABIT,
    ),
    Cue(Kind.NEXT, rf"next(?: steps?| actions?| up)?{_LABEL_END}"),
    Cue(Kind.FOLLOW_UP, rf"(?:to-?dos?|follow[- ]?ups?){_LABEL_END}|(?:please )?remind (?:me|us) to\b\s*"),
    # The agent's "Blocker:" is mostly a review finding's severity, and its questions are read at the end.
    Cue(Kind.BLOCKER, rf"(?:blocked(?: by| on)?|blockers?|waiting for|(?:open|unresolved) questions?){_LABEL_END}"),
)

_LEAD: Final = r"(?:(?:ok(?:ay)?|so|and|also|but|please|alright|yes)\b[,:]?\s+){0,2}[*_]{0,3}"

#: Every line with a cue contains at least one word from here.
_HINTS: Final = (
    "remember", "for the record", "deci", "agreed", "prefer", "always", "never", "from now on", "correct", "next",
    "todo", "to-do", "follow", "remind", "block", "waiting", "question",
)  # fmt: skip
_HABIT: Final = Lazy(r"(?:that )?(?:we |i |please )?(?:always|never)\b", re.IGNORECASE)
_PREFERENCE: Final = Lazy(r"(?:that )?(?:i|we|\w+)(?:['’]d| would)? prefers?\b", re.IGNORECASE)


def possible(text: str) -> bool:
    """Whether ``text`` may hold a cue at all; much faster than searching for one."""
    text = text.lower()
    return any(hint in text for hint in _HINTS)


@cache
def _compiled() -> tuple[tuple[Cue, re.Pattern[str]], ...]:
    return tuple((cue, re.compile(f"{_LEAD}(?P<cue>{cue.pattern})", re.IGNORECASE)) for cue in CUES)


def match(sentence: str, *, user: bool) -> tuple[Cue, int] | None:
    """The cue that opens ``sentence``, and the offset after it, or None."""
    for cue, pattern in _compiled():
        if (user or not cue.user_only) and (found := pattern.match(sentence)):
            if any(found[0].count(mark) % 2 for mark in '`"'):
                return None  # inside code or a quotation
            return cue, found.start("cue") if cue.whole else found.end()
    return None


def category(cue: Cue, text: str) -> Category | None:
    """The category for the fact ``text``: "remember: I prefer tabs" is a preference."""
    if cue.category is Category.KNOWLEDGE:
        if _HABIT.match(text):
            return Category.BEHAVIOR
        if _PREFERENCE.match(text):
            return Category.PREFERENCE
    return cue.category
