"""Forms by which a user's sentence is worth keeping: its label, or the words for a rule, a decision, a fact or a
failure. Of languages other than English, there are only words that make a sentence a rule, a decision or a correction.

Of the agent, only the labels "Decision:" and "Rejected:" count.
"""

from __future__ import annotations

import re
from enum import Enum
from functools import cache, lru_cache
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


def _any(forms: str) -> str:
    """One expression for all ``forms``, one a line. A line goes on after a backslash at its end. Those that begin with
    a word share its boundary, so that a search skips most places."""
    lines = [line.strip() for line in re.sub(r"\\\n\s*", "", forms).split("\n")]
    words = "|".join(line.removeprefix(r"\b") for line in lines if line.startswith(r"\b"))
    others = [line for line in lines if line and not line.startswith(r"\b")]
    return "|".join([rf"\b(?:{words})"] * bool(words) + others)


_LEAD: Final = (
    r"(?:(?:ok(?:ay)?|so(?! far)|and|also|but|please|alright|yes|no(?=[,.:]| (?:the|it|its|we|i|use|that)\b)|nope|well"
    r"|actually|btw|by the way|hm+|because|since|fine|then|although|(?:quick )?update|just remember that"
    r"|(?:in|for) this (?:project|repo\w*|codebase))\b[,:.]*\s+){0,3}[*_]{0,3}"
)
#: Words that connect a statement with an earlier one.
LEAD: Final = Lazy(rf"\A{_LEAD}", re.IGNORECASE)
#: Where a clause begins.
_CLAUSE: Final = rf"(?:^|[,:;!(–—] |\b(?:and|but|so) | - ){_LEAD}"
_MORE: Final = r"(?=\W*\w+\W+\w+)"
#: Not before a clause that points to something only its context explains.
_LASTING: Final = r"(?![^,;]*\b(?:it|this|that|these|those|here|there|them|again|(?:option|plan|step|version) \w+)\b)"
_WORDS: Final = rf"(?=(?:\W*[\w'’]++){{3}}){_LASTING}"
#: Beginnings of subjects that name their topic.
_THE: Final = (
    r"(?:(?:the|our|my|your|every|each|all|any|no|nothing|nobody|anything|everything|everyone|only)\b"
    r"|(?!(?:this|is|was|has|does|lets|always)\b)(?:\w+ )?\w+s\b)"
)
_GOES_ON: Final = r"(?: [\w'’$/.,()`\"-]++)"
#: Code, a path, a number, an address or a name.
_VALUE: Final = r"(?=.*(?:`|\w[./_@-]\w|\d|(?-i:\w[A-Z]|[a-z,] [A-Z])))"
#: Without a name, "remember that ..." is more often a hint for the request.
_NAMED: Final = r"(?! (?:your|my|this|that|these|it)\b)(?=.*(?:`|\w[./_]\w|\d\w|(?-i:\b[A-Z]\w)))"
_WE: Final = r"(?:we|i)(?:['’]ve| have)?(?: now| just| all| already)? "
_WILL: Final = r"(?:let['’]?s|we['’]ll|we will|we['’]re|we are|we|i['’]ll|i will|i['’]m) "
#: A sentence that holds only for now, weighs options, or was pasted.
_PASSING: Final = Lazy(
    r"\b(?:for now|right now|at the moment|today|tonight|tomorrow|yet|this (?:time|once|file|commit|one|function|test)"
    r"|maybe|perhaps|probably|i guess|wonder|not sure|leaning|let me|for example|suppose|imagine|anything else"
    r"|for a (?:sec|moment|bit)|i['’]?ll \w+ .* now)\b"
    r"|^\W*(?:error|warn\w*|note(?=:)|fatal|npm|why|how|what|who|where|which|(?:is|are) there|can (?:i|we))\b"
    r"|\w/\d\b|\w+\.\w+[/(]|[{}=]|->|::|\.\.\.",
    re.IGNORECASE,
)
#: A report of trouble, which the next answer changes, or a request.
_TROUBLE: Final = Lazy(
    r"\b(?:fail\w*|errors?|crash\w*|broken?|bugs?|buggy|flaky|missing|empty|still|keeps|seems?|looks?|should|please"
    r"|nothing (?:is|was|happen\w*)|(?:show|load|display|hang)ing"
    r"|(?:is|are) (?:just |only |now )\w+ing|when i|another thing|latest|make sure"
    r"|takes \d+ (?:s|ms|seconds|minutes)"
    r"|(?:not|n['’]?t) (?:work\w*|show\w*|see\w*|happen\w*|appear|find|load\w*|open|correct|enough|clear|sure|there)"
    r"|the (?:reason|idea|problem|issue|error|thing|next)|(?:want|can|could|would) you|says?|said|thinks?|told"
    r"|i (?:think|need|see|get|got|can(?:not|['’]t| not)?|tried|noticed|checked|wonder))\b",
    re.IGNORECASE,
)
#: Someone else's words.
_REPORTED: Final = Lazy(
    r"(?<!\bi )\b(?:says?|said|thinks?|told|claims?|according to|suggests?|recommends?)\b", re.IGNORECASE
)
_OPEN: Final = Lazy(r"(?:^|[\s:(])['‘“«„](?=\w)[^'’”»]*\Z")
_QUOTED: Final = Lazy(r"([`\"])[^`\"]*\1\W*")


