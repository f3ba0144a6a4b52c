"""Message dumps of opencode: ``{info, parts}``, one per row, in one array, or under ``data`` or ``messages``.

Source: observed with 1.18.33 (``client.session.messages``); ``messages`` is the shape of ``opencode export``.
"""

from collections.abc import Mapping
from typing import Final

from holdfast_app.message_formats.leaves import as_typed, block_text, clean, readable, says, without_injected
from holdfast_app.message_formats.messages import text_of
from holdfast_app.message_formats.reading import Reading, mapping, row_key

#: Parts without conversation, keys that identify the part, and keys of a tool's state that are read, or that repeat
#: its input and output for display.
_BOOKKEEPING: Final = frozenset({"step-start", "step-finish", "snapshot", "patch", "retry", "compaction"})
#: Keys of a message with the client's own state: paths, instructions, titles and diffs for display.
_INFO: Final = frozenset({"path", "summary", "system", "tools", "time", "model", "agent", "mode"})
_PART: Final = frozenset({"id", "sessionID", "messageID", "callID", "type", "time", "metadata"})
_STATE: Final = frozenset({"status", "input", "title", "metadata", "time", "raw"})


def recognises(row: Mapping[str, object]) -> bool:
    return isinstance(row.get("info"), dict) and isinstance(row.get("parts"), list)


def take(row: Mapping[str, object], position: int, reading: Reading) -> bool:
    info = mapping(row.get("info"))
    role, parts = clean(info.get("role")), row.get("parts")
    if role not in {"user", "assistant"} or not isinstance(parts, list):
        return False
    reading.place(session_id=info.get("sessionID"), cwd=mapping(info.get("path")).get("cwd"))
    created = mapping(info.get("time")).get("created")
    reading.at(created)
    if info.get("summary") is True:
        # A compaction part alone is only a request, and remains unanswered when a plugin blocks it.
        if not info.get("error"):
            text = text_of(parts)
            reading.summary(text, key=row_key(info.get("id"), position, "summary", text))
        return True
    for number, part in enumerate(parts):
        reading.at(created)
        if isinstance(part, dict):
            _take_part(part, role, row_key(part.get("id"), position, str(number)), reading)
        else:
            reading.say(role, readable(part), key=row_key("", position, str(number)))
    rest = readable({name: value for name, value in info.items() if name not in _INFO and says(value)})
    reading.at(created)
    reading.say("system", rest, key=row_key("", position, "info"), aside=True)
    return True


def _take_part(part: Mapping[str, object], role: str, key: str, reading: Reading) -> None:
    kind = clean(part.get("type"))
    if kind in _BOOKKEEPING or (kind == "text" and (part.get("synthetic") or part.get("ignored"))):
        return
    if kind == "tool":
        _take_tool(part, key, reading)
    elif kind == "subtask":  # a command's template, sent to another agent in the user's name
        arguments = {n: v for n, v in part.items() if n not in {*_PART, "type", "model", "agent"}}
        reading.call(part.get("agent") or kind, arguments, key=key)
    elif kind == "reasoning":
        reading.think({n: v for n, v in part.items() if n not in _PART}, key=key)
    else:
        reading.at(mapping(part.get("time")).get("start") if kind == "text" else None)
        text, rest = block_text({n: v for n, v in part.items() if n not in _PART or n == "type" or says(v)})
        reading.say(role, without_injected(as_typed(text) if role == "user" else text), key=key)
        reading.say(role, rest, key=f"{key}#rest")


def _take_tool(part: Mapping[str, object], key: str, reading: Reading) -> None:
    """A call and, once it has ended, its result, whose id is the part's id with ``#result``."""
    state = mapping(part.get("state"))
    time = mapping(state.get("time"))
    call_id = part.get("callID")
    reading.at(time.get("start"))
    reading.call(part.get("tool"), state.get("input"), key=key, call_id=call_id)
    status = clean(state.get("status"))
    used = {"completed": "output", "error": "error"}.get(status, "")
    rest = {n: v for n, v in state.items() if n not in _STATE and n != used}
    rest |= {n: v for n, v in part.items() if n not in {*_PART, "tool", "state"}}
    reading.say("system", readable(rest), key=f"{key}#rest")
    if not used:
        return
    reading.at(time.get("end"))
    code = mapping(state.get("metadata")).get("exit")
    reading.answer(
        state.get(used),
        key=f"{key}#result",
        call_id=call_id,
        failed=status == "error" or (isinstance(code, int) and code != 0),
        tool=part.get("tool"),
    )
