"""How a span of messages ends: whether work is open, and the next step, in the speakers' words.

Work is open when a request, a tool call or a result is last, when the user pauses it, when the last answer leaves some
(it announces an action, asks for something or names what is not finished, as :mod:`holdfast_app.sentences.endings`
judges), and while the last request's task list has unfinished entries. Thanks, information and questions answered
without a tool change nothing. The next step is the task in progress and the agent's last words since the last request;
without either it is the request.
"""

import re
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import Final, NamedTuple

from holdfast.models import Message
from holdfast.text.lazy import Lazy
from holdfast_app.authorship import hostile
from holdfast_app.authorship.ownwords import own_words
from holdfast_app.offline import asked, calls, cues
from holdfast_app.offline.asked import Kind
from holdfast_app.offline.speech import refuses, units
from holdfast_app.printable import cut
from holdfast_app.sentences import endings

#: Limits in characters: of a next step, of an end that says little alone (in bytes, because scripts differ), of a
#: request that only answers or picks and was taken up, and of a tool call.
MAX_NEXT: Final = 300
_FEW: Final = 60
_PICK: Final = 16
_CALL: Final = 120
#: Number of last sentences to read.
_UNITS: Final = 40
NONE: Final = "none"
_NEXT: Final = (
    r"(?:next(?: steps?| action| up)?|nächste[rn]? schritte?|als nächstes"
    r"|(?:siguientes?|próximos?) pasos?|prochaines? étapes?|следующий шаг|次のステップ|下一步)[*_ ]*"
)
#: The sentence or heading with which the next step begins.
_BEGINS: Final = Lazy(rf"{_NEXT}(?:[:：]|\Z)", re.IGNORECASE)
#: An answer leaves work with at least this probability, and one that the user accepted with the second one.
_REMAINS, _ACCEPTED = 0.55, 0.7
_READ: Final = 6  # sentences at an answer's end
#: A block of code at the end, with its first line; and that line's limit.
_CODE: Final = Lazy(r"^[ \t]*```[^\n]*\n\s*([^\s`][^\n`]*)(?:\n(?![ \t]*```)[^\n]*)*\n[ \t]*```\s*\Z", re.MULTILINE)
_COMMAND: Final = 120
_CLOSING: Final = frozenset({Kind.COURTESY, Kind.STATEMENT, Kind.PAUSE})


class Ending(NamedTuple):
    """``open`` is None without news about the work. ``next_step`` is ``none`` when nothing is left to do."""

    open: bool | None = None
    next_step: str = ""


def on_task(said: Sequence[Message], *, has_task: bool) -> Sequence[Message]:
    """``said`` without the last request and its answer, if that only asked something beside the work, which went on
    after it. ``has_task``: there was a request before ``said``."""
    request = asked.last_request(said)
    if request is None or not asked.is_question(request[1]):
        return said
    at = next(n for n, m in enumerate(said) if m is request[0])
    answer = list(takewhile(lambda m: m.role == "assistant" and not m.tool, said[at + 1 :]))
    later = said[at + 1 + len(answer) :]
    kinds = {asked.kind(m.text) for m in later if m.role == "user"}
    went_on = any(m.role == "assistant" and (m.tool or Kind.ASSENT in kinds) for m in later)
    if not (went_on and answer and (has_task or asked.last_request(said[:at]))) or waits(answer[-1].text):
        return said
    return [*said[:at], *later]


def of(messages: Sequence[Message]) -> Ending:
    """How ``messages``, oldest first, end."""
    said, pause, least = _of_work(asked.spoken(messages))
    if not said:
        return Ending(open=True, next_step=pause) if pause else Ending()
    last = said[-1]
    request = asked.last_request(said)
    since = takewhile(lambda m: request is None or m is not request[0], reversed(said))
    task, is_working = "", bool(last.tool) or last.role == "tool"
    call = _last_call(said) if is_working else ""
    room = MAX_NEXT - len(call)
    step = _answered(said, tail(_spoke(since), room), room)
    if last.role != "user":
        listed = calls.of(said)
        task = calls.current(listed, calls.DOING, *([] if is_working else [calls.PENDING]))
        if not (is_working or task or pause or waits(last.text, least)):
            return Ending(open=False, next_step=NONE)
    if task and step and task not in step:
        step = f"{task}: {step}" if len(task) + len(step) + 2 <= room else task
    elif request and not (task or step):
        step = _asked(said, *request)
    elif request and is_working and len((step or task).encode()) < _FEW:
        step = f"{step or task}{asked.AFTER}{asked.headline(request[1], MAX_NEXT - 80)})"
    if pause:
        step = f"{cut(pause, MAX_NEXT // 2)}{asked.AFTER}{step})" if step else pause
    elif call not in step:
        step = f"{cut(step, room)}{call}"
    return Ending(open=True, next_step=cut(step, MAX_NEXT)) if step or last.role != "user" else Ending()


