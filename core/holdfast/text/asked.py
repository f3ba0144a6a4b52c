"""The user's own words, in a message with the role user, without text added by a client, an editor or a harness.
Greetings, thanks and "go on" are not requests.

Applied when fields are derived, not when messages are journalled, so the journal keeps the original message.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from itertools import islice
from typing import TYPE_CHECKING, Final

from holdfast.text import courtesy
from holdfast.text.lazy import Lazy

if TYPE_CHECKING:
    from holdfast.models import Message

#: Maximum searched length of one message, in characters. The rest is a pasted file.
MAX_CHARS: Final = 200_000

#: Blocks that the user did not type.
_BLOCKS: Final = (
    "ide_selection", "ide_opened_file", "ide_diagnostics", "system_reminder", "task-notification",
    "bash-stdout", "bash-stderr", "bash-input", "local-command-stdout", "local-command-stderr",
    "local-command-caveat", "command-message", "command-contents", "user-prompt-submit-hook",
    "environment_context", "environment_details", "user_instructions", "permissions", "skill", "skills_instructions",
    "turn_aborted", "subagent_notification", "collaboration_mode", "INSTRUCTIONS", "uploaded_files", "user_info",
    "additional_data", "open_and_recently_viewed_files", "attached_files", "rules", "git_status", "image",
    "teammate-message", "new-diagnostics", "thinking", "context_window", "hook_context", "budget",
)  # fmt: skip
_BLOCK: Final = Lazy(
    rf"<({'|'.join(_BLOCKS)})\b[^<>]{{0,400}}>.*?(?:</\1(?:\s[^<>]{{0,40}})?>|\Z)", re.DOTALL | re.IGNORECASE
)
_INJECTED: Final = Lazy(r"<(/?)(recalled-memory|system-reminder)\b[^<>]{0,500}>", re.IGNORECASE)
#: Tags around the user's typed text, in pairs or alone.
_TAG: Final = Lazy(
    r"</?(?:user_query|user_message|task|feedback|issue_description|pr_description|issue|problem_statement|image|images"
    r"|instructions|question|request|command-name|command-args|answer|followup_question)\b[^<>]{0,200}>",
    re.IGNORECASE,
)
_COMMAND: Final = Lazy(r"<command-(name|args)>(.*?)</command-\1>", re.DOTALL)
#: The client or the harness wrote everything before these.
_REQUEST_FOLLOWS: Final = Lazy(
    r"^#{1,3} My request for Codex:?[ \t]*$|<user_query>|<issue_description>|<pr_description>|<problem_statement>"
    r"|^ISSUE:[ \t]*$|^Task Description:|^ARGUMENTS:|^(?:# )?Task Instruction:|here'?s the issue text:",
    re.MULTILINE | re.IGNORECASE,
)
#: They also wrote everything from these on. Each was seen in recordings of a client or a benchmark harness.
_REQUEST_ENDS: Final = Lazy(
    r"</(?:issue_description|pr_description|problem_statement|user_query)>|^INSTRUCTIONS:[ \t]*$|^\(Open file: "
    r"|^\(Current directory: |^bash-\$[ \t]*\Z|^# Instructions\s*\n+# ?#? ?Task Instructions"
    r"|^Can you help me implement the necessary changes to the repository"
    r"|^Current terminal state:|^The current terminal (?:state|screen)",
    re.MULTILINE,
)
#: Every match for the two expressions above contains a string listed here, in lower case, or a tag.
_REQUEST_WORDS: Final = (
    "my request for codex", "issue:", "task description:", "arguments:", "instruction", "issue text:", "(open file: ",
    "(current directory: ", "bash-$", "can you help me implement", "current terminal",
)  # fmt: skip
#: Messages not written by the user.
_NOT_SAID: Final = (
    "# AGENTS.md instructions", "Caveat: The messages below were generated", "Stop hook feedback:",
    "This session is being continued from a previous conversation", "Base directory for this skill:",
    "Your task is to create a detailed summary of the conversation", "[Request interrupted by user",
    "Please continue the conversation from where we left it off", "OBSERVATION:", "Observation:", "<returncode>",
    "EXECUTION RESULT of [", "New Terminal Output:", "Current terminal state:", "Another language model started",
    "[SYSTEM NOTIFICATION", "PreToolUse:", "PostToolUse:", "UserPromptSubmit hook", "SETTING: You are",
    "You have been handed off", "<response clipped>", "Your command ran successfully and did not produce",
    "[image] image_url:", "[row ", "caller.type:", "[a text was withheld",
)  # fmt: skip
_HINT: Final = Lazy(
    r"^\[(?:image|file)\][^\n]*(?:\n(?:mime|filename|url|type|source)[\w.]*: [^\n]*)*$"
    r"|^# Context from my IDE setup:[ \t]*$|\[(?:Image|Pasted text|Attached|image)\b[^\[\]\n]{0,200}\]"
    r"|^> Tokens: .*$|^Tokens: [\d.]+k? sent.*$",
    re.MULTILINE,
)
#: The same for the hints.
_HINT_WORDS: Final = ("[", "tokens: ", "# context from my ide setup:")
_ANSI: Final = Lazy(r"\x1b\[[0-9;?]{0,20}[A-Za-z]|\x1b\][^\x07\x1b]{0,200}(?:\x07|\x1b\\)")
_FENCE: Final = Lazy(r"^[ \t]*(`{3,}|~{3,})[^\n]*\n.*?(?:^[ \t]*\1[`~]*[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_CONTROL: Final = Lazy(r"/[a-z][\w:-]*\s*\Z")
#: A line from a log, a listing, code or a stack trace, not prose.
_PASTED: Final = Lazy(
    r"\s*(?:at \S+ ?[(:]|File \"|Traceback |\d{4}-\d\d-\d\d[T ]|\d\d:\d\d:\d\d|\[\d|[{}\[\]()<>|]|\+\+\+|---|@@"
    r"|[-+]{1,2}[ \t]{4,}|\$ |>>> |npm (?:ERR|WARN)|error\[|(?:warning|Error):|/[\w.-]+/[\w./-]+\s*\Z"
    r"|[\w-]{2,30} {3,}\S|\S{1,40}@\S{1,60}[ :]\S{0,80} ?[%$#] |import \w+[;,.]|from \w+ import "
    r"|def \w+\(|const \w+ =|function \w*\(|[│├└╰╭┌])|[^=(]*[=(].*[;{]\s*\Z"
)


#: Minimum length of a request that is clear on its own.
_SHORT_CHARS: Final = 30
#: The beginning of a request that corrects the previous one.
_CORRECTS: Final = Lazy(
    r"(?:no|nope|stop|wait|actually|instead|rather|nein|doch|halt|stopp|moment|non|не|нет)\b(?=[ ,.!:;–—-])"
    r"|(?:don['’]?t|do not) (?:use|do|touch|change)\b",
    re.IGNORECASE,
)
#: The beginning of a request that answers the agent's question.
_ANSWERS: Final = Lazy(r"(?:yes|yeah|yep|yup|sure|ok(?:ay)?)\b", re.IGNORECASE)
#: Maximum length of a request that only picks a list item.
_PICK_CHARS: Final = 80
_PICK: Final = Lazy(
    r"(?:(?:ok(?:ay)?|yes|so|and|let['’]?s|i['’]?d|i would)[, ]+)*"
    r"(?:(?:do|go with|take|start with|try|pick|choose|fix|say)[, ]+)?"
    r"(?:the )?(?:option|number|item|no\.|#|todo|task|issue )? ?#?(\d{1,2})(?![\d.]*\w)(?![.)] \S)",
    re.IGNORECASE,
)
#: A table row or list entry; its number replaces ``{0}``.
_ITEM: Final = r"^[ \t]*(?:[-*] )?(?:\|[ \t]*#?{0}[ \t]*\||\**(?:Option )?{0}[.):]\**[ \t])(.+)$"


class Kind(Enum):
    """Kinds of user messages."""

    REQUEST = "request"
    ASSENT = "assent"
    """Approves the agent's proposal without adding anything."""
    COURTESY = "courtesy"
    """A greeting or thanks."""
    STATEMENT = "statement"
    """Labelled information to keep, like "remember: ...", without a request."""
    NOTHING = "nothing"
    """Not said by the user."""


