"""By what a user's sentence is known as worth keeping: its label, or :mod:`holdfast_app.sentences.lasting`'s judgement.

Of the agent, only the labels "Decision:" and "Rejected:" count.
"""

import re
from enum import Enum
from functools import lru_cache
from typing import Final, NamedTuple

from holdfast.models import Category
from holdfast.text.lazy import Lazy
from holdfast_app.sentences import lasting


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

    ``whole`` is a statement without a label, which keeps all its words. ``line`` takes all sentences of the line.
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


#: Longer sentences count only with a label.
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
_BLOCKER: Final = Cue(Kind.BLOCKER, whole=True)
#: The likeliest label of a sentence without one of ours -> its cue.
_CUES: Final = {
    "fact": STATED_FACT,
    "decision": Cue(Kind.DECISION, Category.CONTEXT, STATED, whole=True),
    "correction": STATED_FACT._replace(category=Category.CORRECTION),
    "rejected": Cue(Kind.REJECTED, whole=True),
    "goal": STATED_FACT._replace(category=Category.GOAL),
}
#: Minimum probability that a sentence lasts, and the higher one for a sentence that asks for something now with at
#: least the probability ``_ASKS``. All were chosen on sentences typed in public repositories.
_LASTING: Final = 0.4
_LASTING_REQUEST: Final = 0.7
_ASKS: Final = 0.5
#: Rules stand at the top of every brief, corrections before other facts, and what was given up is the opposite of what
#: holds, so they must be surer.
_RULES: Final = 0.7
_SURE: Final = {"correction": 0.6, "rejected": 0.78}
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
    r"[*_ ]*(?!(?:the|an?|this|that|these|those|no|and|or|he|she|they)\b)(?P<words>[a-z][\w-]*(?: [\w-]+){0,3})"
    r"[*_]*\s*(?:[:—–]|\s-(?=\s))[*_]*\s*",
    re.IGNORECASE,
)
#: Words that connect a statement with an earlier one.
_LEAD: Final = (
    r"(?:(?:ok(?:ay)?|so(?! far)|and|also|but|please|alright|yes|no(?=[,.:]| (?:the|it|its|we|i|use|that)\b)|nope|nein"
    r"|stopp?(?=[,.:!])|well|actually|btw|by the way|hm+|because|since|fine|then|(?:sorry|wait|oops)(?=,)|for"
    r" (?:next time|later|the future)(?=[,:])|(?:in|for) this (?:project|repo\w*|codebase))\b[,:.]*\s+){0,3}[*_]{0,3}"
)
LEAD: Final = Lazy(rf"\A{_LEAD}", re.IGNORECASE)
#: Without a name, "remember that ..." is more often a hint for the request.
_NAMED: Final = r"(?! (?:your|my|this|that|these|it)\b)(?=.*(?:`|\w[./_]\w|\d\w|(?-i:\b[A-Z]\w)))"
_WE: Final = r"(?:we|i)(?:['’]ve| have)?(?: now| just| all| already)? "
_QUOTED: Final = Lazy(r"([`\"])[^`\"]*\1\W*")
#: Beginnings omitted from the statement.
_BEGINS: Final = tuple(
    (cue, Lazy(_LEAD + form, re.IGNORECASE))
    for cue, form in (
        (_FACT._replace(line=False), rf"(?:remember(?:,? that|(?=,)){_NAMED},?\s*|for the record\b[,:]?\s*)"),
        (_FOLLOW_UP, r"remind (?:me|us) to\b\s*"),
        (
            _BLOCKER,
            r"(?=(?:we(?:['’]re| are)|i(?:['’]m| am))(?: still)? blocked\b|(?:wir sind|ich bin) .{0,20}blockiert)",
        ),
        (_BLOCKER, r"(?=we (?:can['’]?t|cannot) .{2,60}\b(?:until|yet)\b|wir können .{2,60} erst )"),
        # "We decided that last week" only points back.
        (_DECISION, rf"{_WE}decided (?:to|on|that(?! (?:last|in the|at the|already|yesterday|before|when)\b))\b\s*"),
    )
)
#: Questions without a question mark.
ASKED: Final = Lazy(
    _LEAD + r"(?:(?:what|how) (?:is|are|was|did|do|does|can|could|to|would)|why|warum"
    r"|(?:was|wie) (?:ist|sind|haben|hat|kann|können|läuft|geht|macht))\b",
    re.IGNORECASE,
)
#: What is to be made is no fact yet.
_TASK: Final = Lazy(rf"{_LEAD}(?:i (?:need|want) an?|add|create|fix|switch|write)\b", re.IGNORECASE)
#: "Keep it under 100 lines" is about what was asked for just before.
_OF_A_TASK: Final = Lazy(rf"{_LEAD}\w+ (?:it|them)\b", re.IGNORECASE)
_FROM_NOW_ON: Final = Lazy(
    rf"{_LEAD}(?:(?:from now on|ab (?:jetzt|sofort)|désormais|dorénavant|de ahora en adelante)\b"
    r"|以后(?!再)|今后|从现在起)",
    re.IGNORECASE,
)

