"""The user's requests in a conversation. Greetings, thanks and "go on" are not requests."""

import re
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from itertools import dropwhile, takewhile
from typing import Final

from holdfast.models import Message
from holdfast.text.lazy import Lazy
from holdfast_app.authorship import hostile
from holdfast_app.authorship.ownwords import before_mail, own_words
from holdfast_app.offline import cues
from holdfast_app.printable import cut
from holdfast_app.sentences import endings, lasting

_FENCE: Final = Lazy(r"^[ \t]*(`{3,}+|~{3,}+)[^\n]*+\n.*?(?:^[ \t]*\1[`~]*[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_CONTROL: Final = Lazy(r"/[a-z][\w:-]*\s*\Z")
_EMPHASIS: Final = Lazy(r"\*\*|`|^#+ ", re.MULTILINE)
_READ_CHARS: Final = 400
#: A line from a log, a listing, code or a stack trace, not prose.
_PASTED: Final = Lazy(
    r"\s*(?:at (?:async )?\S+ ?[(:]"
    r"|File \"|Traceback |\d{4}-\d\d-\d\d[T ]|\d\d:\d\d:\d\d|\[(?:\d|\w+\] )|[{}\[\]()<>|]|[-+]\w|\+\+\+|---|@@"
    r"|diff --git |\w+\(/|\d+ *\|"
    r"|curl |-[A-Z] '|[-+]{1,2}[ \t]{4,}|[$❯➜] |PS [A-Z]:\\|>>> |npm (?:ERR|WARN)|error\["
    r"|(?:error|fatal|remote|source): "
    r"|(?:[Ww]arning|Error|WARNING|ERROR|INFO|Tip|Hint):|(?:GET|HEAD|POST|PUT|PATCH|DELETE) (?:https?:|/)"
    r"|/[\w.-]+/[\w./-]+\s*\Z|\w+ '[^']{1,200}' (?:is|does|has|was) not? "
    r"|[\w-]{2,30} {3,}\S|\S{1,40}@\S{1,60}[ :]\S{0,80} ?[%$#] |import \w+[;,.]|from [\w.]+ import "
    r"|def \w+\(|const \w+ =|function \w*\(|[│├└╰╭┌⎿⏺●✔✓✗❌✅]|\.\.\.|\.\w+\s+= )|[^=(]*[=(].*[;{]\s*\Z"
)
#: Beginnings of requests that correct the previous request, add to it or answer the agent's question.
_REPLIES: Final = Lazy(
    r"(?:no|nope|stop|wait|actually|instead|rather|nein|doch|halt|stopp|moment|non|не|нет)\b(?=[ ,.!:;–—-]|\Z)"
    r"|(?:don['’]?t|do not) (?:use|do|touch|change)\b|(?:yes|yeah|yep|yup|sure|ok(?:ay)?|because|also|and|but)\b"
    r"|(?:thanks|thx|good|great|nice|cool|perfect|awesome|excellent|lgtm|looks good)\b",
    re.IGNORECASE,
)
QUESTION: Final = Lazy(r"[?？]\W*$")
#: Lengths in bytes, because scripts differ: a shorter request cannot explain another; a longer one names a task.
_SHORT: Final = 8
_TASK: Final = 90
#: In a block of more lines, mostly pasted, the last line was typed if it is short and surely asks for something.
_MANY, _ABOUT, _SURELY = 4, 130, 0.9
AFTER: Final = " (after: "
_ENOUGH: Final = 40  # characters of a request that is understood without the statements before it
#: Characters of the agent's answer to a short request, and the fewest that an excerpt needs.
_ANSWER, _LEAST = 80, 20
_ACKNOWLEDGED: Final = 80  # characters of an answer that only takes note
#: Readers of the handoff cut an objective here, so its end would be lost.
OBJECTIVE: Final = 200
#: A message with less probability of a request is none. Most messages are requests, and no other error costs as much.
_REQUESTS: Final = 0.15
#: A message is also a request when no kind is this likely.
_SURE: Final = 0.5
_READ: Final = 4  # sentences at the start of a message, and at its end


class Kind(Enum):
    """Kinds of user messages: a request; consent to the agent's proposal, without anything of its own; a greeting,
    thanks, or the end of the work; a stop for now, with work left; information to keep, with a label like "remember:"
    or without one; and what the user did not say."""

    REQUEST = "request"
    ASSENT = "assent"
    COURTESY = "closing"
    PAUSE = "parks"
    STATEMENT = "informs"
    NOTHING = "nothing"


_PARTS: Final = Lazy(r"(?<=[.!?;])\s+|(?<=[。！？])|\n+")


def kind(text: str) -> Kind:
    """Classify the message ``text``, as sent."""
    return kind_of_words(own_words(text))


def kind_of_words(own: str) -> Kind:
    """The same for a string returned by :func:`~holdfast_app.authorship.ownwords.own_words`."""
    if not any(c.isalnum() for c in own) or _CONTROL.fullmatch(own):
        return Kind.NOTHING
    if asks_next(own):
        return Kind.REQUEST
    parts = _unlabelled(own)
    if not parts:
        return Kind.STATEMENT
    shares = endings.shares(tuple(parts))
    likeliest = max(shares, key=shares.__getitem__)
    is_request = shares[likeliest] < _SURE or shares["request"] >= _REQUESTS
    return Kind.REQUEST if is_request else Kind(likeliest)


def asks_next(own: str) -> bool:
    """Whether a message begins with what is next, or says so and nothing without a label: then it is wanted now."""
    matches = [cues.match(part, user=True) for part in sentences(own)]
    is_next = [match is not None and match[0].kind is cues.Kind.NEXT for match in matches]
    return any(is_next[:1]) or (all(matches) and any(is_next))


def sentences(own: str) -> list[str]:
    """The sentences at the start and at the end of a message."""
    parts = [part.strip() for part in _PARTS.split(own) if any(map(str.isalnum, part))]
    return parts if len(parts) <= 2 * _READ else parts[:_READ] + parts[-_READ:]


def _unlabelled(own: str) -> list[str]:
    return [part for part in sentences(own) if not cues.is_labelled(part)]


def requesting(own: str) -> list[str]:
    """Those of the :func:`sentences` that state nothing to keep."""
    return [part for part in sentences(own) if not cues.match(part, user=True)]


def _requests(messages: Sequence[Message], first: Message | None = None) -> Iterator[tuple[Message, str]]:
    """The requests, newest first, each with the user's own words. The ``first`` message also asks when it only tells,
    as people do of what is wrong."""
    for at in reversed(range(len(messages))):
        if messages[at].role == "user":
            own = own_words(messages[at].text)
            kind = kind_of_words(own)
            if kind is Kind.REQUEST or (messages[at] is first and kind is Kind.STATEMENT and _unlabelled(own)):
                yield messages[at], own


def goes_on(kinds: Iterable[Kind]) -> bool:
    """Whether messages of these kinds begin by telling the agent to go on."""
    return next((kind for kind in kinds if kind in (Kind.ASSENT, Kind.REQUEST)), None) is Kind.ASSENT


def last_request(messages: Sequence[Message]) -> tuple[Message, str] | None:
    """The newest request. Reads only the messages it needs."""
    return next(_requests(messages), None)


def is_question(own: str) -> bool:
    """Whether a request asks for words only: not "can you add it?"."""
    asks = own.rstrip("\"')* ").endswith(("?", "？")) or cues.ASKED.match(own)
    return bool(asks) and not cues.PUT.match(own)


def headline(own: str, limit: int) -> str:
    """The request in at most ``limit`` characters on one line: its prose, without pasted code and logs. Of a long one
    the beginning and, if it fits, the last paragraph, because people ask after pasted text."""
    own = before_mail(own)
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
    prose: list[str] = []
    for block in re.split(r"\n[ \t]*\n", _FENCE.sub("\n\n", own)):
        lines = [line.strip() for line in block.splitlines() if line.strip() and not line.lstrip().startswith(">")]
        is_typed = len(lines) > _MANY and len(lines[-1]) < _ABOUT and lasting.judge(lines[-1]).asks > _SURELY
        typed = [lines.pop()] if is_typed else []
        unpasted = [line for line in lines if not is_pasted(line)]
        if unpasted and len(unpasted) * 2 >= len(lines):
            prose.append(" ".join(" ".join(unpasted).split()))
        elif unpasted and len(unpasted[0].split()) >= 3:  # a sentence, followed by pasted text
            prose.append(" ".join(unpasted[0].split()))
        prose += typed
    return prose


def is_pasted(line: str) -> bool:
    """Whether a line looks like part of a log, a listing or code."""
    return bool(_PASTED.match(line[:300]))


def objective(messages: Sequence[Message], limit: int, known: str = "") -> str:
    """The last request but standing orders in at most ``limit`` characters. It is followed in brackets by its task:
    after a short one the last request before it of some length, or else the longest, that is neither a reply, an
    addition nor a question, and after a long one the oldest such request; or else by the oldest request, or that in the
    ``known`` objective of earlier messages. Then by the agent's words, which say what it came to. Empty without one."""
    requests = list(_requests(messages, None if known else _first(messages)))
    if not requests:
        return ""
    requests = [*dropwhile(lambda request: _names_no_work(request[1]), requests[:-1]), requests[-1]]
    message, last = requests[0]
    text = headline(last, limit)
    earlier = [own for _, own in requests[1:]]
    tasks = [own for own in earlier if _is_task(own) and text not in own]
    known = known.partition(hostile.ANSWERED)[0]
    oldest = earlier[-1] if earlier else known.partition(AFTER)[2].removesuffix(")") or known
    began = next((own for own in tasks if len(own.encode()) > _TASK), max(tasks, key=len, default="")) or oldest
    began = "" if text in began else headline(_wanted("\n\n".join(paragraphs(began))), limit)
    is_whole = hostile.instructs(f"{text} {began}")  # then all words have to be the user's
    room = limit - len(text)
    if began:
        room -= min(room // 2, len(began) + _LEAST)  # a request says little without its task
    answer = "" if is_whole else _answer(messages, message, room)
    room = limit - len(text) - len(answer) - len(AFTER) - 1
    after = f"{AFTER}{cut(began, room)})" if began and room > _LEAST else ""
    return f"{text}{after}{answer}"


def told_task(messages: Sequence[Message]) -> Message | None:
    """The user's first message, if it only tells and the agent took it up with a call or more than an acknowledgement:
    then it is a task."""
    first = _first(messages)
    after = list(dropwhile(lambda m: m is not first, messages))[1:]
    is_taken_up = any(m.tool or len(m.text) > _ACKNOWLEDGED for m in takewhile(lambda m: m.role != "user", after))
    return first if first and is_taken_up and not requesting(own_words(first.text)) else None


def _first(messages: Sequence[Message]) -> Message | None:
    return next((m for m in messages if m.role == "user" and kind(m.text) is not Kind.NOTHING), None)


def _names_no_work(own: str) -> bool:
    """Whether a message only says how to work, as after a refused call, or is short and more likely no request."""
    parts = [part for part in sentences(own) if len(part.encode()) > _SHORT]
    matches = [cues.match(part, user=True) for part in parts]
    if matches and all(match and match[0].kind is cues.Kind.RULE for match in matches):
        return True
    is_sure = len(own) > _ENOUGH or asks_next(own) or kind_of_words(own) is not Kind.REQUEST
    shares = endings.shares(tuple(_unlabelled(own)))
    return not is_sure and max(shares, key=shares.__getitem__) != "request"


def _wanted(own: str) -> str:
    """A request without its greetings and assents, and a longer one without its statements. A long one stays whole."""
    parts = sentences(own) if len(own) <= _READ_CHARS else []
    parts = [part for part in parts if kind_of_words(part) not in (Kind.COURTESY, Kind.ASSENT)]
    return " ".join(part for part in parts if len(own) <= _TASK or not cues.match(part, user=True)) or own


def still(objective: str, messages: Sequence[Message]) -> str:
    """A derived objective to which ``messages`` add no request, with the agent's newest words."""
    text = objective.partition(hostile.ANSWERED)[0]
    answer = "" if hostile.instructs(text) else _answer(messages, None, OBJECTIVE - len(text))
    return f"{text}{answer}" if answer else objective


def _answer(messages: Sequence[Message], request: Message | None, room: int) -> str:
    """How the agent's newest text after ``request`` begins, in brackets, without those of a few words, of a call, or of
    courtesy."""
    since = takewhile(lambda m: m is not request, reversed(spoken(messages)))
    texts = (m.text[:_READ_CHARS] for m in since if m.role == "assistant" and not m.tool)
    whole = (" ".join(_EMPHASIS.sub("", text).split()) for text in texts)
    full = (text for text in whole if len(text.encode()) >= _LEAST and not text.endswith((":", "：")))
    words = next((text for text in full if kind_of_words(text) is not Kind.COURTESY), "")
    room = min(_ANSWER, room - len(hostile.ANSWERED) - 1)
    return f"{hostile.ANSWERED}{cut(words, room)})" if words and room >= _LEAST else ""


def _is_task(own: str) -> bool:
    own = _wanted(own)
    is_reply = _REPLIES.match(own) or QUESTION.search(own)
    return len(own.encode()) > _SHORT and not is_reply and bool(paragraphs(own))


def spoken(messages: Sequence[Message]) -> list[Message]:
    """The messages from people, agents and tools, without system rows, model thoughts and answers without a word, and
    without other fields of a row, which a newer client may add."""
    return [
        m
        for m in messages
        if m.role in ("user", "assistant", "tool")
        and m.tool != "thinking"
        and not m.id.endswith("#rest")
        and (m.tool or m.role != "assistant" or any(map(str.isalnum, m.text)))
    ]
