"""By what a user's sentence is known as worth keeping: its label, or :mod:`holdfast_app.sentences.lasting`'s judgement.

Of the agent, only the labels "Decision:" and "Rejected:" count.
"""

import re
from enum import Enum
from functools import lru_cache
from typing import Final, NamedTuple

from holdfast.models import Category
from holdfast.text.lazy import Lazy
from holdfast_app.sentences import endings, lasting


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
_LASTING: Final = 0.42
_LASTING_REQUEST: Final = 0.7
_ASKS: Final = 0.5
#: A sentence that would be a request, or the end of the work ("never mind, I found it"), as a message of its own does
#: not last if that is likelier than ``_REQUESTED`` and its own probability is lower: for a request than ``_SURELY``,
#: for an end than ``_REQUESTED``.
_SURELY: Final = 0.8
_REQUESTED: Final = 0.9
#: Rules stand at the top of every brief, corrections before other facts, and what was given up is the opposite of what
#: holds, so they must be surer.
_RULES: Final = 0.7
_SURE: Final = {"correction": 0.6, "rejected": 0.8}
#: A kept sentence that asks for something with less probability requests nothing.
_STATES: Final = 0.2
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
    r"|stopp?(?=[,.:!])|well|actually|btw|by the way|hm+|because|since|fine|then|although|(?:quick )?update"
    r"|just remember that|(?:in|for) this (?:project|repo\w*|codebase))\b[,:.]*\s+){0,3}[*_]{0,3}"
)
LEAD: Final = Lazy(rf"\A{_LEAD}", re.IGNORECASE)
#: Without a name, "remember that ..." is more often a hint for the request.
_NAMED: Final = r"(?! (?:your|my|this|that|these|it)\b)(?=.*(?:`|\w[./_]\w|\d\w|(?-i:\b[A-Z]\w)))"
_WE: Final = r"(?:we|i)(?:['’]ve| have)?(?: now| just| all| already)? "
_OPEN: Final = Lazy(r"(?:^|[\s:(])['‘“«„](?=\w)[^'’”»]*\Z")
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
#: Questions without a question mark, opinions, reports of what was just done, and polite requests. None of them lasts
#: unless it has a word such as "always".
_PASSING: Final = Lazy(
    _LEAD + r"(?!.*(?:\blet['’]s\b|必ず|常に|今後|毎回|いつも|絶対|禁止|しないで))"
    r"(?:(?:what|how) (?:is|are|was|did|do|does|can|could|to|would)\b|why\b|(?:can|could|do|did) (?:you|we|i)\b"
    r"|(?:is|are) there\b|(?:was|wie) (?:ist|sind|haben|hat|kann|können|läuft|geht|macht)\b|warum\b"
    r"|(?:können|kannst|könntest) (?:wir|du)\b|i (?:do not |don['’]t |really |also |just |kind of |still )*"
    r"(?:think|believe|guess|feel|wonder|understand|agree)\b"
    r"|i(?:['’]m (?:not sure|thinking|wondering|guessing|getting|going)| didn['’]t)\b"
    r"|my (?:\w+ )?(?:thought|feeling|guess|understanding|impression)\b"
    r"|ich (?:denke|glaube|finde)\b|je (?:pense|crois)\b|我(?:不)?(?:觉得|覺得|认为|認為|的认知|的認知)"
    r"|i(?:['’]ve| have| had)?(?: also| already| just| successfully)* (?:added|fixed|finished|completed|installed"
    r"|changed|committed|merged|tested|updated|removed|created|amended|set up|built|made|wrote|ran|sent|pushed)\b"
    r"|我(?:已经|已經|刚|剛)|.*(?:て|で)(?:ください|下さい|ほしい|欲しい)[。.!]?\Z)",
    re.IGNORECASE,
)
#: "Keep it under 100 lines" is about what was asked for just before.
_OF_A_TASK: Final = Lazy(rf"{_LEAD}\w+ (?:it|them)\b", re.IGNORECASE)
#: A correction of what the agent does, which is no rule for later without "always".
_REFUSES: Final = Lazy(
    r"\W*(?:no|nope|nein|non|stopp?)\b[,.:!](?!.*\b(?:always|never|immer|nie|toujours|jamais)\b)", re.IGNORECASE
)
_FROM_NOW_ON: Final = Lazy(
    _LEAD + r"(?:(?:from now on|ab (?:jetzt|sofort)|désormais|dorénavant|de ahora en adelante)\b|以后|今后|从现在起)",
    re.IGNORECASE,
)
#: Orders for good that are put as questions.
_STANDING: Final = Lazy(
    _LEAD + r"(?:(?:can|could|would|will) you\b.*\b(?:never again|from now on|in future)\b"
    r"|(?:kannst|könntest|würdest) (?:du|ihr)\b.*\b(?:nie (?:wieder|mehr)|ab (?:jetzt|sofort)|künftig|in zukunft)\b)",
    re.IGNORECASE,
)


