"""Side questions: asked and answered while work is open, without a tool. Like thanks, they change nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from holdfast.text import asked, ending

if TYPE_CHECKING:
    from holdfast.models import Message

_QUESTION: Final = re.compile(r"[?？]\W*$")
#: Maximum length of a side question. A longer request is a task, even with a question mark at the end.
_MAX_CHARS: Final = 300


def without(messages: Sequence[Message], *, was_open: bool = False) -> Sequence[Message]:
    """``messages`` without trailing side questions if work was open before them; otherwise unchanged.

    ``was_open`` is true if work was open before the first message. Then the result can be empty, because no message
    changes the work.
    """
    end = len(messages)
    while (start := _last_turn(messages, end)) >= 0 and _is_aside(messages[start:end]):
        end = start
    if end == len(messages):
        return messages
    before = messages[:end]
    state = ending.of(before).open
    return before if state or (state is None and was_open) else messages


def _last_turn(messages: Sequence[Message], end: int) -> int:
    """Start index of the last turn before ``end``; -1 when there is none."""
    return next((at for at in range(end - 1, -1, -1) if messages[at].role == "user"), -1)


def _is_aside(turn: Sequence[Message]) -> bool:
    """Whether a turn is only thanks or an answered question."""
    own = asked.own_words(turn[0].text)
    kind = asked.kind_of_words(own)
    if kind in (asked.Kind.COURTESY, asked.Kind.NOTHING):
        return not any(m.tool for m in turn)
    question = kind is asked.Kind.REQUEST and len(own) <= _MAX_CHARS and bool(_QUESTION.search(own))
    answers = [m for m in turn[1:] if m.role == "assistant"]
    return question and bool(answers) and not any(m.tool for m in turn) and not ending.announced(answers[-1].text)
