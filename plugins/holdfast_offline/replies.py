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
#: Questions about how to continue the conversation, not about its subject.
_COURSE: Final = Lazy(
    r"^(?:more questions|any (?:more|other)|anything else|what would you like (?:to do|me to)|would you like"
    r"|do you want me"
    r"|shall i|should i (?:proceed|continue|go)|ready to|which areas?\b|where should i (?:write|put|save)"
    r"|(?:which|what) .{1,40}(?:would you like (?:me )?to|do you want me to)"
    r"|(?:which|what|where) .{0,60}\bdo you want to (?:do|start|begin|continue|work|tackle|focus|fix)\b"
    r"|(?:which|what) .{0,60}\b(?:should|shall) (?:i|we) (?:do|start|begin|work|review|tackle|fix|address|look)\b"
    r"|(?:which|what|where) .{0,80}\b(?:first|next|now)\?$"
    r"|(?:does|do|is|are) (?:this|that|these|it|everything|the plan)\b.{0,60}\b(?:look|sound|work|match|capture|correct"
    r"|right|ok(?:ay)?|good|ready|complete)\b"
    r"|.*\b(?:should|shall|would you like me to|do you want me to) (?:i (?:wait|claim|start|continue|proceed|work"
    r"|commit|push|merge|run|open|close|delete|go|first|next)|we (?:start|continue|proceed|stop|wait))\b"
    r"|.*\bhow (?:do|would) you (?:want|like) (?:me )?to\b|.*\b(?:proceed|go ahead)\?"
    r"|.*\b(?:worked? (?:on )?today|spend|budget|approve|needs? (?:your )?approval"
    r"|before i (?:start|dispatch|continue|commit|push))\b"
    r"|does (?:the|this) [\w-]+ (?:\w+ ){0,2}(?:hold|land|look|read|sound)\b"
    r"|do you (?:already |still )?(?:know|have|remember)\b|is there\b|(?:can|may|could) i\b|what should (?:i|we) \w+\?"
    r"|ready (?:for|to)\b|(?:did|have|has) (?:the|you|it|this|that)\b|can you\b|.*\bbefore continuing\b"
    r"|what(?:['’]s| is) (?:your current|already)\b|.*\bwh(?:at|ich)\b.{0,40} do you (?:already )?have\b"
    # Which of what is known only to the talk before.
    r"|.*\bwhich (?:approach|direction|option|one|way)\?$|commit (?:with|now|this|these|the|it)"
    r"|how should (?:i|we) (?:proceed|continue|start|commit|deliver|push|merge)"
    r"|how should (?:the|this) (?:plan|document|report|pr|issue)s?\b"
    r"|how should (?:this|these|the) [\w -]{1,30}be (?:committed|delivered|pushed|merged)"
    r"|what(?:['’]s| is) next|continue\b|proceed\b|.*\bscope\b"
    # The repair of what just happened, and the parts of a draft.
    r"|how (?:do|should|would|shall) (?:i|we|you) (?:fix|clean|undo|revert|recover|repair|correct)\b"
    r"|(?:which|what) .{0,80}\b(?:needs?|wants?) (?:rework|work|chang\w+|fixing|(?:to be )?(?:installed|removed))\b"
    r"|(?:which|what) .{0,60}\bdo you want (?:installed|removed|deleted|fixed|changed|included)\b)",
    re.IGNORECASE,
)
#: A sentence that asks about the subject begins with such a word. "Create the labels now?" proposes an action.
_ASKS: Final = Lazy(
    r"(?:.*[,:—–-] )?(?:(?:and|but|so|for|in|on|to|at|from|with|by|under|until|about|of) )?"
    r"(?:wh(?:at|ich|ere|en|o|ose|om|y)|how|should|must|may|can|could|would|will|do|does|is|are)\b|.*\bor\b",
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
    r"|\bdon['’]t (?:understand|get)\b|\bi['’]m (?:thinking|not sure)\b|\?(?:\s|$)",
    re.IGNORECASE,
)


#: A shorter question, or a question about "the change", needs the talk before it.
_LEAST_WORDS: Final = 5
_LEANS: Final = Lazy(
    r"\b(?:this|that|these|those) (?:change|note|fix|file|commit|issue|bug|branch|pr|task|document)s?\b|\bthe change\b",
    re.IGNORECASE,
)
#: A longer answer is a discussion. It is quoted under "The user said".
_MAX_ANSWER: Final = 300
#: A shorter answer that settles nothing is not quoted.
_MIN_DISCUSSION: Final = 60


class Reply(NamedTuple):
    """``text`` on one line: a question with its answer, or the user's words. ``decides``: whether it settles a
    question. ``refuses``: whether it refused a call. ``discusses``: whether it says much without settling the
    question."""

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
            asking = [sentence for sentence in sentences(question) if sentence.endswith("?")] or [question]
            # "The plan is ready. What would you like to do next?" asks in its last sentence.
            course = any(map(_COURSE.match, (question, *asking)))
            short = len(question.split()) < _LEAST_WORDS and " or " not in question
            leans = len(asking) == 1 and (short or _LEANS.search(question) is not None)
            # The filters know English only. An answer in another language is quoted.
            settles = any(map(_ASKS.match, asking)) and not _NO_CHOICE.search(answer)
            decides = settles and not (course or leans) and len(answer) <= _MAX_ANSWER
            discusses = not (course or decides) and (len(answer) >= _MIN_DISCUSSION or not answer.isascii())
            yield Reply(f"{question} {answer}", decides=decides, discusses=discusses)


def said(messages: Iterable[Message]) -> Iterator[tuple[Message, str]]:
    """Messages with a reply, each with its text, except replies to questions about how to continue."""
    for message in messages:
        for reply in replies(message):
            if reply.decides or reply.refuses or reply.discusses:
                yield message, reply.text
