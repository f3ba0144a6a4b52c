"""Sessions of pi: JSONL rows ``{type, id, parentId, timestamp, ...}`` after a row of type ``session``.

Source: session format page of pi 1.5.2. Its rows form a tree. They are read in the order in which they were
written, abandoned branches too.
"""

from collections.abc import Mapping
from typing import Final

from holdfast_app.message_formats.leaves import clean
from holdfast_app.message_formats.messages import take_content, text_of
from holdfast_app.message_formats.reading import Reading, mapping, row_key

_TYPES: Final = frozenset(
    {"session", "message", "model_change", "thinking_level_change", "compaction", "branch_summary", "custom",
     "custom_message", "label", "session_info"}
)  # fmt: skip
_ROLES: Final = frozenset({"user", "assistant"})


def recognises(row: Mapping[str, object]) -> bool:
    kind = clean(row.get("type"))
    return (kind == "session" and "cwd" in row) or (kind == "message" and "parentId" in row)


def take(row: Mapping[str, object], position: int, reading: Reading) -> bool:
    kind = clean(row.get("type"))
    reading.at(row.get("timestamp"))
    if kind == "session":
        reading.place(session_id=row.get("id"), cwd=row.get("cwd"))
    elif kind == "message":
        return _take_message(mapping(row.get("message")), row, position, reading)
    elif kind == "compaction":
        text = clean(row.get("summary"))
        reading.summary(text, key=row_key(row.get("id"), position, kind, text))
    elif kind in ("custom_message", "branch_summary"):  # an extension's words, and an abandoned branch's result
        text = text_of(row.get("content", row.get("summary")))
        reading.say("system", text, key=row_key(row.get("id"), position, kind, text), aside=True)
    return kind in _TYPES


def _take_message(message: Mapping[str, object], row: Mapping[str, object], position: int, reading: Reading) -> bool:
    role, content = clean(message.get("role")), message.get("content")
    key = row_key(row.get("id"), position, role, text_of(content))
    if role in _ROLES:
        for number, block in enumerate(content if isinstance(content, list) else [content]):
            if isinstance(block, dict) and block.get("type") == "toolCall":
                own = f"{key}#call{number}"
                reading.call(block.get("name"), block.get("arguments"), key=own, call_id=block.get("id"))
            else:
                take_content(reading, role, [block], key=f"{key}#{number}" if number else key)
    elif role == "toolResult":
        failed, call_id = message.get("isError") is True, message.get("toolCallId")
        reading.answer(content, key=key, call_id=call_id, failed=failed, tool=message.get("toolName"))
    elif role == "bashExecution":  # a command that the user typed
        output = f"$ {clean(message.get('command'))}\n{clean(message.get('output'))}"
        failed = message.get("exitCode") not in (0, None)
        reading.answer(output, key=key, failed=failed, tool="bash")
    elif text := text_of(content) or clean(message.get("summary")):
        reading.say("system", text, key=key, aside=True)
    return bool(role)