def _answered(said: Sequence[Message], step: str, room: int) -> str:
    """The agent's proposed step, after what the user answered to it."""
    newest = next((m for m in reversed(said) if not m.tool and m.role != "tool"), None)
    own = own_words(newest.text) if step and newest and newest.role == "user" else ""
    if not own:
        return step
    answer = asked.headline(own, room // 2)
    return f"{answer}{asked.AFTER}{cut(step, room - len(answer) - len(asked.AFTER) - 1)})"


def _last_call(said: Sequence[Message]) -> str:
    """The newest call, unanswered or refused by the user, as an addition to a step. Empty without its words."""
    calls_made = (m.text.partition("\n")[0] for m in reversed(said) if m.role == "assistant" and m.tool)
    call = cut(" ".join(next(calls_made, "").split()), _CALL)
    after = takewhile(lambda m: m.role != "assistant", reversed(said))
    refused = "; the user refused it" if any(map(refuses, after)) else ""
    return f"{hostile.LAST_CALL}{call}{refused})" if ": " in call else ""


def _of_work(said: Sequence[Message]) -> tuple[Sequence[Message], str, float]:
    """``said`` without what changes no work at its end: thanks, information, a pause, and questions answered without a
    tool; the words of a pause; and the probability with which an answer then leaves work."""
    end, pause, was_taken = len(said), "", False
    while end:
        at = next((n for n in range(end - 1, 0, -1) if said[n].role != "assistant" or said[n].tool), 0)
        own = own_words(said[at].text) if said[at].role == "user" else ""
        kind, answers = asked.kind_of_words(own), at < end - 1
        before = said[at - 1]
        is_question = answers and own.endswith(("?", "？")) and before.role != "tool"
        is_nothing = kind is Kind.NOTHING and said[at].role == "user" and not answers
        is_left = answers and waits(said[end - 1].text)
        if not (is_question or is_nothing or kind in _CLOSING) or is_left:
            break
        is_stopped = before.role != "assistant" or before.tool or before.text.rstrip(" *_`").endswith(("?", "？"))
        if kind in (Kind.STATEMENT, Kind.COURTESY) and answers and at and is_stopped:
            break  # it answered the agent's question, or came in the middle of the work, and no more was done
        pause = pause or (asked.headline(own, MAX_NEXT) if kind is Kind.PAUSE else "")
        end, was_taken = at, kind in (Kind.STATEMENT, Kind.COURTESY)  # so that an answer before it was enough
    return said[:end], pause, _ACCEPTED if was_taken else _REMAINS


def _spoke(messages: Iterable[Message]) -> Iterable[str]:
    return (m.text for m in messages if m.role == "assistant" and not m.tool)


def _asked(said: Sequence[Message], request: Message, own: str) -> str:
    """The request. A short one, which may answer or pick, is followed by the agent's last words before it."""
    step = asked.headline(own, MAX_NEXT)
    before = takewhile(lambda m: m is not request, said)
    if len(step) > (_FEW if request is said[-1] else _PICK):
        return step
    answered = tail(_spoke(reversed(list(before))), MAX_NEXT - len(step) - 10)
    return f"{step}{asked.AFTER}{answered})" if answered else step


def tail(said: Iterable[str], limit: int = MAX_NEXT) -> str:
    """The newest words among ``said``, which is newest first: whole sentences of at most ``limit`` characters, after a
    label "Next:". An end of a few words, such as "Let me find the paths:", follows the end of the message before it."""
    end: list[str] = []
    room = limit
    for text in said:
        for unit in reversed(last_sentences(text, _UNITS)):
            unit = " ".join(unit.replace("**", "").split())
            if end and len(unit) >= room:
                return " ".join(end)
            begins = _BEGINS.match(unit)
            end.insert(0, cut(unit[begins.end() :].strip() if begins else unit, limit))
            room -= len(end[0]) + 1
            if begins:
                return " ".join(filter(None, end))
        if len(" ".join(end).encode()) >= _FEW:
            break
    return " ".join(end)


def last_sentences(text: str, most: int = _READ) -> list[str]:
    """The last sentences, items and headings with a word, without labelled decisions beside them, which say nothing
    about what is left; "Run this:" has the first line of the code at the end."""
    spoken = [*deque((unit for unit in units(text, headings=True) if any(map(str.isalnum, unit))), most)]
    sentences = [unit for unit in spoken if not cues.match(unit, user=False)] or spoken
    code = _CODE.search(text) if sentences and sentences[-1].endswith((":", "：")) else None
    return [*sentences[:-1], f"{sentences[-1]} `{cut(code[1].strip(), _COMMAND)}`"] if code else sentences


def waits(text: str, least: float = _REMAINS) -> bool:
    """Whether an answer leaves work (an action, a question, something unfinished) with ``least`` probability."""
    ends = last_sentences(text)
    return bool(ends) and endings.remains(tuple(ends)) >= least and asked.kind_of_words(text) is not Kind.COURTESY
