"""A speaker's own words: a message without code, quotations and text inserted by a client or holdfast; the user's
replies in tool results, where clients record answers to the agent's questions and reasons for refusing a call; and
which of the agent's words only repeat a page, a file or a log."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from holdfast.models import Message
from holdfast.text.lazy import Lazy
from holdfast_app.authorship.ownwords import own_lines
from holdfast_app.markdown import marks
from holdfast_app.markdown.lines import HEADING, ITEM, RULE, read_line

#: The punctuation comes first, so the search can skip to it. Abbreviations are checked from there by lookbehind.
_SENTENCE_END: Final = Lazy(
    r"[.!?](?<!\be\.g.)(?<!\bi\.e.)(?<!\betc.)(?<!\bvs.)(?<!^\d.)(?<!^\d\d.)[\"')\]*]*\s+|[。！？][\"'）」』]*\s*"
)
#: A longer list item is read by sentence.
MAX_ITEM_CHARS: Final = 320
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
#: Number of newest messages to search for echoes, and length of the compared statement prefix, in characters.
_MESSAGES: Final = 5_000
_KEY_CHARS: Final = 60
_LEAST_CHARS: Final = 12


def listed(line: str) -> str | None:
    """A list item's text. None for other lines."""
    found = read_line(line)
    return found.text if found.kind == ITEM else None


def sentences(line: str) -> Iterator[str]:
    """Sentences from a line, without its bullet."""
    line, start = listed(line) or line, 0
    for end in _SENTENCE_END.finditer(line, start):
        yield line[start : end.end()].strip()
        start = end.end()
    yield line[start:].strip()


def units(text: str, *, headings: bool = False) -> Iterator[str]:
    """Whole list items, table rows, and paragraphs by sentence, in order, without code, rules, a table's first row and,
    by default, headings."""
    in_table = False
    for line in own_lines(text):
        found = read_line(line)
        if found.text.startswith("|"):
            if in_table:
                yield " · ".join(cell.strip() for cell in found.text.strip("|").split("|") if cell.strip())
            in_table = True
            continue
        in_table = False
        if found.kind == RULE or marks.underline(found.text):
            continue
        is_title = found.kind == HEADING or (found.text[:2] == found.text[-2:] == "**" and found.text.count("**") == 2)
        if is_title:
            if headings:
                yield found.text
        elif found.kind == ITEM and len(line) <= MAX_ITEM_CHARS:
            yield found.text
        else:
            yield from sentences(line)


def clip(text: str, max_chars: int) -> str:
    """``text`` with single spaces, cut at a word to at most ``max_chars``, without an ellipsis."""
    text = " ".join(text.split())
    if len(text) <= max_chars:
        return text
    head = text[: max_chars + 1].rpartition(" ")[0]
    return head if head.strip() else text[:max_chars]


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


def read_by_tools(strings: Iterable[str], said: Sequence[Message]) -> frozenset[str]:
    """The agent's ``strings`` in a tool result in ``said``, oldest first, before the agent or the user says them. They
    were not made in the session. Text that the agent wrote before a tool returned it is its own, and the user's words
    are always the user's."""
    keys = {key: text for text in strings if len(key := _bare(text)[:_KEY_CHARS]) >= _LEAST_CHARS}
    waiting, found = set(keys), set[str]()
    for message in said[-_MESSAGES:] if keys else ():
        body = _bare(message.text)
        held = {key for key in waiting if key in body}
        if not held:
            continue
        if message.role == "user" or any(replies(message)):
            waiting -= held
            found -= held
        elif message.role == "tool":
            found |= held
        else:
            waiting -= held - found
    return frozenset(keys[key] for key in found)


def _bare(text: str) -> str:
    return " ".join(text.replace("*", "").replace("`", "").split()).casefold()
