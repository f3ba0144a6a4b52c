"""Transcripts of Claude Code: JSONL, a row per content block, among many rows of bookkeeping.

Source: observed with 2.1.330 and 2.1.197, except prompts typed while the model works: ``queued_command`` attachments
are read as in published descriptions. Earlier versions record such a prompt only in ``queue-operation`` rows, unless it
waits until the turn ends and follows as its own row. Rows that a plugin's module put in have ``rowSource`` "hook", or
``madeBy`` "other" (observed with 2.1.332). A prompt that a module rewrote cannot be distinguished.
"""

import re
from collections.abc import Mapping
from typing import Final

from holdfast.text.lazy import Lazy
from holdfast_app.message_formats.leaves import BACKGROUND, background_result, clean, readable, says, without_injected
from holdfast_app.message_formats.messages import take_content, text_of
from holdfast_app.message_formats.reading import Reading, mapping, row_key

_SPEECH: Final = frozenset({"user", "assistant"})
_BOOKKEEPING: Final = frozenset(
    {
        "agent-name", "ai-title", "api-request", "api-request-blob", "api-request-shape", "atis-latch", "cost-state",
        "custom-title", "file-history-snapshot", "last-prompt", "mode", "permission-mode", "pr-link", "progress",
        "summary", "system", "tag", "tools-used",
    }
)  # fmt: skip
#: Attachments with the client's own state, and with hook output (including holdfast's brief).
_OWN_ATTACHMENTS: Final = (
    "hook_", "async_hook_", "task_", "plugin_note", "skill_", "agent_listing", "todo", "plan_mode", "deferred_", "model"
)  # fmt: skip
#: The first ones show the model what others wrote, in all members but these. Evidence of who said a sentence first.
_SHOWING: Final = _OWN_ATTACHMENTS[:6]
_HOOK: Final = frozenset({"type", "command", "hookName", "hookEvent", "toolUseID", "stdout"})
_BRIEF: Final = Lazy(r"<recalled-memory\b.*?</recalled-memory>", re.DOTALL)
# Rows with the role user written by the client: its own commands and their output, hook feedback, interruptions.
_NOT_SAID: Final = ("<command-", "<local-command-", "Caveat: The messages below were generated", "Stop hook feedback:")
_INTERRUPTED: Final = frozenset({"[Request interrupted by user]", "[Request interrupted by user for tool use]"})
#: Commands to the client and to holdfast itself, regardless of their arguments.
_CONTROLS: Final = frozenset({"/compact", "/clear", "/memory-update", "/holdfast"})
#: Those without words of others.
_SILENT: Final = ("<command-", "<local-command-caveat>", "<local-command-stdout>Compacted", _NOT_SAID[2])
_PRINTED: Final = ("<bash-stdout>", "<bash-stderr>")


def recognises(row: Mapping[str, object]) -> bool:
    """Whether only Claude Code writes such a row. A later version may name the session differently."""
    if not isinstance(row.get("type"), str) or "payload" in row:
        return False
    return isinstance(row.get("sessionId"), str) or mapping(row.get("message")).get("role") == row["type"]


def take(row: Mapping[str, object], position: int, reading: Reading) -> bool:
    kind = clean(row.get("type"))
    agent = row.get("agentId") if row.get("isSidechain") is True else ""  # another's talk is not this conversation
    if agent != reading.agent:
        return True
    if kind not in {*_SPEECH, *_BOOKKEEPING, "attachment", "queue-operation"}:
        return False
    reading.place(session_id=row.get("sessionId"), cwd=row.get("cwd"), branch=row.get("gitBranch"))
    reading.at(row.get("timestamp"))
    if kind == "attachment":
        return _take_attachment(row, position, reading)
    if kind == "queue-operation":
        _take_queued(row, position, reading)
    elif kind in _SPEECH and (left_out := _is_injected(row)):
        text = text_of(mapping(row.get("message")).get("content"))
        key = row_key(row.get("uuid"), position, left_out, text)
        last = reading.messages[-1] if reading.messages else None
        if last and last.role == "user" and last.text.startswith("/") and text.startswith("<local-command-stdout>"):
            reading.messages.pop()  # the client ran this command, so it asks the agent for nothing
        if left_out == "summary":
            reading.summary(text, key=key)
        elif left_out != "interruption" and not text.startswith(_SILENT):  # a skill's, a hook's or a command's text
            _show(text, key, reading)
    elif kind in _SPEECH:
        return _take_speech(kind, row, position, reading)
    return True


def _is_injected(row: Mapping[str, object]) -> str:
    """Why the row is not speech, or an empty string when it is."""
    if row.get("isMeta") is True:
        return "context"
    if row.get("isCompactSummary") is True:
        return "summary"
    if row.get("rowSource") == "hook" or row.get("madeBy") == "other":
        return "hook"
    message = mapping(row.get("message"))
    if row.get("isApiErrorMessage") is True or message.get("model") == "<synthetic>":
        return "notice"
    return _own_words(text_of(message.get("content"))) if row.get("type") == "user" else ""


