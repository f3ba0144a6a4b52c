"""Sessions of Copilot CLI: JSONL rows ``{type, data, id, parentId, timestamp}``, such as ``user.message``.

Source: ``events.jsonl`` of sessions recorded by 1.0.31 to 1.0.72.
"""

from collections.abc import Mapping
from typing import Final

from holdfast_app.message_formats.leaves import clean
from holdfast_app.message_formats.reading import Reading, mapping, row_key

#: Groups of rows; others than those read below are bookkeeping.
_GROUPS: Final = frozenset({"session", "user", "assistant", "tool", "hook", "permission", "system"})


def recognises(row: Mapping[str, object]) -> bool:
    return isinstance(row.get("data"), dict) and clean(row.get("type")) in ("session.start", "user.message")


def take(row: Mapping[str, object], position: int, reading: Reading) -> bool:
    kind, data = clean(row.get("type")), mapping(row.get("data"))
    key, call_id = row_key(row.get("id"), position, kind), data.get("toolCallId")
    reading.at(row.get("timestamp"))
    if kind == "session.start":
        place = mapping(data.get("context"))
        reading.place(session_id=data.get("sessionId"), cwd=place.get("cwd"), branch=place.get("branch"))
    elif kind == "user.message":
        reading.say("user", clean(data.get("content")), key=key)
    elif kind == "assistant.message":
        reading.think({"thinking": data.get("reasoningText")}, key=f"{key}#think")
        reading.say("assistant", clean(data.get("content")), key=key)
    elif kind == "tool.execution_start":
        reading.call(data.get("toolName"), data.get("arguments"), key=key, call_id=call_id)
    elif kind == "tool.execution_complete":
        output = mapping(data.get("result")).get("content") or data.get("error")
        reading.answer(output, key=key, call_id=call_id, failed=data.get("success") is False)
    return kind.partition(".")[0] in _GROUPS
