"""The user's requests in a conversation. Greetings, thanks and "go on" are not requests."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from typing import Final

from holdfast.models import Message
from holdfast.text.lazy import Lazy
from holdfast.text.plain import cut
from holdfast_app.authorship.ownwords import own_words
from holdfast_app.offline import cues
from holdfast_app.sentences import lasting

_FENCE: Final = Lazy(r"^[ \t]*(`{3,}+|~{3,}+)[^\n]*+\n.*?(?:^[ \t]*\1[`~]*[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_CONTROL: Final = Lazy(r"/[a-z][\w:-]*\s*\Z")
#: A line from a log, a listing, code or a stack trace, not prose.
_PASTED: Final = Lazy(
    r"\s*(?:at (?:async )?\S+ ?[(:]"
    r"|File \"|Traceback |\d{4}-\d\d-\d\d[T ]|\d\d:\d\d:\d\d|\[(?:\d|\w+\] )|[{}\[\]()<>|]|\+\+\+|---|@@|\w+\(/|\d+ *\|"
    r"|curl |-[A-Z] '|[-+]{1,2}[ \t]{4,}|\$ |>>> |npm (?:ERR|WARN)|error\["
    r"|(?:[Ww]arning|Error|WARNING|ERROR|INFO|Tip|Hint):|(?:GET|HEAD|POST|PUT|PATCH|DELETE) (?:https?:|/)"
    r"|/[\w.-]+/[\w./-]+\s*\Z"
    r"|[\w-]{2,30} {3,}\S|\S{1,40}@\S{1,60}[ :]\S{0,80} ?[%$#] |import \w+[;,.]|from [\w.]+ import "
    r"|def \w+\(|const \w+ =|function \w*\(|[│├└╰╭┌]|\.\.\.)|[^=(]*[=(].*[;{]\s*\Z"
)
#: Beginnings of requests that correct the previous request, add to it or answer the agent's question.
_REPLIES: Final = Lazy(
    r"(?:no|nope|stop|wait|actually|instead|rather|nein|doch|halt|stopp|moment|non|не|нет)\b(?=[ ,.!:;–—-]|\Z)"
    r"|(?:don['’]?t|do not) (?:use|do|touch|change)\b|(?:yes|yeah|yep|yup|sure|ok(?:ay)?|because|also|and|but)\b"
    r"|(?:thanks|thx|good|great|nice|cool|perfect|awesome|excellent|lgtm|looks good)\b",
    re.IGNORECASE,
)
QUESTION: Final = Lazy(r"[?？]\W*$")
#: Lengths in bytes, because scripts differ: a shorter request cannot explain another; a longer one names a task; a
#: shorter one needs another.
_SHORT: Final = 8
_TASK: Final = 90
_ABOUT: Final = 130
#: In a block of more lines, which is mostly pasted, the last line was typed if it surely asks for something.
_MANY, _SURELY = 4, 0.9
#: A sentence that asks for something with less probability only informs.
_INFORMS: Final = 0.5
AFTER: Final = " (after: "
#: Readers of the handoff cut an objective here, so its end would be lost.
OBJECTIVE: Final = 200
#: Words that request nothing, in several languages: assent and questions about the state of work, then greetings and
#: thanks, then words that accompany them.
_ASSENT: Final = frozenset({
    "ok", "okay", "k", "yes", "y", "yeah", "yep", "yup", "sure", "sounds", "makes", "sense", "to", "me", "got", "pls",
    "plz", "go", "on", "ahead", "continue", "proceed", "resume", "start", "begin", "do", "it", "that", "this", "please",
    "now", "then", "lgtm", "approved", "agreed", "right", "correct", "fine", "and", "so", "keep", "going", "carry",
    "next", "try", "again", "retry", "all", "of", "them", "both", "first", "the", "let's", "lets", "where", "are",
    "were", "we", "you", "i", "left", "off", "stopped", "stand", "doing", "working", "from", "at", "can", "could",
    "pick", "up", "what", "what's", "how", "far", "current", "status", "yesterday", "did", "leave", "remember", "ja",
    "weiter", "mach", "bitte", "los", "si", "sí", "vale", "sigue", "continúa", "continua", "adelante", "oui", "vas-y",
    "allez", "sim", "pode", "да", "давай", "продолжай", "好", "好的", "继续", "是", "是的", "可以", "はい", "続けて",
    "お願いします", "네", "계속",
})  # fmt: skip
_POLITE: Final = frozenset({
    "hi", "hello", "hey", "thanks", "thank", "thx", "ty", "wow", "nvm", "understood", "interesting", "worries", "great",
    "good", "nice", "cool", "perfect", "awesome", "excellent", "bye", "goodbye", "cheers", "morning", "wonderful",
    "amazing", "see", "danke", "gracias", "merci", "obrigado", "obrigada", "grazie", "спасибо", "谢谢", "ありがとう",
    "ありがとうございます", "감사합니다", "tschüss", "perfekt", "prima", "perfecto", "genial", "parfait", "perfeito",
    "perfetto", "отлично", "多谢", "고마워",
})  # fmt: skip
#: Words that accompany them.
_COURTESY: Final = _POLITE | frozenset({
    "you", "super", "well", "done", "evening", "afternoon", "night", "very", "much", "so", "a", "lot", "job", "work",
    "for", "today", "day", "have", "week", "weekend", "this", "the", "your", "help", "looks", "look", "that's", "thats",
    "nope", "it", "was", "is", "now", "later", "tomorrow", "all", "no", "more", "nothing", "else", "everything",
    "works", "there", "ok", "okay", "k", "again", "never", "mind", "explanation", "exactly", "what", "wanted", "i",
    "everyone", "one", "vielen", "dank", "gut", "sehr", "muchas", "muito", "большое",
})  # fmt: skip
_SAYS_NOTHING: Final = _ASSENT | _COURTESY
_GO_ON: Final = Lazy(r"\b(?:continue|proceed|go on|carry on|go ahead|keep going|weiter)\b|继续|続けて", re.IGNORECASE)


class Kind(Enum):
    """Kinds of user messages."""

    REQUEST = "request"
    ASSENT = "assent"
    """Approves the agent's proposal without adding anything."""
    COURTESY = "courtesy"
    """A greeting or thanks."""
    STATEMENT = "statement"
    """Information to keep, with a label like "remember:" or without one, and no request."""
    NOTHING = "nothing"
    """Not said by the user."""