_PARTS: Final = Lazy(
    r"(?<=[.!?;])\s+|\n+|,\s+(?=(?:i |we )?(?:gotta|got to|have to|see you|bis |hasta |until |that['’]?s (?:all|it)))"
)
_LABELLED: Final = Lazy(
    r"\W*(?:next(?: steps?)?|to-?dos?|remember|note|decisions?|decided|blocked|blockers?|waiting for|fyi|correction"
    r"|follow[- ]?ups?|for the record|keep in mind|remind me to)\b"
    r"(?:[*_]*\s*[:—–]|(?<=remind me to)|(?<=the record)| that\b)",
    re.IGNORECASE,
)
#: Questions about the current status.
_STATUS: Final = Lazy(
    r"\W*(?:so,? )?(?:where (?:do|are) we(?: stand)?(?: now)?"
    r"|what(?:['’]s| is) (?:the )?(?:status|state|next|left)(?: now)?|how(?:['’]s| is) it going|status"
    r"|are you (?:done|finished|still there)|what(?:['’]s| is) going on)\W*$",
    re.IGNORECASE,
)
_FAREWELL: Final = Lazy(rf"\W*(?:{courtesy.FAREWELL})\W*$", re.IGNORECASE)
_WORD: Final = Lazy(r"[^\W\d_]+(?:['’-][^\W\d_]+)*|\d+")
_LEADING: Final = Lazy(
    r"^(?:(?:hi|hello|hey|thanks|thank you|thx|great|good|nice|cool|perfect|awesome|excellent|ok|okay|yes|yeah|alright)"
    r"(?: (?:there|all|so much|a lot|very much|job|work|catch|point|idea|find|claude|codex))?\s*[,.!:;–—-]+\s*)+(?=\S)",
    re.IGNORECASE,
)


