"""User replies inside tool results: answers to the agent's questions, and reasons for refusing a call. Clients record
both as results, so no message with the role user holds them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from holdfast.models import Message
from holdfast.text.lazy import Lazy
from holdfast_offline.speech import sentences

#: Tools that put questions with options to the user.
_ASKING: Final = frozenset(
    {"askuserquestion", "ask_user_question", "request_user_input", "question", "ask_followup_question"}
)
_ANSWERED: Final = Lazy(r'"((?:[^"]|"(?!=")){3,400})"="((?:[^"]|"(?![,.] | user notes| selected)){1,600})"')
_REFUSED: Final = Lazy(
    r"^The user doesn['’]t want to (?:proceed with|take) this (?:tool use|action).*?the user said:\s*", re.DOTALL
)
_CLIENTS_OWN: Final = ("The user wants to clarify these questions.", "[Request interrupted")
#: A sentence that asks about the subject begins with such a word. "Create the labels now?" proposes an action.
_ASKS: Final = Lazy(
    r"(?:.*[,:—–-] )?(?:(?:and|but|so|for|in|on|to|at|from|with|by|under|until|about|of) )?"
    r"(?:wh(?:at|ich|ere|en|o|ose|om|y)|how|should|must|may|can|could|would|will|do|does|is|are)\b|.*\bor\b",
    re.IGNORECASE,
)
#: Words of a question about the course of the work, or about the repair of what just happened.
_COURSE: Final = Lazy(
    r"\b(?:planning|the plan|milestones?|sprint|phase|discovery|actions?|scope|priority|focus|thorough|organi[sz]ed"
    r"|today|proceed|continue|continuing|go ahead|start|begin|commit(?:ted)?|push(?:ed)?|merged?|deliver(?:ed)?"
    r"|approv\w+|budget|spend|ready|more questions"
    r"|(?:any|what) other|anything else|tackle|broken|fix(?:ed)?|clean|undo|revert|recover|repair"
    r"|correct|rework|which (?:approach|direction|option|one|way)\?|(?:look|sound|read)s? (?:right|good|ok(?:ay)?))\b"
    r"|\b(?:first|next|now)\?",
    re.IGNORECASE,
)
#: A question to the user about the user or the agent asks for help or for a wish more often than for a decision.
_PERSON: Final = Lazy(r"\b(?:i|me|my|you|your|us|our)\b", re.IGNORECASE)
_CHOOSES: Final = Lazy(r"\b(?:which|what) [\w /-]+ do you (?:want|prefer) (?:to use|for)\b", re.IGNORECASE)
#: A question about "this change" needs the talk before it.
_LEANS: Final = Lazy(
    r"\b(?:this|that|these|those|here)\b(?! (?:repo|repository|project|codebase|app)\b)|\bthe change\b",
    re.IGNORECASE,
)
#: A shorter question does, too.
_LEAST_WORDS: Final = 5
#: Answers that say something only together with the options.
_VAGUE: Final = Lazy(
    r"(?:both|all|either|neither|none|hybrid|standard|quick|other)(?: options| of the above| approach)?"
    r"(?: \(recommended\))?|all equally\b.*|describe\b.*",
    re.IGNORECASE,
)
#: Answers that leave the choice to the agent, postpone it, or ask a question.
_NO_CHOICE: Final = Lazy(
    r"^(?:you decide|up to you|your (?:call|choice)|either|not sure|i don['’]t know|no preference|skip|other|hm+\b"
    r"|depends\b|let me think|no answer|we already|this is the|looks (?:good|right|fine|correct)|approved?\b|proceed\b"
    r"|close,|not quite|let me\b|no / not sure|revise\b|confirm\b|wait\b"
    r"|let['’]?s (?:just )?(?:work|focus|do)\b|focus on\b|idk\b|i feel like\b|this should|(?:re)?start now\b"
    r"|continue\b|done\b|(?:run |use )?/[\w:-]+$"
    # A leaning, a doubt and a wish to know more settle nothing.
    r"|(?:it )?depends\b|(?:could|can|would) you\b|initial\b)|\bleaning\b|\bneed (?:some |a bit )?more\b"
    r"|\b(?:great|good|nice|like|win|fine)\b.{0,80}\bbut\b.{0,40}\b(?:worr(?:y|ied)|fear|guess\w*|unsure|complex\w*)"
    r"|\bpros and cons\b|\badvantages\b|\bcompar(?:e|ison)\b|\bexplain\b|\bcan we\b|\bare our\b|\bhow do we\b"
    r"|\bwould like to know\b|\bremember\b|^(?:yes,? )?(?:push|commit|delete|remove|restore|revert|upload)\b.{0,12}$"
    r"|^not yet\b|^there (?:is|was)\b|\bdon['’]t (?:understand|get)\b|\bi['’]m (?:thinking|not sure)\b|\?(?:\s|$)",
    re.IGNORECASE,
)


#: A longer answer is a discussion. It is quoted under "The user said".
_MAX_ANSWER: Final = 300
#: A shorter answer that settles nothing is not quoted.
_MIN_DISCUSSION: Final = 60


class Reply(NamedTuple):
    """``text`` on one line: a question with its answer, or the user's words. ``decides``: whether it settles a
    question. ``refuses``: whether it refused a call. ``discusses``: whether it is worth quoting without being a
    decision."""

    text: str
    decides: bool
    refuses: bool = False
    discusses: bool = False


def replies(message: Message) -> Iterator[Reply]:
    """The user's replies in a tool's result, in order."""
    if message.role != "tool":
        return
    text = message.text[:20_000]
    if refused := _REFUSED.match(text):
        own = text[refused.end() :].strip()
        if own and not own.startswith(_CLIENTS_OWN):
            yield Reply(" ".join(own.split()), decides=False, refuses=True)
    elif message.tool.lower().rpartition("__")[2] in _ASKING or text.startswith("User has answered your question"):
        for question, answer in _ANSWERED.findall(text):
            question = question.rpartition(', "')[2] if question.startswith("user notes") else question
            question, answer = (" ".join(part.split()) for part in (question, answer))
            yield _answer(question, answer)


def _answer(question: str, answer: str) -> Reply:
    """The user's answer to a question of the agent. It decides only if it is understandable alone, and if the question
    is about the subject, not about how to continue. The filters know English only."""
    asking = [sentence for sentence in sentences(question) if sentence.endswith("?")] or [question]
    choice = " or " in question
    course = any(map(_COURSE.search, asking))
    settles = any(map(_ASKS.match, asking)) and not _NO_CHOICE.search(answer)
    settles = settles and (choice or not _VAGUE.fullmatch(answer))
    alone = all(not (_PERSON.search(ask) and not _CHOOSES.search(ask)) and not _LEANS.search(ask) for ask in asking)
    alone = alone and (choice or len(question.split()) >= _LEAST_WORDS)
    decides = settles and alone and not course and len(answer) <= _MAX_ANSWER
    long = len(answer) >= _MIN_DISCUSSION or not answer.isascii()
    return Reply(f"{question} {answer}", decides=decides, discusses=not (decides or course) and (settles or long))


def said(messages: Iterable[Message]) -> Iterator[tuple[Message, str]]:
    """Messages with a reply, each with its text, except replies to questions about how to continue."""
    for message in messages:
        for reply in replies(message):
            if reply.decides or reply.refuses or reply.discusses:
                yield message, reply.text