@lru_cache(1_000)  # a message's kind depends on its sentences' cues, and several fields ask for it
def match(sentence: str, *, user: bool) -> tuple[Cue, int] | None:
    """The cue of ``sentence``, and the offset of the statement's text, or None."""
    found = _labelled(sentence)
    if found is None and user and len(sentence) <= MAX_CHARS:
        found = (RULE, 0) if _STANDING.match(sentence) else _unlabelled(sentence)
    if found is None or not (user or found[0].is_agents) or _is_inside(sentence[: found[1]]):
        return None
    return None if _QUOTED.fullmatch(sentence) else found


def _unlabelled(sentence: str) -> tuple[Cue, int] | None:
    if sentence.rstrip("\"')* ").endswith(("?", "？")):
        return None
    for cue, form in _BEGINS:
        if hit := form.match(sentence):
            return cue, hit.end()
    judged = lasting.judge(sentence)
    if _PASSING.match(sentence) or judged.lasting < (_LASTING if judged.asks < _ASKS else _LASTING_REQUEST):
        return None
    from_now_on = _FROM_NOW_ON.match(sentence) is not None
    acts = endings.shares((sentence,))
    of_now = max(acts["closing"], acts["request"] if judged.lasting < _SURELY else 0)
    if judged.lasting < _REQUESTED < of_now and not from_now_on:
        return None
    if judged.label == "rule" and _OF_A_TASK.match(sentence):
        return None
    if judged.label == "rule" and _REFUSES.match(sentence):
        return _CUES["decision"], 0
    if judged.label == "rule" or (judged.label == "decision" and from_now_on):
        return (RULE if judged.lasting >= _RULES else STATED_FACT._replace(category=Category.BEHAVIOR)), 0
    is_sure = judged.share >= _SURE.get(judged.label, 0)
    return _CUES[judged.label] if is_sure else STATED_FACT, 0


def _is_inside(start: str) -> bool:
    """Whether what follows ``start`` is inside code or a quotation."""
    return any(start.count(mark) % 2 for mark in '`"') or _OPEN.search(start) is not None


def is_labelled(sentence: str) -> bool:
    """Whether the user's ``sentence`` begins with a label, and so requests nothing."""
    found = match(sentence, user=True)
    return found is not None and not found[0].whole


def is_statement(sentence: str) -> bool:
    """Whether the user's ``sentence`` states something lasting and requests nothing."""
    return is_labelled(sentence) or (match(sentence, user=True) is not None and lasting.judge(sentence).asks < _STATES)


def _labelled(sentence: str) -> tuple[Cue, int] | None:
    label = _LABEL.match(sentence)
    words = [word.removesuffix("s") for word in label["words"].lower().split()] if label else []
    named = (" ".join(words[:2]), *words[:1], *(word for word in words[-1:] if word != "note"))
    cues = (_LABELS.get(one) for one in named)
    cue = next(filter(None, cues), None)
    return (cue, label.end()) if cue and label else None