class _Forms(NamedTuple):
    """Forms of a statement without a label: where a clause begins, and anywhere in the sentence."""

    cue: Cue
    begins: str
    within: str


#: The first that matches counts.
_FORMS: Final = (
    _Forms(
        Cue(Kind.REJECTED, whole=True),
        rf"""
        {_WE}tried(?! to\b)(?!.*\b(?:errors?|your|got|says|testing|\w*load\w*|think)\b){_MORE}
        {_WE}(?:(?:had to )?g[ai]ve up on|dropped|ruled out|abandoned)\b{_MORE}""",
        r"""
        ^.{2,60} (?:is|was|turned out to be) a dead[ -]end\b""",
    ),
    _Forms(
        RULE,
        rf"""
        (?:do not|don['’]?t) (?!worry|forget|know|think|see|need|want|care|get|have|remember|mind|you\b|like)\
            {_LASTING}{_MORE}
        (?:stop \w+ing|avoid|refrain) {_LASTING}{_MORE}
        no (?!one\b|idea|problem|need|longer|way\b|doubt|rush|such|other|more\b|errors?|access)[\w'’ -]+? \
            (?:in|on|to|for|without|unless|until|before|under|of|straight)\b(?!.*\b(?:was|were|is|are|\w+(?<!allow)ed\W*$))
        (?:whenever|(?:every|each) time|(?:before|after) (?:each|every|any|you|\w+ing)\b\
            |when (?:you|someone)(?:['’]re)? (?!(?:\w+ed|open|click|see|get|look)\b))\
            (?=.*(?:, (?!(?:i|it|the|that|this|there|my|we)\b)|always|never|please|ask)){_WORDS}
        if .{{4,120}}(?:, (?:then )?(?:stop|ask|do not|don['’]t|never|always|use|run|tell|escalate|say|skip|fake)\
            | (?:give|show|tell|ask) me)\b
        {_THE}{_GOES_ON}{{0,9}}? (?:must(?:n['’]t)?|ha(?:s|ve) to|shall|(?:should|may|can) (?:always|never|not|only)\
            |(?:is|are) (?:not |never )?(?:allowed|forbidden|banned|prohibited|off[- ]limits|limited|required))\b\
            (?! (?:have|be (?:an?|some\w*|wrong))\b)(?=\W*\w)
        (?:(?:every|each|any)(?: new)?|everything|anything|nothing|nobody) (?!to\b)[\w'’ ,-]{{0,60}}?\
            (?:gets?|goes|needs?|may|lands?|ships|passes|stays?|works?)\b(?! (?:now|fine|well|good)\b)
        (?:use|write|answer|reply|report|format|name|run|ask|commit|(?:give|show) me) {_WORDS}\
            (?=.*(?:, not|\b(?:instead of|never|rather than|always|by default|unless|only|first|in everything))\b)
        (?:answer|reply|respond|write) (?:in|as) (?!the\b|an?\b|it\b|our\b)\w
        (?:ask|wait|confirm|check with me)(?: \w+){{0,3}}? (?:before|first)\b.*\w
        keep (?:your|all|answers|responses|commits|costs|functions|messages)\b.*\w
        (?:the |our |my )?(?:[\w-]+ )?(?:budget|cap|ceiling|quota|spend\w*)\b[^?]*\d""",
        # The first is no report: "it never worked", "always fails".
        rf"""
        \b(?=always |never )(?<!\b(?:to|it|is|he|us|me) )(?<!\b(?:was|has|had|you|she) )\
            (?<!\b(?:have|they|will|help) )\w+ (?!(?:mind|ha[sd]|was|is|the|an?|got|knew|\w+(?:(?<!e)ed|(?<![su])s))\b)\
            \w+\b(?=.*\w)
        \b(?:from (?:now|here) on|going forward|as a rule|at all times|no exceptions|under no circumstances)\b
        \b(?:i|we)(?:['’]?d| would)?(?: much| really| \w+ly| always)* (?:prefer|rather|hate|dislike|can['’]t stand\
            |(?:do not|don['’]t) (?:like|want(?! to\b))|(?<!d )(?<!ld )like (?:my|our|all|(?=.* better))\b){_WORDS}
        \bi want (?:no|only|all|every|each|short|\w+ answers|.* (?:before|everywhere|rather|instead))\b
        \b(?:needs?|requires?) (?:\w+ )?(?:approval|sign-?off|review)\b|\b(?:we|i)(?:['’]?re| are|['’]?m) not allowed\b
        \b(?:nie(?:mals)?|immer|grundsätzlich|jamais|toujours|nunca|siempre|sempre|никогда|всегда|nooit|altijd|nigdy)\b
        \b(?:zawsze|asla)\b
        絶対|必ず|禁止|しないで|不要(?!紧)|务必|一律|永远|절대|항상|반드시|喜欢用|方が(?:好き|いい|良い|読みやすい)|좋아합니다|선호
        \b(?:mag es lieber|hätte (?:ich )?gerne?|ich .*\blieber|je préfère|prefiero|prefiro|preferisco|предпочитаю)\b
        \b(?:heb liever|wolę|tercih ederim)\b""",
    ),
    _Forms(
        Cue(Kind.DECISION, Category.CONTEXT, STATED, whole=True),
        rf"""
        {_WILL}(?:go(?:ing)? (?:with|for)|stick(?:ing)? (?:with|to)|stay(?:ing)? (?:with|on)|settl(?:e|ing) (?:on|for)\
            |standardi[sz](?:e|ing) on|(?:switch|mov|migrat)(?:e|ing)? (?:to|from)|keep(?:ing)?|drop(?:ping)?\
            |skip(?:ping)?|call|support|leav(?:e|ing)) (?!(?:an?|the next|your|going|\w+ing|\w+ly|on)\b){_LASTING}\w
        (?:we|i) (?:won['’]t|will not|do not|don['’]t) (?:do|use|support|ship|build|offer) {_LASTING}\w
        (?:the|our) [\w'’ -]{{2,50}}? (?:is out|becomes?|stays?|will be (?:called|named)|(?:is|are) going to be\
            |gets? (?:the|a)|moves? to)\b(?! (?:\w+ed|stuck|the same)\b){_WORDS}
        use (?-i:[A-Z]).* (?:for|as) (?:all|every|the|our)\b""",
        rf"""
        \b{_WE}(?:decided|agreed|settled|chose|opted)\b(?! (?:that )?(?:last|already|in|at|before|when)\b){_MORE}
        \b(?:beschlossen|wir (?:bleiben|nehmen)|nous avons décidé|c['’]est (?:tranché|décidé)|hemos decidido)\b
        \b(?:decidimos|мы решили|besloten|postanowiliśmy|karar verdik)\b
        决定|改用|就用|に決め|ことにし|하기로""",
    ),
    _Forms(
        Cue(Kind.FACT, Category.CORRECTION, STATED, whole=True),
        rf"""
        (?:that['’]?s|that is|this is) (?:wrong|not right|incorrect)\b(?=.*\b(?:use|is|it['’]s|are)\b){_MORE}
        use (?=.*\binstead\b){_VALUE}""",
        # The second and third: "A, not B", "not B, it is A".
        r"""
        \b(?:scratch that|i meant (?!to\b)|i was mistaken|i told you)\b.*\w
        \b(?:is|are|it['’]s|its|as|in|on|at|from|to|the|will be|returns?|called|spelled)\b[^,;?]{2,80}\
            (?:,| and| —) not (?!(?:yet|sure|work\w*|the case|only|just|because|to|even|really|very|so|all|have|be|show\
            |see|get|next)\b)\S
        \b(?:(?:is|are|does|do)n['’]?t|(?:is|are) not) (?!work)[^,.;?]{2,60}(?:,|;| —) (?:but )?\
            (?:it|they|we|the|its)\b(?! (?:should|would|could|was|just)\b)
        \b(?:nicht .{2,40} sondern|und nicht|no (?:es|son) .{2,40}(?:, (?:es|son)| sino)|não é .{2,60}, é)\b
        \b(?:non è .{2,40}, (?:è|ma)|не .{2,40}, а|niet .{2,40} maar|pas .{2,40}, (?:mais|c['’]est))\b
        , а не\b
        不是.{1,20}是|是.{1,20}不是|ではなく|じゃなくて|아니라""",
    ),
    _Forms(
        STATED_FACT,
        rf"""
        (?:the|our|my|all)(?! (?:\w+ )?(?:is|are) (?:\w+ing|\w+ed|great|good|fine|ok|simple|perfect)\b){_VALUE}\
            {_GOES_ON}{{1,7}}? (?:is|are|runs?|lives?|uses?|belongs?|hosts?|points?|listens?|handles?|expires?|sits?\
            |deploys?|goes|ships?|starts?|ends?|called|needs?|requires?|targets?|supports?|stores?|allows?|gives|takes\
            |has|have|comes?|only|moved|changed|switched) \S
        (?-i:[A-Z])\w+(?: (?-i:[A-Z])\w+)? (?:owns|maintains|runs on|belongs to|is (?:our|the|responsible)) \S
        (?:our|my) \w+(?: \w+)? (?:are|is) {_WORDS}
        (?:the|our|my){_GOES_ON}{{1,9}}? (?:owns|is called|is named|runs on) \S
        we (?:now |only |do not |don['’]t )?(?:use|run|deploy|host|ship|support|store|target|write|build|test|review\
            |release|are on|have (?:\w+ )?\d)\b{_WORDS}
        (?:the goal is|we want) to {_WORDS}
        this (?:repo\w*|project|service|app|codebase) (?:is|uses|runs|targets|supports|needs) \S""",
        r"""
        ^(?:just )?(?:fyi|so you know|for context|heads[- ]up|keep in mind|note that)\b[,:]? (?!(?:i|you)\b).*\w
        ^(?:übrigens|кстати|ojo que|por cierto|à savoir|ちなみに|顺便|참고로)[,: ]?.*\w""",
    ),
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
    begins = [(cue, f"^{_LEAD}(?:{form})") for cue, form in _BEGINS]
    forms = [(one.cue, f"{_CLAUSE}(?:{_any(one.begins)})|{_any(one.within)}") for one in _FORMS]
    return tuple((cue, re.compile(form, re.IGNORECASE)) for cue, form in (*begins, *forms))


@lru_cache(1_000)  # a message's kind depends on its sentences' cues, and several fields ask for it
def match(sentence: str, *, user: bool) -> tuple[Cue, int] | None:
    """The cue of ``sentence``, and the offset of the statement's text, or None."""
    found = _labelled(sentence)
    if found is None and user and len(sentence) <= MAX_CHARS and not sentence.rstrip("\"')* ").endswith(("?", "？")):
        found = _formed(sentence)
    if found is None or not (user or found[0].is_agents) or _is_inside(sentence[: found[1]]):
        return None
    return None if _QUOTED.fullmatch(sentence) else found


def _formed(sentence: str) -> tuple[Cue, int] | None:
    for cue, form in _forms():
        hit = form.search(sentence)
        if hit is None:
            continue
        if not cue.whole or cue.kind is Kind.REJECTED:
            return cue, 0 if cue.whole else hit.end()
        start = sentence[: hit.end()]
        if _PASSING.search(sentence) or _REPORTED.search(start) or _is_inside(start):
            return None
        if cue.kind is Kind.RULE or not _TROUBLE.search(sentence):
            return cue, 0
    return None


def _is_inside(start: str) -> bool:
    """Whether what follows ``start`` is inside code or a quotation."""
    return any(start.count(mark) % 2 for mark in '`"') or _OPEN.search(start) is not None


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
