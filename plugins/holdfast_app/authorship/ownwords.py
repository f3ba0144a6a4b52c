"""The user's own words, in a message with the role user, without text added by a client, an editor or a harness.

Applied when a message is judged, not when it is journalled, so the journal keeps the original message.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

from holdfast.models import Turn
from holdfast.text.lazy import Lazy
from holdfast_app.authorship import hostile
from holdfast_app.authorship.strangers import directs, sentences
from holdfast_app.markdown import marks
from holdfast_app.records.ownlines import is_filler
from holdfast_app.sentences import lasting

#: Maximum searched length of one message, in characters. The rest is a pasted file.
MAX_CHARS: Final = 200_000

#: Blocks that a client fills with text of files, tools and people. That text may hold their tags.
_FILLED: Final = (
    "ide_selection", "ide_diagnostics", "new-diagnostics", "attached_files", "additional_data", "uploaded_files",
    "persisted-output", "mcp-resource", "webhook-payload", "github-webhook-activity", "task-notification",
)  # fmt: skip
#: Blocks that the user did not type.
_BLOCKS: Final = (
    *_FILLED, "ide_opened_file", "system_reminder", "bash-stdout", "bash-stderr", "bash-input", "local-command-stdout",
    "local-command-stderr", "local-command-caveat", "command-message", "command-contents", "user-prompt-submit-hook",
    "environment_context", "environment_details", "user_instructions", "permissions", "skill", "skills_instructions",
    "turn_aborted", "subagent_notification", "collaboration_mode", "INSTRUCTIONS", "user_info",
    "open_and_recently_viewed_files", "rules", "git_status", "image", "teammate-message", "session-start-hook",
    "thinking", "context_window", "hook_context", "budget", "user_shell_command", "user_action", "channel",
    "cross-session-message", "coordinator-task", "fork-boilerplate", "blockquote",
)  # fmt: skip
_BLOCK: Final = Lazy(
    rf"<({'|'.join(_BLOCKS)})\b[^<>]{{0,400}}>.*?(?:</\1(?:\s[^<>]{{0,40}})?>|\Z)", re.DOTALL | re.IGNORECASE
)
#: A tag with attributes, alone on its line. What it holds is data with a name, like a file.
_DATA: Final = Lazy(r"^[ \t]*<([\w-]+)(?:[ \t]+[\w:-]+=(?:\"[^\"<>\n]*\"|'[^'<>\n]*'))+[ \t]*>[ \t]*$", re.MULTILINE)
_MOST_NAMES: Final = 50
_INJECTED: Final = Lazy(r"<(/?)(recalled-memory|system-reminder)\b[^<>]{0,500}>", re.IGNORECASE)
#: Tags around the user's typed text, in pairs or alone.
_TAG: Final = Lazy(
    r"</?(?:user_query|user_message|task|feedback|issue_description|pr_description|issue|problem_statement|image|images"
    r"|instructions|question|request|command-name|command-args|answer|followup_question|pasted_content)\b[^<>]{0,200}>",
    re.IGNORECASE,
)
_COMMAND: Final = Lazy(r"<command-(name|args)>(.*?)</command-\1>", re.DOTALL)
#: A command's template, sent as the user's message, with the words typed after the command between these two.
_TYPED: Final = "## User Input"
_TYPED_END: Final = "You **MUST** consider the user input"
_DESCRIBED: Final = Lazy(r"---\n(?:[\w-]+:.*\n){0,9}?description:[ \t]*(\S.*)")
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
    "[image] image_url:", "[row ", "caller.type:", "[a text was withheld", "Read HEARTBEAT.md if it exists",
    "The previous attempt did not produce a user-visible answer", "This is the Gemini CLI. We are setting up",
    "A new session was started via /new or /reset",
)  # fmt: skip
_HINT: Final = Lazy(
    r"^\[(?:image|file|media|container_upload|video(?:_url)?|(?:input_)?audio)\][^\n]*"
    r"(?:\n(?:mime|file|url|type|source|image_?[uU]rl|video_url|input_audio|detail|base64|data)[\w.]*:[^\n]*)*$"
    r"|^# Context from my IDE setup:[ \t]*$|\[(?:Image|Pasted text|Attached|image)\b[^\[\]\n]{0,200}\]"
    r"|^> Tokens: .*$|^Tokens: [\d.]+k? sent.*$",
    re.MULTILINE,
)
#: The same for the hints.
_HINT_WORDS: Final = ("[", "tokens: ", "# context from my ide setup:")
#: A chat gateway's additions to a message: its time and sender in brackets, its id, its own events and notes, and
#: described blocks of JSON.
_ENVELOPE: Final = Lazy(
    r"^\[(?:[\w:+ -]{0,120} )?(?:(?:mon|tue|wed|thu|fri|sat|sun) )?\d{4,5}-\d\d-\d\d \d\d:\d\d[^\]\n]{0,40}\][ \t]*"
    r"|^System: \[[^\]\n]{4,60}\] [^\n]*$|^(?:\[Queued messages while agent was busy\]|---\n+Queued #\d+)[ \t]*$"
    r"|^(?:Note: )?The previous agent run was aborted by the user\.[^\n]*$"
    r"|\[message_id: [^\]\n]{0,80}\]|^[^\n]{0,80}\(untrusted[^)\n]{0,60}\):?[ \t]*\n+```(?:json)?\n.*?\n```",
    re.MULTILINE | re.IGNORECASE | re.DOTALL,
)
_ENVELOPE_WORDS: Final = ("[message_id: ", "(untrusted", "System: [", "The previous agent run was")
_QUOTES: Final = '"""'
_LINE: Final = Lazy(r"[^\r\n]{3,}")  # shorter lines carry no statement, and fences have three characters
#: The head of a mail, which is quoted to its end.
_MAIL: Final = Lazy(
    r"^(?:From|Von|De|Da): [^\n]*\n(?:[A-Z][\w-]{1,12}: [^\n]*\n){1,8}"
    r"|^(?:On|Am|Le|El|Em|Il) [^\n]{5,150} (?:wrote|schrieb|a écrit|escribió|escreveu|ha scritto)[^\n]{0,80}:[ \t]*$"
    r"|^-{3,}[ \t]*(?:Forwarded|Original) [Mm]essage[ \t]*-{3,}[ \t]*$",
    re.MULTILINE,
)
#: The time or the level that begins a program's line.
_LOGGED: Final = Lazy(
    r"\s*\[?(?:(?:\d{4}[-/]\d\d[-/]\d\d[T ]|\w{3} +\d{1,2} )?\d\d:\d\d(?:\]|:\d\d)"
    r"|(?:TRACE|DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL)(?:\]|:|  |\s+\[))"
)
_ANSI: Final = Lazy(r"\x1b\[[0-9;?]{0,20}[A-Za-z]|\x1b\][^\x07\x1b]{0,200}(?:\x07|\x1b\\)")