_PARTS: Final = Lazy(r"(?<=[.!?;])\s+|\n+")
_WORD: Final = Lazy(r"[^\W\d_]+(?:['’-][^\W\d_]+)*|\d+")


def kind(text: str) -> Kind:
    """Classify the message ``text``, as sent."""
    return kind_of_words(own_words(text))


def kind_of_words(own: str) -> Kind:
    """The same for a string returned by :func:`~holdfast_app.authorship.ownwords.own_words`."""
    if not own or not any(c.isalnum() for c in own) or _CONTROL.fullmatch(own):
        return Kind.NOTHING
    parts = [part for part in _PARTS.split(own) if part.strip()]
    kinds = [_part_kind(part) for part in parts]
    if Kind.REQUEST in kinds:
        told = all(one is not Kind.REQUEST or _tells(part) for one, part in zip(kinds, parts, strict=True))
        return Kind.ASSENT if told and kinds[-1] is Kind.ASSENT and _GO_ON.search(parts[-1]) else Kind.REQUEST
    return next((one for one in (Kind.ASSENT, Kind.COURTESY, Kind.STATEMENT) if one in kinds), Kind.NOTHING)


def _tells(part: str) -> bool:
    """Whether a sentence informs or sets a rule. Before "continue" that is not a request."""
    return cues.match(part, user=True) is not None or lasting.judge(part[: cues.MAX_CHARS]).asks < _INFORMS