def own_words(text: str) -> str:
    """``text`` without the blocks, tags and notices around the user's typed text; empty when nothing remains."""
    text = text[:MAX_CHARS]
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    text = text.strip()
    if text.startswith(_NOT_SAID):
        return ""
    if text.startswith("<command-"):
        found = dict(_COMMAND.findall(text))
        arguments = found.get("args", "").strip()
        return f"{found.get('name', '').strip()} {arguments}".strip() if arguments else ""
    tagged = "<" in text
    if tagged:
        text = _BLOCK.sub("\n", "\n".join(outside(text)))
    start = 0
    lower = text.lower()
    if tagged or any(word in lower for word in _REQUEST_WORDS):  # most messages contain none of them
        mark = _REQUEST_FOLLOWS.search(text)
        while (mark and not text[start : mark.start()].strip()) or (mark and not start):
            start = mark.end()
            mark = _REQUEST_FOLLOWS.search(text, start)
        text = text[start:]
        ends = _REQUEST_ENDS.search(text)
        if ends and text[: ends.start()].strip():
            text = text[: ends.start()]
    if tagged:
        text = _TAG.sub("", text)
    if any(word in lower for word in _HINT_WORDS):
        text = _HINT.sub("", text)
    text = text.strip()
    return "" if text.startswith(_NOT_SAID) or (start == 0 and text.startswith("## Open tabs:")) else text


def outside(text: str) -> Iterator[str]:
    """The parts of ``text`` outside recalled memory and client reminders. Blocks may nest, so text inside a block
    cannot close it. An unclosed block extends to the end."""
    depth = start = 0
    for tag in _INJECTED.finditer(text):
        if not tag[1]:
            if depth == 0:
                yield text[start : tag.start()]
            depth += 1
        elif depth:
            depth -= 1
            start = tag.end()
    if depth == 0:
        yield text[start:]


def kind(text: str) -> Kind:
    """Classify the message ``text``, as sent."""
    return kind_of_words(own_words(text))


def kind_of_words(own: str) -> Kind:
    """The same for a string returned by :func:`own_words`."""
    if not own or not any(c.isalnum() for c in own) or _CONTROL.fullmatch(own):
        return Kind.NOTHING
    if len(own) > 600:
        return Kind.REQUEST
    kinds = set()
    for part in _PARTS.split(own):
        if part.strip():
            kinds.add(_part_kind(part))
            if Kind.REQUEST in kinds:
                return Kind.REQUEST
    return next((one for one in (Kind.ASSENT, Kind.COURTESY, Kind.STATEMENT) if one in kinds), Kind.NOTHING)


def _part_kind(part: str) -> Kind:
    first = _WORD.search(part)
    if first is None:
        return Kind.NOTHING
    if _LABELLED.match(part):
        return Kind.STATEMENT
    if _STATUS.match(part):
        return Kind.ASSENT
    if _FAREWELL.match(part):
        return Kind.COURTESY
    if first[0].lower() not in courtesy.SAYS_NOTHING:
        return Kind.REQUEST
    words = [word.lower() for word in _WORD.findall(part)]
    if all(w in courtesy.COURTESY for w in words) and (
        words[0] in ("no", "nope", "that's", "thats") or courtesy.POLITE & set(words)
    ):
        return Kind.COURTESY
    return Kind.ASSENT if all(w in courtesy.SAYS_NOTHING for w in words) else Kind.REQUEST


