"""Transcripts ("rollouts") of Codex: JSONL rows ``{timestamp, ordinal, type, payload}``.

Source: observed with 0.169.0. ``response_item`` rows hold the conversation; ``event_msg`` rows repeat it for display.
"""

from collections.abc import Mapping
from typing import Final

from holdfast_app.message_formats.leaves import STRUCTURE, clean, readable, says
from holdfast_app.message_formats.messages import take_content, take_item, text_of
from holdfast_app.message_formats.reading import Reading, mapping, row_key

_TYPES: Final = frozenset(
    {"session_meta", "turn_context", "response_item", "event_msg", "compacted", "world_state", "token_usage_record"}
)
# Rollouts of versions without item kinds: content that the client inserted as the user.
_NOT_SAID: Final = (
    "<environment_context>", "<user_instructions>", "<permissions instructions>", "<skill>", "<turn_aborted>",
    "<subagent_notification>", "# AGENTS.md instructions",
)  # fmt: skip
_MESSAGE: Final = frozenset({"type", "role", "content", "internal_chat_message_metadata_passthrough"})


def recognises(row: Mapping[str, object]) -> bool:
    return clean(row.get("type")) in _TYPES and "payload" in row


def take(row: Mapping[str, object], position: int, reading: Reading) -> bool:
    kind, payload = clean(row.get("type")), mapping(row.get("payload"))
    reading.at(row.get("timestamp"))
    if kind == "session_meta":
        branch = mapping(payload.get("git")).get("branch")
        reading.place(session_id=payload.get("id") or payload.get("session_id"), cwd=payload.get("cwd"), branch=branch)
    elif kind == "compacted":
        if text := clean(payload.get("message")).strip():
            reading.summary(text, key=row_key(None, position, "summary", text))
    elif kind == "event_msg" and payload.get("type") == "patch_apply_end":
        call = clean(payload.get("call_id"))
        if call.startswith("exec-"):  # an edit by a script, whose own result does not name the files
            failed = payload.get("success") is False
            reading.answer(payload.get("stdout"), key=call, failed=failed, tool="apply_patch")
    elif kind == "response_item":
        return isinstance(row.get("payload"), dict) and _take_item(row, payload, position, reading)
    return kind in _TYPES


def _take_item(row: Mapping[str, object], item: Mapping[str, object], position: int, reading: Reading) -> bool:
    kind = clean(item.get("type"))
    if kind != "message":
        call_id = clean(item.get("call_id"))
        item_id = item.get("id") or (call_id and f"{call_id}#output" if kind.endswith("_output") else call_id)
        return take_item(item, row_key(item_id, position, kind, readable(item.get("output"))), reading)
    if mapping(row.get("metadata")).get("compaction_output") is True:
        return True
    role = clean(item.get("role"))
    if role not in {"user", "assistant"}:
        return role in {"developer", "system"}
    content = item.get("content")
    own = _own(item) if role == "user" else list(content) if isinstance(content, list) else [content]
    text = text_of([block for block in own if _is_plain(block)])
    key = row_key(item.get("id"), position, role, text)
    reading.say(role, text, key=key)
    for number, block in enumerate(own):
        if not _is_plain(block):
            take_content(reading, role, [block], key=f"{key}#{number}")
        elif isinstance(block, dict):
            rest = readable(block, but={*STRUCTURE, "text"})
            reading.say(role, rest, key=f"{key}#{number}#rest")
    rest = readable({name: value for name, value in item.items() if name not in _MESSAGE and says(value)})
    reading.say("system", rest, key=f"{key}#more", aside=True)
    return True


def _is_plain(block: object) -> bool:
    return isinstance(block, str) or (isinstance(block, dict) and isinstance(block.get("text"), str))


def _own(item: Mapping[str, object]) -> list[object]:
    """The user's own blocks of a message. The client also sends its context and summaries as the user."""
    kinds = mapping(item.get("internal_chat_message_metadata_passthrough")).get("content_item_kinds")
    listed = kinds if isinstance(kinds, list) else []
    content = item.get("content")
    own: list[object] = []
    for number, block in enumerate(content if isinstance(content, list) else [content]):
        kind = listed[number] if number < len(listed) else "unknown"
        if str(kind).partition(".")[0] in {"user", "unknown"} and not text_of(block).lstrip().startswith(_NOT_SAID):
            own.append(block)
    return own
