"""Transcripts ("rollouts") of Codex: JSONL rows ``{timestamp, ordinal, type, payload}``.

Source: observed with 0.169.0. What was said stands in ``response_item`` rows; ``event_msg`` rows repeat it for display.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Final

from holdfast.excerpts import clean
from holdfast.transcripts.blocks import text_of
from holdfast.transcripts.reading import Reading, mapping, objects, row_key

NAME: Final = "codex"
APPENDED: Final = True

_TYPES: Final = frozenset(
    {"session_meta", "turn_context", "response_item", "event_msg", "compacted", "world_state", "token_usage_record"}
)
# Rollouts of versions that do not yet say what kind an item is: what the client put in as the user.
_NOT_SAID: Final = (
    "<environment_context>",
    "<user_instructions>",
    "<permissions instructions>",
    "<skill>",
    "<turn_aborted>",
    "<subagent_notification>",
    "# AGENTS.md instructions",
)
_ANSWERED: Final = frozenset({"function_call", "custom_tool_call", "local_shell_call"})  # a web search never is
_MAX_PREAMBLE_CHARS: Final = 500
_EXIT_CODE: Final = re.compile(r"^(?:Process exited with code|Exit code:) (-?\d+)", re.MULTILINE)


def recognises(row: Mapping[str, object]) -> bool:
    """Is this a row that only Codex writes?"""
    return clean(row.get("type")) in _TYPES and "payload" in row


def take(row: Mapping[str, object], position: int, reading: Reading) -> bool:
    """Add what the row says; False when its type is not known."""
    kind, payload = clean(row.get("type")), mapping(row.get("payload"))
    if kind == "session_meta":
        branch = mapping(payload.get("git")).get("branch")
        reading.place(session_id=payload.get("id") or payload.get("session_id"), cwd=payload.get("cwd"), branch=branch)
    elif kind == "compacted":
        reading.boundary()
    elif kind == "response_item":
        return _take_item(row, payload, position, reading)
    return kind in _TYPES


def _take_item(row: Mapping[str, object], item: Mapping[str, object], position: int, reading: Reading) -> bool:
    kind = clean(item.get("type"))
    at = reading.at(row.get("timestamp"))
    if kind == "message":
        if mapping(row.get("metadata")).get("compaction_output") is True:
            return True
        role = clean(item.get("role"))
        if role in {"user", "assistant"}:
            text = _said(item) if role == "user" else text_of(item.get("content"))
            reading.say(role, text, key=row_key(item.get("id"), position, role, text), at=at)
        return role in {"user", "assistant", "developer", "system"}
    call_id = item.get("call_id")
    if kind.endswith("_call_output"):
        text, failed = _result(item.get("output"))
        key = row_key(item.get("id") or _suffixed(call_id), position, text)
        reading.answer(text, key=key, call_id=call_id, at=at, failed=failed)
    elif kind.endswith("_call"):
        name = item.get("name") or kind.removesuffix("_call")
        key = row_key(item.get("id") or call_id, position, kind)
        awaited = call_id if kind in _ANSWERED else None
        reading.call(name, _arguments(item), key=key, call_id=awaited, at=at)
    else:
        return kind == "reasoning"
    return True


def _said(item: Mapping[str, object]) -> str:
    """The user's own items of a message; the client sends its context and its summaries as the user, too."""
    kinds = mapping(item.get("internal_chat_message_metadata_passthrough")).get("content_item_kinds")
    told = kinds if isinstance(kinds, list) else []
    own: list[str] = []
    for number, block in enumerate(objects(item.get("content"))):
        kind = told[number] if number < len(told) else "unknown"
        text = text_of([block])
        if str(kind).partition(".")[0] in {"user", "unknown"} and not text.lstrip().startswith(_NOT_SAID):
            own.append(text)
    return "\n".join(own)


def _suffixed(call_id: object) -> str:
    return f"{call_id}#output" if isinstance(call_id, str) else ""


def _arguments(item: Mapping[str, object]) -> object:
    given = item.get("arguments", item.get("input", item.get("action")))
    if isinstance(given, str) and given.lstrip().startswith("{"):
        try:
            return json.loads(given)
        except (ValueError, RecursionError):
            return given
    return given


def _result(output: object) -> tuple[str, bool]:
    """What a tool gave back, without the client's preamble, and whether it failed."""
    failed = False
    if isinstance(output, dict):
        failed = output.get("success") is False
        output = output.get("content", output.get("output"))
    text = text_of(output)
    preamble, marker, printed = text.partition("Output:\n")
    code = _EXIT_CODE.search(preamble) if marker and len(preamble) < _MAX_PREAMBLE_CHARS else None
    if code is None:
        return text, failed
    return printed, failed or code.group(1) != "0"