def _part_kind(part: str) -> Kind:
    first = _WORD.search(part)
    if first is None:
        return Kind.NOTHING
    if cues.is_statement(part):
        return Kind.STATEMENT
    if first[0].lower() not in _SAYS_NOTHING:
        return Kind.REQUEST
    words = [word.lower() for word in _WORD.findall(part)]
    if all(w in _COURTESY for w in words) and (words[0] in ("no", "nope", "that's", "thats") or _POLITE & set(words)):
        return Kind.COURTESY
    return Kind.ASSENT if all(w in _SAYS_NOTHING for w in words) else Kind.REQUEST


def _requests(messages: Iterable[Message]) -> Iterator[tuple[Message, str]]:
    """The requests, oldest first, each with the user's own words."""
    for message in messages:
        if message.role == "user":
            own = own_words(message.text)
            if kind_of_words(own) is Kind.REQUEST:
                yield message, own


def last_request(messages: Sequence[Message]) -> tuple[Message, str] | None:
    """The newest request. Reads only the messages it needs."""
    return next(_requests(reversed(messages)), None)


def headline(own: str, limit: int) -> str:
    """The request in at most ``limit`` characters on one line: its prose, without pasted code and logs.

    A long request keeps its beginning and, if it fits, its last paragraph, because people put the question after pasted
    text.
    """
    prose = paragraphs(own)
    if not prose or (len(prose) == 1 and prose[0].endswith(":")):  # "The error is still there:"
        prose = [" ".join(own.split())]
    whole = " ".join(prose)
    if len(whole) <= limit:
        return whole
    last = prose[-1]
    if len(prose) > 1 and len(last) <= limit // 3 and last not in prose[0]:
        return f"{cut(whole, limit - len(last) - 3)} {last}"
    return cut(whole, limit)


def paragraphs(own: str) -> list[str]:
    """The prose, one line per paragraph. Fenced blocks and pasted lines are left out."""
    found: list[str] = []
    for block in re.split(r"\n[ \t]*\n", _FENCE.sub("\n\n", own)):
        lines = [line.strip() for line in block.splitlines() if line.strip() and not line.lstrip().startswith(">")]
        is_typed = len(lines) > _MANY and len(lines[-1]) < _ABOUT and lasting.judge(lines[-1]).asks > _SURELY
        typed = [lines.pop()] if is_typed else []
        kept = [line for line in lines if not is_pasted(line)]
        if kept and len(kept) * 2 >= len(lines):
            found.append(" ".join(" ".join(kept).split()))
        elif kept and len(kept[0].split()) >= 3:  # a sentence, followed by pasted text
            found.append(" ".join(kept[0].split()))
        found += typed
    return found


def is_pasted(line: str) -> bool:
    """Whether a line looks like part of a log, a listing or code."""
    return bool(_PASTED.match(line[:300]))


def objective(messages: Sequence[Message], limit: int, known: str = "") -> str:
    """The last request in at most ``limit`` characters. A short one is followed in brackets by the task it belongs to:
    the last request before it of some length, or else the longest, that is neither a reply, an addition nor a question;
    or the oldest request; or that in the ``known`` objective of earlier messages. Empty without a request."""
    requests = (own for _, own in _requests(reversed(messages)))
    text = headline(next(requests, ""), limit)
    if not text or len(text.encode()) > _ABOUT:
        return text
    earlier = list(requests)
    tasks = [own for own in earlier if _is_task(own) and text not in own]
    task = next((own for own in tasks if len(own.encode()) > _TASK), max(tasks, key=len, default=""))
    oldest = earlier[-1] if earlier else known.partition(AFTER)[2].removesuffix(")") or known
    began = task or oldest
    if not began or text in began:
        return text
    return f"{text}{AFTER}{headline(began, limit - len(text) - len(AFTER) - 1)})"


def _is_task(own: str) -> bool:
    is_reply = _REPLIES.match(own) or QUESTION.search(own)
    return len(own.encode()) > _SHORT and not is_reply and bool(paragraphs(own))


def spoken(messages: Sequence[Message]) -> list[Message]:
    """The messages from people, agents and tools, without system rows and model thoughts, and without other fields of a
    row, which a newer client may add."""
    return [
        m
        for m in messages
        if m.role in ("user", "assistant", "tool") and m.tool != "thinking" and not m.id.endswith("#rest")
    ]
