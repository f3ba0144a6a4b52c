"""How a span of messages ends: whether work is open, and the next step, in the speakers' words.

Work is open when a request, a tool call or a result is last, when the last answer announces an action, asks for
something it needs or says that something is not finished, and while the last request's task list has unfinished
entries. An offer of more ("shall I also ...?"), thanks and questions answered without a tool change nothing. The next
step is the task in progress and the agent's last words since the last request; without either it is the request.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import Final, NamedTuple

from holdfast.models import Message
from holdfast.text.lazy import Lazy
from holdfast.text.plain import cut
from holdfast_app.authorship.ownwords import own_words
from holdfast_app.offline import asked, calls
from holdfast_app.offline.asked import Kind
from holdfast_app.offline.speech import units

#: Limits in characters: of a next step, of an answer's end searched for a label, of an end that says little
#: alone, and of a request that only answers or picks.
MAX_NEXT: Final = 300
_TAIL: Final = 2_000
_FEW: Final = 60
_PICK: Final = 16
#: Number of last sentences to read.
_UNITS: Final = 40
NONE: Final = "none"
#: Questions of an agent that waits for its first or next task.
_WHAT_NEXT: Final = Lazy(
    r"\b(?:anything else|what(?:['’]s| is) next|what would you like|how (?:can|may|could) i (?:help|assist)"
    r"|what (?:can|may|could|should|shall) (?:i|we) (?:do|help|work on|start with)|what are (?:we|you) working on)\b",
    re.IGNORECASE,
)
_ANNOUNCES: Final = Lazy(
    r"(?:^|[\s>*_(:;,。–—-])(?:let me(?! know)|i(?:['’]?m| am) (?:now|going to|about to|starting)\b"
    r"|(?:i|we)(?:['’]ll| will)(?! (?:leave|stop|wait|be (?:here|happy|glad)|have|need|not|stay|remember|keep that))\b"
    r"|next,? (?:i|we|is)\b|(?:i|we) [^.!?\n]{1,80} next(?=[.,;:]|\s*\Z| (?:in|and|with)\b)|下一步|接着"
    r"|(?:lo siguiente|der nächste schritt|el (?:siguiente|próximo) paso|la prochaine étape|o próximo passo) "
    r"|time to|next up\b|(?:spawning|dispatching|launching|delegating|moving on to|proceeding|starting) "
    r"|next step(?: is|:)|now (?:to|for|i(?:['’]?m)?|we(?:['’]re)?) "
    r"|let['’]?s (?!go\b|see if you)|will (?:report back|let you know)"
    r"|als nächstes\b|ich werde (?:jetzt|nun|gleich|noch)\b|(?:jetzt|nun|danach) (?:werde|\w+e) ich\b"
    r"|a continuación\b|(?:ahora|luego|después) (?:voy|vamos) a\b|je vais (?:maintenant|ensuite)\b|ensuite,? je\b"
    r"|em seguida\b|agora vou\b|次に|続いて|接下来|далее я\b|теперь я\b)",
    re.IGNORECASE,
)
_NEXT: Final = (
    r"(?:next(?: steps?| action| up)?|nächste[rn]? schritte?|als nächstes"
    r"|(?:siguientes?|próximos?) pasos?|prochaines? étapes?|следующий шаг|次のステップ|下一步)[*_ ]*"
)
#: A labelled next step, with at most two following lines. An answer with a next step is not finished.
_LABELLED: Final = Lazy(
    rf"(?:^|[.!?]\s+|\n)[ \t>*_#-]*{_NEXT}[:：][*_ ]*(?P<step>[^\s][^\n]*)(?:\n+[^\n]*){{0,2}}\Z", re.IGNORECASE
)
#: The sentence or heading with which the next step begins.
_BEGINS: Final = Lazy(rf"{_NEXT}(?:[:：]|\Z)", re.IGNORECASE)
_NO_STEP: Final = Lazy(
    r"(?:none|nothing|n/?a|no\b|keine?r?\b|ningun[oa]?\b|aucune?\b|なし|无|нет\b|-+\W*$)", re.IGNORECASE
)
#: Announcements that depend on the user, or that mean nothing is left to do.
_CONDITIONAL: Final = Lazy(
    r"^\W*if\b|\b(?:if you(?:['’]d)? (?:want|like|prefer|wish|need|share|send|tell|give|confirm|paste|say|agree)"
    r"|once you|when you(?:['’]re| are)? (?:ready|want)|whenever you|send (?:me )?(?:the )?(?:next|another)"
    r"|just (?:say|ask)|let me know|(?:say|tell me) (?:if|when|which|whether|what|and)|feel free"
    r"|happy to|you can (?:now|also)|should you)\b",
    re.IGNORECASE,
)
_OFFER: Final = Lazy(
    r"\b(?:would you like|(?:do|did) you (?:want|prefer) (?:me|to)|want me to|(?:shall|should|may|can|could) i|shall we"
    r"|interested in)\b",
    re.IGNORECASE,
)
_NEEDS: Final = Lazy(
    r"\b(?:please (?:provide|share|send|paste|confirm|tell|clarify|let me know (?:which|what|how|whether)"
    r"|run|upload|specify|answer|review)|i(?:['’]?ll)? need (?:you|your|to know|the (?:url|key|token|id|path|file"
    r"|password|credentials?|link|name))|could you (?:please )?(?:provide|share|send|paste|confirm|tell|clarify|choose"
    r"|specify|run)|waiting for (?:you|your)|(?:choose|pick|select) (?:one|an? option|between)"
    r"|let me know (?:which|what you|how you|whether)"
    r"|needs? (?:a|your) (?:explicit )?(?:go-ahead|ok|okay|approval|confirmation|decision|input|permission|sign-?off)"
    r"|run (?:this|these|the following)\b[^.]{0,40}\b(?:your|terminal|shell|locally)|then (?:re)?try\b)",
    re.IGNORECASE,
)
_DONE: Final = Lazy(
    r"(?<!n['’]t )(?<!\bnot )\b(?:done|fixed|added|created|updated|implemented|completed?|committed|pushed|removed"
    r"|replaced|finished|ready|renamed|written|saved|refactored|merged|deployed|passe[sd]|works|working now|all set"
    r"|exported|set up|installed|here(?:['’]s| is| are))\b",
    re.IGNORECASE,
)
#: What is not finished, unless it was so before.
_UNFINISHED: Final = Lazy(
    r"^(?!.*\b(?:pre-?existing|unrelated|before|already|known)\b).*"
    r"(?:\bstill (?:fail|red|broken|missing|pending|running)|\b(?:tests?|specs?|checks?|builds?|jobs?) fail(?:s|ing)?\b"
    r"|\b[1-9]\d* (?:\w+ )?fail(?:ed|ing|ures?)?\b|\bhalf done\b|\b(?:was|were|got) (?:refused|rejected|denied)\b"
    r"|\bnot (?:done|finished|open|merged|pushed|complete) yet\b|\bnoch (?:rot|offen|nicht fertig)\b"
    r"|\bschl(?:ägt|agen)\b.*\bfehl\b|仍然失败|还没)",
    re.IGNORECASE,
)
_FILLER: Final = Lazy(r"(?:let me know|feel free|happy to|enjoy|hope this|if you have any)\b", re.IGNORECASE)
_CLOSING: Final = frozenset({Kind.COURTESY, Kind.STATEMENT})


class Ending(NamedTuple):
    """``open`` is None without news about the work. ``next_step`` is ``none`` when nothing is left to do."""

    open: bool | None = None
    next_step: str = ""


def of(messages: Sequence[Message]) -> Ending:
    """How ``messages``, oldest first, end."""
    said = _of_work(asked.spoken(messages))
    if not said:
        return Ending()
    last = said[-1]
    request = asked.last_request(said)
    since = takewhile(lambda m: request is None or m is not request[0], reversed(said))
    step = tail(_spoke(since))
    task, is_working = "", bool(last.tool) or last.role == "tool"
    if last.role != "user":
        listed = calls.of(said)
        task = calls.current(listed, calls.DOING, *([] if is_working else [calls.PENDING]))
        if not (is_working or task or waits(last.text)):
            return Ending(open=False, next_step=NONE)
    if task and step and task not in step:
        step = f"{task}: {step}" if len(task) + len(step) + 2 <= MAX_NEXT else task
    elif request and not (task or step):
        step = _asked(said, *request)
    elif request and is_working and len(step or task) <= _FEW:
        step = f"{step or task}{asked.AFTER}{asked.headline(request[1], MAX_NEXT - 80)})"
    step = step or task
    return Ending(open=True, next_step=cut(step, MAX_NEXT)) if step or last.role != "user" else Ending()


def _of_work(said: Sequence[Message]) -> Sequence[Message]:
    """``said`` without what changes no work at its end: thanks, information, and questions answered without a tool."""
    end = len(said)
    while end:
        at = next((n for n in range(end - 1, 0, -1) if said[n].role != "assistant" or said[n].tool), 0)
        own = own_words(said[at].text) if said[at].role == "user" else ""
        kind, answers = asked.kind_of_words(own), at < end - 1
        before = own_words(said[at - 1].text) if at and said[at - 1].role == "user" else ""
        is_question = answers and own.endswith(("?", "？")) and not before
        is_nothing = kind is Kind.NOTHING and said[at].role == "user" and not answers
        if not (is_question or is_nothing or kind in _CLOSING) or (answers and waits(said[end - 1].text)):
            break
        end = at
    return said[:end]


def _spoke(messages: Iterable[Message]) -> Iterable[str]:
    return (m.text for m in messages if m.role == "assistant" and not m.tool)


def _asked(said: Sequence[Message], request: Message, own: str) -> str:
    """The request. A short one, which answers or picks, is followed by the last words of its question."""
    step = asked.headline(own, MAX_NEXT)
    before = takewhile(lambda m: m is not request, said)
    if len(step) > _PICK or not (answered := tail(_spoke(reversed(list(before))), MAX_NEXT - len(step) - 10)):
        return step
    return f"{step}{asked.AFTER}{answered})"


def tail(said: Iterable[str], limit: int = MAX_NEXT) -> str:
    """The newest words among ``said``, which is newest first: whole sentences of at most ``limit`` characters, after a
    label "Next:", without an offer of help. An end of a few words, such as "Let me find the paths:", follows the end
    of the message before it."""
    kept: list[str] = []
    room = limit
    for text in said:
        for unit in reversed(_ends(text)):
            unit = " ".join(re.sub(r"[*_]{2,}", "", unit).split())
            if not kept and _FILLER.match(unit):
                continue
            if kept and len(unit) >= room:
                return " ".join(kept)
            begins = _BEGINS.match(unit)
            kept.insert(0, cut(unit[begins.end() :].strip() if begins else unit, limit))
            room -= len(kept[0]) + 1
            if begins:
                return " ".join(filter(None, kept))
        if limit - room > _FEW:
            break
    return " ".join(kept)


def _ends(text: str) -> list[str]:
    """The last sentences, items and headings that have a word."""
    return [*deque((unit for unit in units(text, headings=True) if any(map(str.isalnum, unit))), _UNITS)]


def waits(text: str) -> bool:
    """Whether an answer announces an action or asks the user for something, rather than offering more."""
    labelled = _LABELLED.search(text[-_TAIL:].rstrip())
    if labelled and not (_NO_STEP.match(labelled["step"]) or _CONDITIONAL.search(labelled["step"])):
        return True
    ends = _ends(text)[-3:]
    if any(_ANNOUNCES.search(s) and not (_CONDITIONAL.search(s) or asked.QUESTION.search(s)) for s in ends[-2:]):
        return True
    if any(map(_UNFINISHED.search, ends[-2:])):
        return True
    offered = False
    for sentence in reversed(ends):
        if _NEEDS.search(sentence):
            return True
        if offered or not asked.QUESTION.search(sentence):
            continue
        if _WHAT_NEXT.search(sentence):
            return False
        offered = _OFFER.search(sentence) is not None or _CONDITIONAL.search(sentence) is not None
        if not offered or not _DONE.search(text[:600]):
            return True
    return False
