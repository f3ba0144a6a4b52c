"""Transcripts of Claude Code: JSONL, a row per content block, among many rows of bookkeeping.

Source: observed with 2.1.330 and 2.1.197, except ``queued_command`` attachments (prompts typed while the model works),
which are read as published descriptions give them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from holdfast.excerpts import BACKGROUND, background_result, clean
from holdfast.transcripts.blocks import take_content, text_of
from holdfast.transcripts.reading import Reading, mapping, row_key

NAME: Final = "claude-code"
APPENDED: Final = True

_SPEECH: Final = frozenset({"user", "assistant"})
_BOOKKEEPING: Final = frozenset(
    {
        "agent-name",
        "ai-title",
        "api-request",
        "api-request-blob",
        "api-request-shape",
        "atis-latch",
        "cost-state",
        "custom-title",
        "file-history-snapshot",
        "last-prompt",
        "mode",
        "permission-mode",
        "pr-link",
        "progress",
        "queue-operation",
        "summary",
        "tag",
        "tools-used",
    }
)
# Rows with the role user that the client wrote: its own commands and their output, hook feedback, interruptions.
_NOT_SAID: Final = (
    "<command-",
    "<local-command-",
    "<bash-stdout>",
    "<bash-stderr>",
    "Caveat: The messages below were generated",
    "Stop hook feedback:",
    "[Request interrupted by user",
)


def recognises(row: Mapping[str, object]) -> bool:
    """Is this a row that only Claude Code writes?"""
    return isinstance(row.get("type"), str) and isinstance(row.get("sessionId"), str) and "payload" not in row


def take(row: Mapping[str, object], position: int, reading: Reading) -> bool:
    """Add what the row says; False when its type is not known."""
    kind = clean(row.get("type"))
    sidechain = row.get("isSidechain") is True  # a sub-agent's talk is not this conversation
    if kind in {"user", "assistant"} and sidechain != bool(reading.agent):
        return True
    if sidechain and row.get("agentId") != reading.agent:
        return True
    if kind in _SPEECH or kind in {"system", "attachment"}:
        reading.place(session_id=row.get("sessionId"), cwd=row.get("cwd"), branch=row.get("gitBranch"))
    elif kind in _BOOKKEEPING:
        reading.place(session_id=row.get("sessionId"))
        return True
    else:
        return False
    if kind == "system":
        if row.get("subtype") == "compact_boundary":
            reading.boundary()
    elif kind == "attachment":
        _take_queued(row, position, reading)
    elif not _is_injected(row):
        return _take_speech(kind, row, position, reading)
    return True


def _is_injected(row: Mapping[str, object]) -> bool:
    if row.get("isMeta") is True or row.get("isCompactSummary") is True or row.get("isApiErrorMessage") is True:
        return True
    message = mapping(row.get("message"))
    if message.get("model") == "<synthetic>":
        return True
    return row.get("type") == "user" and text_of(message.get("content")).lstrip().startswith(_NOT_SAID)


def _take_speech(role: str, row: Mapping[str, object], position: int, reading: Reading) -> bool:
    content = mapping(row.get("message")).get("content")
    if not isinstance(content, str | list):
        return False
    if role == "user" and background_result(text_of(content)) is not None:
        _take_background(text_of(content), row, position, reading)
        return True
    key = clean(row.get("uuid")).strip() or row_key("", position, role, text_of(content))
    take_content(reading, role, content, key=key, at=reading.at(row.get("timestamp")))
    return True


def _take_background(text: str, row: Mapping[str, object], position: int, reading: Reading) -> None:
    key = clean(row.get("uuid")).strip() or row_key("", position, "tool", text)
    at = reading.at(row.get("timestamp"))
    if result := background_result(text):
        reading.answer(result, key=key, call_id=None, at=at, failed=False, tool=BACKGROUND)


def _take_queued(row: Mapping[str, object], position: int, reading: Reading) -> None:
    attachment = mapping(row.get("attachment"))
    if attachment.get("type") != "queued_command":
        return
    text = text_of(attachment.get("prompt"))
    if background_result(text) is not None:
        _take_background(text, row, position, reading)
    elif attachment.get("commandMode", "prompt") == "prompt" and not text.lstrip().startswith(_NOT_SAID):
        key = row_key(row.get("uuid"), position, "user", text)
        take_content(reading, "user", text, key=key, at=reading.at(row.get("timestamp")))