#: Several sentences in quotation marks after a word for speaking: someone else's.
_REPORTED: Final = Lazy(
    r"(\b(?:says?|said|saying|reads?|states?|wrote|writes?|claims?|told|tells|asks?|suggests?|contains?|sagt|schreibt|steht"
    r"|dice|dit|diz)\b[^\"“„«\n]{0,40})"
    r"(?:\"[^\"\n]{1,2000}[.!?] [^\"\n]{1,2000}\"|“[^”\n]{1,2000}[.!?] [^”\n]{1,2000}”"
    r"|„[^“”\n]{1,2000}[.!?] [^“”\n]{1,2000}[“”])",
    re.IGNORECASE,
)
#: A verb for what others say: not an order to write or read, and not what the user or the agent said.
_OTHERS_SPEAK: Final = (
    r"(?<!\bi )(?<!\bwe )(?<!\byou )(?<!\bi just )(?<!\bi already )(?<!\bich )(?<!\bwir )(?<!\bje )"
    r"(?:\b(?:says|said|wrote|writes|claims|told|tells|suggests|sent|left (?:me|us|this|a)|sagt|schreibt|schrieb|meint"
    r"|(?:forwarded|shared|posted) (?:me|us|this)|dice|dijo|escribe|escribió|dit|écrit|diz|escreveu|disse|пишет"
    r"|написал\w*|говорит|сказал\w*)\b|(?:说|写道)(?=[:：]))"
)
#: Where a derived objective or step is cut, and where it goes on with an earlier request.
JOINTS: Final = Lazy(r"…| \(after: ")
_MARKS: Final = Lazy(r"[\W_]+")
#: A verb for what others want believed, or another's speech, and to the sentence's end what it is.
_CLAIMED: Final = Lazy(
    r"(?:(?P<sure>(?<!\bi )(?<!\bwe )(?<!\byou )(?<!\bthe )\b(?:claim|insist|alleg|demand)(?:s|es|ed)"
    r"(?= (?:that|it|they|we|you|s?he|all|every|no|the)\b)|\bbehauptet\b)"
    rf"|{_OTHERS_SPEAK})(?P<what>(?:[^.!?。！？\n]|[.!?](?!\s|\Z))*)",
    re.IGNORECASE,
)
#: An order to handle a text as a whole.
_FILES: Final = Lazy(
    r"(?:^|(?<=[.!?\n]))\s*(?:please )?(?:write|make|draft|prepare|take|file|put|archive|store|save|forward|print"
    r"|attach)(?: \w+){0,3}? (?:minutes|notes|summary|(?:e-?)?mail|letter|message|chat|transcript|memo)\b"
    r"[^.!?\n]{0,80}[.!]?\s*\Z",
    re.IGNORECASE,
)
#: A conversation is shown, whose lines begin with their speaker.
_TALK: Final = Lazy(r"\b(?:minutes|chat|transcript|conversation|call|meeting|thread|discussion)\b", re.IGNORECASE)
_SPEAKER: Final = Lazy(r"^(?:\[?\d\d?:\d\d\]? )?([^\W\d_][\w.'-]*(?: [\w.'()-]+){0,3}):[ \t]+\S[^\n]*$", re.MULTILINE)
_USER: Final = frozenset({"i", "me", "we", "us", "user"})
#: A user's sentence of this probability adopts what stands before it.
_LASTING: Final = 0.15
#: Words of others without quotation marks: what follows a request to translate, explain or sum up, or a question about
#: what someone sent, and the paragraph below a line that says who speaks.
_BELOW: Final = Lazy(
    r"(^[^\n.!?]{0,80}(?:\b(?:translate|explain|summari[sz]e|sum up|proofread|what (?:does|do) [^\n.!?:]{1,30} mean"
    r"|übersetz\w*|erklär\w*|fasse|traduce\w*|explica\w*|resum[ea]\w*|tradui[st]\w*|expliqu\w*|résume\w*|traduz\w*"
    r"|перев[её]\w+|объясн\w+)\b|翻[译譯訳]|번역)[^\n.!?:：]{0,80}[:：])(?=\s*\S).*\Z"
    rf"|(^[^\n]{{0,120}}(?:{_OTHERS_SPEAK}|\b(?:got|received) (?:this|an?|the)\b)[^\n]{{0,80}}[:?])"
    r"(?:(?<=\?)[ \t]*\n.*\Z|(?<=:)[ \t]*\n\s*(?:[^\n]+(?:\n|\Z))+)",
    re.IGNORECASE | re.MULTILINE | re.DOTALL,
)
#: Longer messages are not searched for unquoted words of others.
_MOST_SHOWN: Final = 20_000
_MOST_ASKED: Final = 300
_SENTENCE_END: Final = Lazy(r"[.!?。！？]\s|\n")
#: A last sentence that asks about the text before it rather than for work: a question, or an order about a text.
_ASKS: Final = Lazy(
    r"(?:^|(?<=[.!?。！？\n])|-- )\s*"
    r"(?:(?!\s|(?:can|could|would|will) you|(?:kann|könnte)st du|pu?edes|p(?:eux|ourrais)-tu|pode)"
    r"[^.!?。！？\n]{3,200}[?？]"
    r"|(?:summari[sz]e|sum up|translate|explain|draft|proofread|rate|answer|reply|fasse|übersetze|erkläre|entwirf"
    r"|resume|traduce|explica|résume|traduis)\b[^.!?\n]{0,200}[.!]?)\s*\Z",
    re.IGNORECASE,
)
#: Where the words of others begin: at a colon after such a verb or the name of a text, a greeting on its own line, or
#: the time in a chat. After the verb alone, only the rest of its sentence is theirs.
_BEGINS: Final = Lazy(
    rf"(?:{_OTHERS_SPEAK}|\bfrom (?:the|his|her|their|an?)\b|\b(?:(?:ticket|issue|pr|case) #?\d+|e-?mail|letter|message"
    r"|comment|review|feedback|nachricht)\b)[^\n.!?:：]{0,80}[:：]"
    r"|^(?:hi|hello|dear|hallo|liebe[rs]?|sehr geehrte[rs]?|hola|estimad[oa]s?|bonjour|ch[eè]re?)\b[^\n.!?]{0,40},$"
    rf"|^[\w.@-]{{1,30}},? \[?\d\d?:\d\d\b|(?P<one>{_OTHERS_SPEAK})",
    re.IGNORECASE | re.MULTILINE,
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
        tags = dict(_COMMAND.findall(text))
        arguments = tags.get("args", "").strip()
        return f"{tags.get('name', '').strip()} {arguments}".strip() if arguments else ""
    if _TYPED_END in text:
        text = _typed(text)
    tagged = "<" in text
    if tagged:
        text = _BLOCK.sub("\n", _without_filled("\n".join(outside(text))))
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
    text = _TAG.sub("", text)
    if any(word in lower for word in _HINT_WORDS):
        text = _HINT.sub("", text)
    if text.lstrip().startswith("[") or any(word in text for word in _ENVELOPE_WORDS):
        text = _ENVELOPE.sub("", text)
    text = text.strip()
    return "" if text.startswith(_NOT_SAID) or (start == 0 and text.startswith("## Open tabs:")) else text


def _without_filled(text: str) -> str:
    """``text`` without what stands between the first beginning and the last end of each filled block."""
    lower = text.lower()
    for name in (*_FILLED, *_DATA.findall(lower)[:_MOST_NAMES]):
        start, end = lower.find(f"<{name}"), lower.rfind(f"</{name}>")
        if 0 <= start < end:
            text = f"{text[:start]}\n{text[end + len(name) + 3 :]}"
            lower = text.lower()
    return text


def _typed(text: str) -> str:
    """The user's words after a command whose template is in ``text``. Without words of the user, the sentence that
    describes the command, which is empty when it has only steps. ``text`` when it is not a template."""
    head, _, rest = text.partition(_TYPED_END)
    _, heading, fenced = head.rpartition(_TYPED)
    fenced = fenced.strip()
    if not heading or len(fenced) < 6 or not (fenced.startswith("```") and fenced.endswith("```")):
        return text
    typed = fenced.removesuffix("```").partition("\n")[2].strip()
    if typed and typed != "$ARGUMENTS":  # some clients leave the words' place unfilled
        return typed
    if described := _DESCRIBED.match(text):
        return described[1].strip()
    lines = (line.strip() for line in rest.partition("\n")[2].splitlines())
    description = next((line for line in lines if line and not line.startswith("#")), "")
    return description.removeprefix("Goal:").strip().partition(". ")[0] if description[:1].isalpha() else ""


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


@lru_cache(1_000)  # a user's message is compared with each sentence that an agent states
def spoken(text: str) -> str:
    """The lines of a message in which the user speaks: without what clients add, and without what others said."""
    return "\n".join(own_lines(without_reported(own_words(text))))


def by_user(text: str, turns: Iterable[Turn]) -> bool:
    """Whether the user's own words contain ``text``, ignoring case and everything between words, such as emphasis; a
    shortened text by its parts. A client's blocks in the user's message, and what the user quotes, are not the user's
    words."""
    missing = set(filter(None, map(_words, JOINTS.split(text))))
    if not missing:
        return False
    for content in (m.text for t in turns for m in t.messages if m.role == "user" and not m.tool):
        whole = _words(content)
        if held := {part for part in missing if part in whole}:
            own = _words(spoken(content))
            missing -= {part for part in held if part in own}
        if not missing:
            return True
    return False


@lru_cache(1_000)  # a user's message is compared with each sentence that an agent states
def _words(text: str) -> str:
    return _MARKS.sub(" ", hostile.squeezed(text)).strip()


def without_reported(text: str) -> str:
    """``text`` without the sentences of others that it quotes."""
    text = _REPORTED.sub(r"\1…", text) if any(sign in text for sign in '"“„') else text
    if len(text) > _MOST_SHOWN:
        return text
    text = _without_claims(_without_dialogue(_BELOW.sub(r"\1\2…\n", text)))
    asks = _ASKS.search(text[-_MOST_ASKED:])
    start = max(0, len(text) - _MOST_ASKED) + asks.start() if asks else 0
    if not asks or not (begins := _BEGINS.search(text, 0, start)):
        return text
    end = _SENTENCE_END.search(text, begins.end(), start) if begins["one"] else None
    return f"{text[: begins.end()]}…\n{text[end.end() if end else start :]}"


def _without_dialogue(text: str) -> str:
    """``text`` without the lines of speakers who take turns, except the user's."""
    names = [match[1].casefold() for match in _SPEAKER.finditer(text)] if _TALK.search(text) else []
    is_dialogue = any(names[n] == names[n + 2] != names[n + 1] for n in range(len(names) - 2))
    return _SPEAKER.sub(lambda match: match[0] if match[1].casefold() in _USER else "…", text) if is_dialogue else text


def _without_claims(text: str) -> str:
    """``text`` without the directions that others want believed, or that are in a text to be filed, unless the user
    goes on with something lasting."""
    is_filed = _FILES.search(text) is not None
    claims = [
        match
        for match in _CLAIMED.finditer(text)
        if (match["sure"] or is_filed) and ", so " not in match["what"] and directs(match["what"].strip(' :,"“'))
    ]
    lines = sentences(text) if claims else []
    last = max((text.rfind(line) for line in lines if lasting.judge(line).lasting > _LASTING), default=0)
    for claim in reversed(claims):
        if claim.end() > last:
            text = f"{text[: claim.start('what')]}…{text[claim.end() :]}"
    return text


def before_mail(text: str) -> str:
    """``text`` up to the head of a mail in it."""
    mail = _MAIL.search(text)
    return text[: mail.start()] if mail else text


def own_lines(text: str) -> Iterator[str]:
    """The lines of ``text`` that are neither recalled from memory, nor injected, nor fenced code, nor quoted, nor of a
    mail or a log, nor lines of holdfast's layout.

    An unclosed block extends to the text's end.
    """
    for part in outside(before_mail(text)):
        fence = ""
        for match in _LINE.finditer(part):
            line = match[0]
            if mark := _fence(line):
                if not fence:
                    fence = mark
                elif mark.startswith(fence):
                    fence = ""
            elif not fence and not line.lstrip().startswith(">") and not _LOGGED.match(line) and not is_filler(line):
                yield line


def _fence(line: str) -> str:
    """The fence that a line, or the item on it, begins with; empty for other lines."""
    if line.strip() == _QUOTES:
        return _QUOTES
    if "```" not in line and "~~~" not in line:
        return ""
    text = line.lstrip()
    return marks.fence(text) or marks.fence(text[len(marks.item(text)) :].lstrip())
