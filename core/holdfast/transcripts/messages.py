"""The plain form of a loop of one's own: ``{"role", "content"}``, a row each, as one array, or under ``messages``.

Tool calls are read in both common shapes: ``tool_calls`` with rows of role ``tool``, and content blocks.
Source: the request formats of the Chat Completions and Messages interfaces.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from holdfast.transcripts.blocks import take_content, text_of
from holdfast.transcripts.reading import Reading, mapping, objects, row_key

NAME: Final = "messages"
APPENDED: Final = True

_ROLES: Final = frozenset({"user", "assistant", "tool", "function", "system", "developer"})


def recognises(row: Mapping[str, object]) -> bool:
    """Is this a message?"""
    role = row.get("role")
    return isinstance(role, str) and role in _ROLES and ("content" in row or "tool_calls" in row)


def take(row: Mapping[str, object], position: int, reading: Reading) -> bool:
    """Add what the message says; False when it is no message."""
    if not recognises(row):
        return False
    role, content = str(row.get("role")), row.get("content")
    at = reading.at(row.get("timestamp", row.get("created_at", row.get("at"))))
    key = row_key(row.get("id"), position, role, text_of(content))
    if role in {"tool", "function"}:
        call_id = row.get("tool_call_id")
        failed = row.get("is_error") is True
        reading.answer(text_of(content), key=key, call_id=call_id, at=at, failed=failed, tool=row.get("name"))
    elif role in {"user", "assistant"}:
        take_content(reading, role, content, key=key, at=at)
        for number, call in enumerate(objects(row.get("tool_calls"))):
            function = mapping(call.get("function"))
            reading.call(
                function.get("name"),
                _arguments(function.get("arguments")),
                key=f"{key}#call{number}",
                call_id=call.get("id"),
                at=at,
            )
    return True


def _arguments(given: object) -> object:
    """The arguments, which this interface sends as JSON in a text."""
    if isinstance(given, str):
        try:
            return json.loads(given)
        except (ValueError, RecursionError):
            return given
    return given
