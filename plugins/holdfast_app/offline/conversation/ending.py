"""How a span of messages ends: whether work is open, and the next step, in the speakers' words.

Work is open when a request, a tool call or a result is last, when the last answer announces an action or asks for
something it needs, and while the client's task list has unfinished entries. An offer of more ("shall I also ...?")
leaves it finished.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from holdfast.text.lazy import Lazy
from holdfast.text.plain import cut
from holdfast_app.authorship.ownwords import own_words
from holdfast_app.markdown.lines import HEADING, ITEM, TEXT, Lines
from holdfast_app.offline.conversation import asked, tasks
from holdfast_app.offline.conversation.asked import Kind

if TYPE_CHECKING:
    from holdfast.models import Message

#: Limits in characters.
MAX_NEXT: Final = 300
_TAIL: Final = 2_000
NONE: Final = "none"
#: Questions of an agent that waits for its first or next task.
_WHAT_NEXT: Final = Lazy(
    r"\b(?:anything else|what(?:['’]s| is) next|what would you like|how (?:can|may|could) i (?:help|assist)"
    r"|what (?:can|may|could|should|shall) (?:i|we) (?:do|help|work on|start with)|what are (?:we|you) working on)\b",
    re.IGNORECASE,
)

_ANNOUNCES: Final = Lazy(
    r"(?:^|[\s>*_(:;,。–—-])(?:(?:now |next,? |first,? |then,? |so |and |okay,? |ok,? |let'?s |great[,!.] )*"
    r"(?:let me(?! know)|i['’]?ll(?! (?:leave|stop|wait|be (?:here|happy|glad)|need|stay|remember|keep that))"
    r"|i will(?! (?:need|not))|i['’]?m (?:now |going to |about to |starting|adding|running|checking|updating"
    r"|applying|fixing|moving|looking|reading|writing|verifying|pulling|testing|doing|switching|tracing|inspecting"
    r"|validating|committing|rerunning|re-running|wiring|creating|implementing|patching|making|finishing|removing)"
    r"|i am (?:now |going to |about to )|we['’]ll now|we will now|time to|next up\b|next i['’]?(?:ll|m)"
    r"|will (?:report back|let you know|update you|come back)|(?:spawning|dispatching|launching|delegating) "
    r"|next step(?: is|:)|moving on to|proceeding (?:to|with)|starting (?:with|on)|now (?:to|for|i|we) "
    r"|let['’]?s (?!go\b|see if you))"
    r"|als nächstes\b|ich werde (?:jetzt|nun|gleich|noch)\b|(?:jetzt|nun|danach) (?:werde|\w+e) ich\b"
    r"|a continuación\b|(?:ahora|luego|después) (?:voy|vamos) a\b|je vais (?:maintenant|ensuite)\b|ensuite,? je\b"
    r"|em seguida\b|agora vou\b|次に|続いて|接下来|далее я\b|теперь я\b)",
    re.IGNORECASE,
)
_NOW: Final = Lazy(r"(?:now|next|then|on to)\b[, ]", re.IGNORECASE)
#: A labelled next step, with at most two following lines. An answer with a next step is not finished.
_LABELLED: Final = Lazy(
    r"(?:^|[.!?]\s+|\n)[ \t>*_#-]*(?:next(?: steps?| action| up)?|nächste[rn]? schritte?|als nächstes"
    r"|(?:siguientes?|próximos?) pasos?|prochaines? étapes?|следующий шаг|次のステップ|下一步)[*_ ]*[:：][*_ ]*"
    r"(?P<step>[^\s][^\n]*)(?:\n+[^\n]*){0,2}\Z",
    re.IGNORECASE,
)
_NO_STEP: Final = Lazy(
    r"(?:none|nothing|n/?a|no\b|keine?r?\b|ningun[oa]?\b|aucune?\b|なし|无|нет\b|-+\W*$)", re.IGNORECASE
)
#: Announcements that depend on the user, or that mean nothing is left to do.
_CONDITIONAL: Final = Lazy(
    r"\b(?:if you(?:['’]d)? (?:want|like|prefer|wish|need|share|send|tell|give|confirm|paste|say|agree)"
    r"|once you|when you(?:['’]re| are)? (?:ready|want)|whenever you|send (?:me )?(?:the )?(?:next|another)"
    r"|just (?:say|let me know|ask)|(?:say|tell me|let me know) (?:if|when|which|whether|what|and)|feel free"
    r"|happy to|you can (?:now|also)|should you)\b",
    re.IGNORECASE,
)
_OFFER: Final = Lazy(
    r"\b(?:(?:would|do|did) you (?:like|want|prefer)(?: me)?|want me to|shall i|should i|may i|can i|could i|shall we"
    r"|interested in)\b",
    re.IGNORECASE,
)
_MORE: Final = Lazy(
    r"\b(?:also|another|further|next|more|additional(?:ly)?|as well|too|else|extend|add|commit|push|open a (?:pr|pull"
    r" request)|help|deeper|turn this into|follow[- ]?up|while i['’]m (?:here|at it))\b",
    re.IGNORECASE,
)
#: A choice between two named ways.
_CHOICE: Final = Lazy(
    r"\bdo you (?:want|prefer)\b(?! me to).{3,120},? or (?!not\b|is\b|are\b|leave\b|skip\b|anything|something)\S+ \S+",
    re.IGNORECASE,
)
_APPROVAL: Final = Lazy(
    r"\b(?:proceed|go ahead|approve|approval|confirm|look(?:s)? (?:right|good|ok|okay|correct)|ready to (?:start|begin"
    r"|implement|exit)|which (?:one|option|of|approach|do|should|would)|before i (?:start|begin|continue|proceed|make"
    r"|implement|write)|start (?:with|on|implement\w*)|permission|allowed?)\b",
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
#: A choice left to the user without a question mark, near the end. Each line must end: splitting lines takes minutes.
_OPTIONS: Final = Lazy(
    r"^\W*(?:your |the |two |three |possible |remaining )*(?:options|choices)(?: (?:are|now|from here))?\W*:\W*\n+"
    r"(?P<items>(?:[ \t]*(?:\d{1,2}[.)]|[-*])[ \t]+[^\n]+(?:\n+|\Z)){2,6})(?:[^\n]+(?:\n+|\Z)){0,5}\s*\Z",
    re.IGNORECASE | re.MULTILINE,
)
#: A command handed over in its own block.
_CODE_BELOW: Final = Lazy(r"\s*(?:`{3,}|~{3,})[^\n]*\n\s*([^\n]{1,200})")
#: A short sentence with any of these words needs the previous sentence.
_POINTS_BACK: Final = Lazy(r"\b(?:it|this|that|them|these|those|both|one)\b", re.IGNORECASE)
_SHORT_CHARS: Final = 70
_DONE: Final = Lazy(
    r"\b(?:done|fixed|added|created|updated|implemented|completed?|committed|pushed|removed|replaced|finished|ready"
    r"|renamed|written|saved|refactored|merged|deployed|passe[sd]|works|working now|all set|exported|set up|installed"
    r"|here(?:['’]s| is| are))\b",
    re.IGNORECASE,
)
_SENTENCE: Final = Lazy(r"(?<=[.!?:])[\"')\]*_`]*\s+(?=[A-Z0-9\"'`*(¿¡«]|I['’])|\n+")
_CLOSING: Final = frozenset({Kind.COURTESY, Kind.STATEMENT})
_QUESTION: Final = Lazy(r"[?？]\W*$")
_ENDINGS: Final = Lazy(r"^(?:let me know|feel free|happy to|enjoy|hope this)", re.IGNORECASE)


class Ending(NamedTuple):
    """``open`` is None without messages. ``next_step`` is ``none`` when nothing is left to do. ``goes_on`` is true when
    "continue" or "where were we?" is last, and the messages do not hold its subject."""

    open: bool | None = None
    next_step: str = ""
    goes_on: bool = False


def of(messages: Sequence[Message]) -> Ending:
    """How ``messages``, oldest first, end."""
    said = asked.spoken(messages)
    while said and said[-1].role == "user" and asked.kind(said[-1].text) is Kind.NOTHING:
        said.pop()
    courtesy = False
    while said and said[-1].role == "user" and asked.kind(said[-1].text) in _CLOSING:
        said.pop()
        courtesy = True
    if not said:
        return Ending()
    last = said[-1]
    if last.role == "user":
        return _unanswered(said, own_words(last.text))
    if last.role == "tool" or last.tool:
        return _interrupted(said)
    return _answered(said, last, courtesy=courtesy)


def _unanswered(said: Sequence[Message], own: str) -> Ending:
    if asked.kind_of_words(own) is not Kind.ASSENT:
        return Ending(open=True, next_step=asked.headline(own, MAX_NEXT))
    answer = next((m.text for m in reversed(said[:-1]) if m.role == "assistant" and not m.tool), "")
    step = _proposal(answer) or _last_request(said, MAX_NEXT)
    return Ending(open=True, next_step=step, goes_on=not step)


def _last_request(said: Sequence[Message], limit: int) -> str:
    newest = asked.newest_requests(said, 1)
    return asked.headline(newest[0][1], limit) if newest else ""


def _interrupted(said: Sequence[Message]) -> Ending:
    """The next step when a call or a result is last. This is the action announced before it, otherwise the task in
    progress, otherwise the request."""
    spoke = next((m for m in reversed(said) if m.role == "user" or (m.role == "assistant" and not m.tool)), None)
    step = announced(spoke.text, working=True) if spoke and spoke.role == "assistant" else ""
    step = step or cut(tasks.of(said).current, MAX_NEXT) or _last_request(said, MAX_NEXT)
    return Ending(open=True, next_step=step)


def _answered(said: Sequence[Message], last: Message, *, courtesy: bool) -> Ending:
    step = "" if courtesy else announced(last.text) or needed(last.text, _last_request(said, _SHORT_CHARS))
    step = step or cut(tasks.of(said).waiting, MAX_NEXT)
    return Ending(open=bool(step), next_step=step or NONE)


def announced(text: str, *, working: bool = False) -> str:
    """The action announced at an answer's end, in its words, or empty. With ``working`` a call
    follows, so a last sentence like "Now the second review:" announces it."""
    labelled = _LABELLED.search(text[-_TAIL:].rstrip())
    if labelled and not (_NO_STEP.match(labelled["step"]) or _CONDITIONAL.search(labelled["step"])):
        return cut(labelled["step"].strip(" *_"), MAX_NEXT)
    sentences = _last_sentences(text)
    for sentence in reversed(sentences[-2:]):
        if _ENDINGS.match(sentence) or _CONDITIONAL.search(sentence) or _QUESTION.search(sentence):
            continue
        if working and sentence is sentences[-1] and _NOW.match(sentence):
            return cut(sentence, MAX_NEXT)
        if found := _ANNOUNCES.search(sentence):
            start = found.start() if found.start() > 120 else 0
            step = sentence[start:].strip(" :,;–—-")
            before = sentences.index(sentence) - 1
            if len(step) < _SHORT_CHARS and before >= 0 and _POINTS_BACK.search(step):
                step = f"{sentences[before]} {step}"
            return cut(step, MAX_NEXT)
    return ""


def needed(text: str, request: str = "") -> str:
    """The request to the user that ends an answer. Empty without a request, or with only an offer of more.

    A question whether to do a short ``request`` ("commit") is not an offer of more.
    """
    if choice := _OPTIONS.search(text[-_TAIL:]):
        items = " ".join(line.strip() for line in choice["items"].splitlines() if line.strip())
        return cut(f"Options: {items}", MAX_NEXT)
    sentences = _last_sentences(text)
    offered = False
    for sentence in reversed(sentences[-3:]):
        if _NEEDS.search(sentence) and not _CONDITIONAL.search(sentence.replace("let me know", "")):
            return cut(_with_code(sentence, text), MAX_NEXT)
        if offered or not _QUESTION.search(sentence):
            continue
        if _WHAT_NEXT.search(sentence):
            return ""
        if _OFFER.search(sentence) or _CONDITIONAL.search(sentence):
            more = _MORE.search(sentence)
            asked_for = more and len(request) < _SHORT_CHARS // 2 and more[0].casefold() in request.casefold()
            if asked_for or _APPROVAL.search(sentence):
                return cut(sentence, MAX_NEXT)
            if not more and (_CHOICE.search(sentence) or not _DONE.search(text[:600])):
                return cut(sentence, MAX_NEXT)
            offered = True
            continue
        return cut(sentence, MAX_NEXT)
    return ""


def _with_code(sentence: str, text: str) -> str:
    """``sentence`` with the first line of the code block after it in ``text``."""
    if not sentence.endswith(":"):
        return sentence
    below = _CODE_BELOW.match(text, text.rfind(sentence) + len(sentence))
    return f"{sentence} {below[1].strip()}" if below else sentence


def _proposal(text: str) -> str:
    """The answer's proposal, to which "yes, go on" refers."""
    return announced(text) or next(
        (
            cut(s, MAX_NEXT)
            for s in reversed(_last_sentences(text)[-4:])
            if _QUESTION.search(s) or _CONDITIONAL.search(s) or _ANNOUNCES.search(s)
        ),
        "",
    )


def _last_sentences(text: str) -> list[str]:
    """The last sentences, without code and markup."""
    prose = "\n".join(line.text.lstrip("> ") for line in Lines(text) if line.kind in (HEADING, ITEM, TEXT))[-_TAIL:]
    lines = re.sub(r"[*_]{2,}", "", prose).splitlines()
    found = (sentence.strip() for line in lines for sentence in _SENTENCE.split(line))
    return [s for s in found if any(c.isalnum() for c in s)]