def _own_words(text: str) -> str:
    """Why text with the role user is the client's own, or an empty string when it is the user's."""
    text = text.strip()
    if text in _INTERRUPTED:
        return "interruption"
    return "command" if text.startswith(_NOT_SAID) and not _command(text) else ""


def _command(text: str) -> str:
    """A command with the user's arguments, like ``/review the login form``; empty when there are none."""
    if not text.startswith("<command-"):
        return ""
    tags = {
        name: text.partition(f"<command-{name}>")[2].partition(f"</command-{name}>")[0].strip()
        for name in ("name", "args")
    }
    is_request = tags["args"] and tags["name"] not in _CONTROLS
    return f"{tags['name']} {tags['args']}" if is_request else ""


def _take_speech(role: str, row: Mapping[str, object], position: int, reading: Reading) -> bool:
    message = mapping(row.get("message"))
    content = message.get("content")
    if not isinstance(content, str | list | dict):
        return False
    text = text_of(content)
    key = clean(row.get("uuid")).strip() or row_key("", position, role, text)
    if role == "user" and (prompt := text.strip()) in reading.queued:
        reading.queued.remove(prompt)
    if role == "user" and isinstance(content, str | list) and _take_told(text, key, reading):
        return True
    injected: list[str] = []
    take_content(reading, role, content, key=key, change=lambda part: without_injected(part, injected))
    _show("\n".join(injected), f"{key}#shown", reading)
    rest = {name: value for name, value in message.items() if name not in {"role", "content"} and says(value)}
    reading.say("system", readable(rest), key=f"{key}#more", aside=True)
    return True


def _show(text: str, key: str, reading: Reading) -> None:
    """Keep text that the client shows the model, without holdfast's own brief, where it has words."""
    text = _BRIEF.sub("", text).strip()
    if says(text):
        reading.say("system", text, key=key, aside=True)


def _take_told(text: str, key: str, reading: Reading) -> bool:
    """Add text with the role user and client formatting; False when it is plain speech."""
    result = background_result(text)
    if result is not None:
        if result:
            reading.answer(result, key=key, tool=BACKGROUND)
    elif text.lstrip().startswith(_PRINTED):
        reading.answer(text, key=key, tool="bash")
    elif command := _command(text.lstrip()):
        reading.say("user", command, key=key)
    else:
        return False
    return True


def _take_queued(row: Mapping[str, object], position: int, reading: Reading) -> None:
    """Follow the queue of prompts typed while the model works. ``remove`` does not name an entry. It appears when the
    queue is passed to the running turn, so it adds all waiting prompts."""
    operation, waiting = row.get("operation"), reading.queued
    text = clean(row.get("content")).strip()
    if operation == "enqueue":
        if text and not text.startswith(("<", "{", "/")) and not _own_words(text):
            waiting.append(text)
    elif operation == "popAll":
        waiting.clear()
    elif operation == "remove":
        for number, text in enumerate(waiting):
            _say_queued(text, row_key("", position, str(number), text), reading)
        waiting.clear()


def _say_queued(text: str, key: str, reading: Reading) -> None:
    """Add a queued prompt, unless a row of another kind already has it."""
    if text in reading.handed_over:
        reading.handed_over.discard(text)
    else:
        reading.handed_over.add(text)
        reading.say("user", without_injected(text), key=key)


def _take_attachment(row: Mapping[str, object], position: int, reading: Reading) -> bool:
    """Add a prompt typed while the model works. Automatic attachments are left out. False for an attachment that may be
    the only copy of its content."""
    attachment = mapping(row.get("attachment"))
    kind = clean(attachment.get("type"))
    if kind != "queued_command":
        if kind.startswith(_SHOWING):
            text = readable(attachment, but=_HOOK, flags=False)
            _show(text, row_key(row.get("uuid"), position, text), reading)
        return not kind or kind.startswith(_OWN_ATTACHMENTS)
    prompt = attachment.get("prompt")
    text = text_of(prompt)
    is_told = background_result(text) is not None or text.lstrip().startswith(_PRINTED)
    is_command = attachment.get("commandMode", "prompt") != "prompt" or bool(_own_words(text))
    if attachment.get("rowSource") == "hook" or (is_command and not is_told):
        _show(text, row_key(row.get("uuid"), position, text), reading)
        return True
    if is_told:
        return _take_told(text, row_key(row.get("uuid"), position, "tool", text), reading)
    key = row_key(row.get("uuid"), position, "user", text)
    if isinstance(prompt, str):
        _say_queued(text.strip(), key, reading)
    else:
        take_content(reading, "user", prompt, key=key, change=without_injected)
    return True
