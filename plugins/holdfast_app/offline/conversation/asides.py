"""Side questions: asked and answered while work is open, without a tool. Like thanks, they change nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from holdfast_app.authorship.ownwords import own_words
from holdfast_app.offline.conversation import asked, ending

if TYPE_CHECKING:
    from holdfast.models import Message

_QUESTION: Final = re.compile(r"[?？]\W*$")
#: Maximum length of a side question. A longer request is a task, even with a question mark at the end.
_MAX_CHARS: Final = 300
#: The same for a question after the work was finished. A longer one may begin the next task.
_MAX_AFTER: Final = 120


def without(messages: Sequence[Message], *, was_open: bool = False) -> Sequence[Message]:
    """``messages`` without trailing side questions if work was open before them; otherwise unchanged.

    After a turn with tool calls that finished its work, one short question with its answer is a side question, too.
    ``was_open`` is true if work was open before the first message. Then the result can be empty, because no message
    changes the work.
    """
    end = len(messages)
    questions = 0
    while (start := _last_turn(messages, end)) >= 0 and _is_aside(messages[start:end]):
        questions += len(own_words(messages[start].text)) if _asks(messages[start]) else 0
        end = start
    if end == len(messages):
        return messages
    before = messages[:end]
    state = ending.of(before).open
    if state or (state is None and was_open):
        return before
    done = before[max(_last_turn(before, end), 0) :]
    finished = state is False and any(m.tool for m in done)
    return before if finished and questions <= _MAX_AFTER and not ending.of(messages).open else messages


def _last_turn(messages: Sequence[Message], end: int) -> int:
    """Start index of the last turn before ``end``; -1 when there is none."""
    return next((at for at in range(end - 1, -1, -1) if messages[at].role == "user"), -1)


def _is_aside(turn: Sequence[Message]) -> bool:
    """Whether a turn is only thanks or an answered question."""
    own = own_words(turn[0].text)
    if any(m.tool for m in turn):
        return False
    if asked.kind_of_words(own) in (asked.Kind.COURTESY, asked.Kind.NOTHING):
        return True
    answers = [m for m in turn[1:] if m.role == "assistant"]
    question = _asks(turn[0]) and len(own) <= _MAX_CHARS
    return question and bool(answers) and not ending.announced(answers[-1].text)


def _asks(message: Message) -> bool:
    own = own_words(message.text)
    return asked.kind_of_words(own) is asked.Kind.REQUEST and bool(_QUESTION.search(own[-_MAX_CHARS:]))