#: The beginning of an order that is put as a question. Without it the order is judged, and must be this likely to last.
#: "Can we ...?" may order something for now, but no rule.
PUT: Final = Lazy(
    _LEAD + r"(?:(?:can|could|would|will) (?:you|u)|(?:k[aö]nn\w*|würdest) (?:du|ihr)"
    r"|(?P<we>(?:can|could|would|will) we|k[aö]nn\w* wir))\s+(?:please |bitte )?",
    re.IGNORECASE,
)
_STANDING: Final = 0.76


@lru_cache(1_000)  # a message's kind depends on its sentences' cues, and several fields ask for it
def match(sentence: str, *, user: bool) -> tuple[Cue, int] | None:
    """The cue of ``sentence``, and the offset of the statement's text, or None."""
    hit = _labelled(sentence)
    if hit is None and user and len(sentence) <= MAX_CHARS:
        hit = _unlabelled(sentence)
    is_meant = hit is not None and (user or hit[0].is_agents) and not _QUOTED.fullmatch(sentence)
    return hit if is_meant else None


def _unlabelled(sentence: str) -> tuple[Cue, int] | None:
    if (put := PUT.match(sentence)) and not put["we"]:
        judged = lasting.judge(sentence[put.end() :].lower().rstrip("?？ "))
        if judged.lasting >= _STANDING and judged.label in ("rule", "decision") and judged.asks < _ASKS:
            return RULE, 0
    if sentence.rstrip("\"')* ").endswith(("?", "？")) or ASKED.match(sentence):
        return None
    for cue, form in _BEGINS:
        if hit := form.match(sentence):
            return cue, hit.end()
    if _FROM_NOW_ON.match(sentence):
        return RULE, 0
    judged = lasting.judge(sentence)
    if judged.lasting < (_LASTING if judged.asks < _ASKS else _LASTING_REQUEST):
        return None
    if judged.label == "rule" and _OF_A_TASK.match(sentence):
        return None
    if judged.label == "rule":
        return (RULE if judged.lasting >= _RULES else STATED_FACT._replace(category=Category.BEHAVIOR)), 0
    if judged.label == "fact" and _TASK.match(sentence):
        return None
    is_sure = judged.share >= _SURE.get(judged.label, 0)
    return _CUES[judged.label] if is_sure else STATED_FACT, 0


def is_labelled(sentence: str) -> bool:
    """Whether the user's ``sentence`` begins with a label, and so requests nothing."""
    hit = match(sentence, user=True)
    return hit is not None and not hit[0].whole


def _labelled(sentence: str) -> tuple[Cue, int] | None:
    label = _LABEL.match(sentence)
    words = [word.removesuffix("s") for word in label["words"].lower().split()] if label else []
    named = (" ".join(words[:2]), *words[:1], *(word for word in words[-1:] if word != "note"))
    cues = (_LABELS.get(name) for name in named)
    cue = next(filter(None, cues), None)
    return (cue, label.end()) if cue and label else None
