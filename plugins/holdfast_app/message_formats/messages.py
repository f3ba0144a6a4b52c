"""The plain form of a custom loop: ``{"role", "content"}``, one row each, as one array, or under ``messages``.

Tool calls are read in three common shapes: ``tool_calls`` with rows of role ``tool``, content blocks, and items of the
Responses interface. Source: request formats of the Chat Completions, Messages and Responses interfaces.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from holdfast_app.message_formats import responses
from holdfast_app.message_formats.blocks import take_content, text_of
from holdfast_app.message_formats.excerpts import clean
from holdfast_app.message_formats.leaves import readable, says
from holdfast_app.message_formats.reading import Reading, is_moment, mapping, row_key

_ROLES: Final = frozenset({"user", "assistant", "tool", "function", "system", "developer"})
_SAYING: Final = {"user": "user", "assistant": "assistant", "system": "system", "developer": "system"}
_READ: Final = frozenset({"role", "content", "tool_calls"})
_TIMES: Final = ("timestamp", "ts", "time", "date", "created", "created_at", "updated_at", "at")
#: Row members that record when and how it was made, left out unless they contain words. The other members are content.
_MADE: Final = frozenset(
    {
        "tool_call_id", "is_error", "name", "id", "type", "object", "status", "index", "phase", "model", "usage",
        "container", "stop_reason", "stop_sequence", "finish_reason", "logprobs", "provider", *_TIMES,
    }
)  # fmt: skip


def recognises(row: Mapping[str, object]) -> bool:
    """Whether this is a message."""
    role = row.get("role")
    return isinstance(role, str) and role in _ROLES and ("content" in row or "tool_calls" in row)


def take(row: Mapping[str, object], position: int, reading: Reading) -> bool:
    """Add the message's contents; False when it is not a message.

    Rows with the roles ``system`` and ``developer`` before any other row are the loop's own instructions. They are
    counted in ``left_out`` and not kept.
    """
    role = clean(row.get("role"))
    at = reading.at(row.get("timestamp", row.get("created_at", row.get("at"))))
    if role not in _ROLES:
        reading.begun = True
        return responses.take(row, row_key(row.get("id"), position, _shown(row)), at, reading)
    content = row.get("content")
    key = row_key(row.get("id"), position, role, text_of(content))
    if role in {"system", "developer"} and not reading.begun:
        reading.leave_out("instructions")
        return True
    reading.begun = True
    if role in {"tool", "function"}:
        call_id = row.get("tool_call_id")
        failed = row.get("is_error") is True
        reading.answer(content, key=key, call_id=call_id, at=at, failed=failed, tool=row.get("name"))
    else:
        take_content(reading, _SAYING[role], content, key=key, at=at)
    _take_calls(row, key, reading)
    rest = {name: value for name, value in row.items() if name not in _READ and not _is_made(name, value)}
    if isinstance(row.get("function_call"), dict):
        del rest["function_call"]
    if role not in {"tool", "function"} and "name" in row:
        rest["name"] = row["name"]
    for name in [name for name in rest if "reasoning" in name or "thinking" in name]:
        reading.think({name: rest.pop(name)}, key=f"{key}#{name}", at=at)
    reading.say(_SAYING.get(role, "system"), readable(rest, flags=False), key=f"{key}#more", at=at)
    return True


def _is_made(name: str, value: object) -> bool:
    """Whether the member only records when or how the row was made."""
    if name not in _MADE or not says(value):
        return name in _MADE
    return name == "logprobs" or (name in _TIMES and is_moment(value))


def _take_calls(row: Mapping[str, object], key: str, reading: Reading) -> None:
    at = reading.at(None)
    given = row.get("tool_calls")
    calls = list(given) if isinstance(given, list | tuple) else [given]
    if isinstance(row.get("function_call"), dict):  # before there were several
        calls.append({"function": row["function_call"]})
    for number, call in enumerate(calls):
        own = f"{key}#call{number}"
        if not isinstance(call, dict):
            reading.say("assistant", readable(call), key=own, at=at)
            continue
        function = mapping(call.get("function")) or mapping(call.get("custom"))
        name, arguments = function.get("name"), function.get("arguments", function.get("input"))
        if not function:
            name, arguments = call.get("name"), call.get("arguments", call.get("args", call.get("input")))
        reading.call(name, responses.parsed(arguments), key=own, call_id=call.get("id"), at=at)
        rest = readable(call, but=_CALL) if function else readable(call, but=_FLAT_CALL)
        inner = readable(function, but={"name", "arguments", "input"})
        reading.say("assistant", "\n".join(filter(None, (rest, inner))), key=f"{own}#rest", at=at)


_CALL: Final = frozenset({"id", "type", "index", "function", "custom", "name", "arguments", "input", "call_id"})
_FLAT_CALL: Final = (_CALL | {"args"}) - {"function", "custom"}


def _shown(row: Mapping[str, object]) -> str:
    return readable({name: value for name, value in row.items() if name != "id"})
