"""User replies inside tool results: answers to the agent's questions, and reasons for refusing a call. Clients record
both as results, so no message with the role user holds them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from holdfast.models import Message
from holdfast.text.lazy import Lazy
from holdfast_app.offline.conversation import picks
from holdfast_app.offline.speech import sentences

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
#: Asks what a thing should do: "Where should the cache live?". "Where should I put it?" asks about the work, "What
#: should happen to the file?" and "Which file should be sent?" are about a single occasion, and "What should be the
#: format?" and "Should there be checks?" name no thing. Other questions ("Which approach?", "Is it broken?") ask for a
#: wish or for help as often as for a decision.
_SETTLES: Final = Lazy(
    r"\b(?<!\bwhat )should\b(?! (?:i|we|you|there)\b)|\bwhat should\b(?! (?:i|we|you|there|be|happen (?:to|with))\b)",
    re.IGNORECASE,
)
#: "How should it read the index?" names no thing, either.
_PRONOUN: Final = Lazy(r"(?:\w+ )?should (?:it|they)\b", re.IGNORECASE)
_PICKS: Final = Lazy(r"\bwhich\b(?: [^\s?,;]+){1,6} should\b", re.IGNORECASE)
_PERSON: Final = Lazy(r"\b(?:i|me|my|we|us|our|you|your)\b", re.IGNORECASE)
#: A question about "this change" needs the talk before it.
_POINTS: Final = Lazy(r"\b(?:this|that|these|those|here|now)\b", re.IGNORECASE)
#: Minimum number of words, because a shorter question needs the talk, too.
_LEAST_WORDS: Final = 7
#: The same for an option that was picked by its letter, with and without a question, or in characters of a script
#: without blanks. Without a question it has to be a whole sentence: "soft delete (hide it)" needs the talk before it.
_LEAST_OPTION_WORDS: Final = (4, 8)
_LEAST_WIDE: Final = 12
_WIDE: Final = Lazy(r"[\u3040-\u30ff\u3400-\u9fff]")
#: Answers that say something only if the question names the alternatives.
_QUANTITY: Final = Lazy(r"(?:both|all|any|either|neither|none|other)\b(?: \S+){0,4}", re.IGNORECASE)
#: Answers that leave the choice to the agent.
_NO_CHOICE: Final = Lazy(
    r"(?:you decide|up to you|your (?:call|choice)|not sure|i don['’]t know|no preference|skip|no answer|whatever)\b",
    re.IGNORECASE,
)
#: A longer answer is a discussion. It is quoted under "The user said".
_MAX_ANSWER: Final = 80


class Reply(NamedTuple):
    """``text`` on one line: a question with its answer, or the user's words. ``decides``: whether it settles a
    question. ``refuses``: whether it refused a call."""

    text: str
    decides: bool = False
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
            question, answer = (" ".join(part.split()) for part in (question, answer))
            yield Reply(f"{question} {answer}", decides=_decides(question, answer))


def _decides(question: str, answer: str) -> bool:
    """Whether the answer settles what a thing should do, in words that are understandable alone. English only."""
    asking = [sentence for sentence in sentences(question) if sentence.endswith("?")] or [question]
    if len(question.split()) < _LEAST_WORDS or len(answer) > _MAX_ANSWER or "?" in answer or _PERSON.search(answer):
        return False
    if _POINTS.search(question) or _POINTS.search(answer):
        return False
    if _NO_CHOICE.match(answer) or (_QUANTITY.fullmatch(answer) and " or " not in question):
        return False
    return all(_SETTLES.search(ask) and not _names_nothing(ask) for ask in asking)


def settles(option: picks.Option) -> bool:
    """Whether an option that the user picked by its letter says what was decided, without the other options."""
    least = _LEAST_OPTION_WORDS[not option.question]
    long = len(option.text.split()) >= least or len(_WIDE.findall(option.text)) >= _LEAST_WIDE
    whole = bool(option.question) or option.text.endswith((".", "。"))
    return option.row and long and whole and not (_POINTS.search(option.text) or _PERSON.search(option.text))


def _names_nothing(ask: str) -> bool:
    return bool(_PRONOUN.match(ask) or _PICKS.search(ask) or _PERSON.search(ask))


def said(messages: Iterable[Message]) -> Iterator[tuple[Message, str]]:
    """Messages with a reply, each with its text."""
    for message in messages:
        for reply in replies(message):
            yield message, reply.text