def requests(messages: Iterable[Message]) -> Iterator[tuple[Message, str]]:
    """The requests, oldest first, each with the user's own words."""
    for message in messages:
        if message.role == "user":
            own = own_words(message.text)
            if kind_of_words(own) is Kind.REQUEST:
                yield message, own


def newest_requests(messages: Sequence[Message], count: int) -> list[tuple[Message, str]]:
    """The newest ``count`` requests, oldest first. Reads only the messages it needs."""
    found = list(islice(requests(reversed(messages)), count))
    return found[::-1]


def headline(own: str, limit: int) -> str:
    """The request in at most ``limit`` characters on one line: its prose, without pasted code and logs.

    A long request keeps its beginning and, if it fits, its last paragraph, because people put the question after pasted
    text.
    """
    prose = paragraphs(own)
    if not prose:
        prose = [" ".join(own.split())]
    whole = _LEADING.sub("", " ".join(prose)) or " ".join(prose)
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
        kept = [line for line in lines if not is_pasted(line)]
        if kept and len(kept) * 2 >= len(lines):
            found.append(" ".join(" ".join(kept).split()))
        elif kept and len(kept[0].split()) >= 3:  # a sentence, followed by pasted text
            found.append(" ".join(kept[0].split()))
    return found


def is_pasted(line: str) -> bool:
    """Whether a line looks like part of a log, a listing or code."""
    return bool(_PASTED.match(line[:300]))


def objective(messages: Sequence[Message], limit: int) -> str:
    """The last request in at most ``limit`` characters. A request of a few words ("push"), a correction or a request
    during a turn is followed in brackets by the request that it belongs to. Empty without a request."""
    last = newest_requests(messages, 2)
    if not last:
        return ""
    text = headline(last[-1][1], limit)
    if len(text) <= _PICK_CHARS and (item := _picked(messages, *last[-1])):
        return f"{text} ({cut(item, limit - len(text) - 3)})"
    steering = _steering(messages)
    if len(last) == 1:
        return text
    during = last[-1][0].id in steering
    correction = len(text) <= limit * 2 // 3 and _CORRECTS.match(text) is not None
    if len(text) > _SHORT_CHARS and not (during or correction):
        return text
    asks = list(requests(messages))[:-1]
    began = next((own for message, own in reversed(asks) if _stands_alone(message, own, steering)), asks[0][1])
    text = cut(text, limit * 2 // 3)
    return f"{text} (after: {headline(began, limit - len(text) - 10)})"


def _stands_alone(request: Message, own: str, steering: set[str]) -> bool:
    """Whether a request neither adds to the previous one, nor corrects it, nor answers a question."""
    return request.id not in steering and not (_CORRECTS.match(own) or _ANSWERS.match(own))


def _steering(messages: Iterable[Message]) -> set[str]:
    """The ids of messages that the user sent during a turn. A request among them adds to the previous request or
    replaces it."""
    found: set[str] = set()
    working = False
    for message in messages:
        if message.role == "user":
            if working:
                found.add(message.id)
        elif message.role in ("assistant", "tool") and message.tool != "thinking":
            working = bool(message.tool) or message.role == "tool"
    return found


def _picked(messages: Sequence[Message], request: Message, own: str) -> str:
    """The item in the last answer's list that a request like "2" or "let's do 5" picks, or empty."""
    number = _PICK.match(own)
    if not number:
        return ""
    found = ""
    for message in messages:
        if message is request:
            break
        if message.role == "assistant" and not message.tool:
            item = re.search(_ITEM.format(number[1]), message.text[-MAX_CHARS:], re.MULTILINE)
            found = item[1] if item else ""
    return " · ".join(cell.strip() for cell in found.replace("**", "").strip("| ").split("|") if cell.strip())


def cut(text: str, limit: int) -> str:
    """``text`` on one line of at most ``limit`` characters, cut at a word and ended with an ellipsis."""
    text = " ".join(text.split())
    if len(text) <= limit:
        return text
    head = text[: limit - 1].rpartition(" ")[0] or text[: limit - 1]
    return head.rstrip(" ,;:") + "…"


def source(message: Message) -> str:
    """A message id's first characters, enough to find the message in the journal."""
    return message.id.removeprefix("hook-").removeprefix("row-")[:8]


def spoken(messages: Sequence[Message]) -> list[Message]:
    """The messages from people, agents and tools, without system rows and model thoughts, and without other fields of a
    row, which a newer client may add."""
    return [
        m
        for m in messages
        if m.role in ("user", "assistant", "tool") and m.tool != "thinking" and not m.id.endswith("#rest")
    ]
