"""User replies inside tool results: answers to the agent's questions, and reasons for refusing a call. Clients record
both as results, so no message with the role user holds them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from holdfast.models import Message
from holdfast.text.lazy import Lazy

#: Tools that put questions with options to the user.
_ASKING: Final = frozenset(
    {"askuserquestion", "ask_user_question", "request_user_input", "question", "ask_followup_question"}
)
_ANSWERED: Final = Lazy(r'"((?:[^"]|"(?!=")){3,400})"="((?:[^"]|"(?![,.] | user notes| selected)){1,600})"')
_REFUSED: Final = Lazy(
    r"^The user doesn['’]t want to (?:proceed with|take) this (?:tool use|action).*?the user said:\s*", re.DOTALL
)
#: The client puts advice for the agent after the user's reason.
_ADVICE: Final = "Note: The user's next message may contain"
_CLIENTS_OWN: Final = ("The user wants to clarify these questions.", "[Request interrupted")


class Reply(NamedTuple):
    """``text`` on one line: a question with its answer, or the user's words that ``refuse`` a call."""

    text: str
    refuses: bool = False


def replies(message: Message) -> Iterator[Reply]:
    """The user's replies in a tool's result, in order."""
    if message.role != "tool":
        return
    text = message.text[:20_000]
    if refused := _REFUSED.match(text):
        own = text[refused.end() :].partition(_ADVICE)[0].strip()
        if own and not own.startswith(_CLIENTS_OWN):
            yield Reply(" ".join(own.split()), refuses=True)
    elif message.tool.lower().rpartition("__")[2] in _ASKING or text.startswith("User has answered your question"):
        for question, answer in _ANSWERED.findall(text):
            question = question.rpartition(', "')[2] if question.startswith("user notes") else question
            yield Reply(" ".join(f"{question} {answer}".split()))
