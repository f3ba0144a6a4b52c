"""The plain form of a custom loop: ``{"role", "content"}``, one row each, as one array, or under ``messages``.

Tool calls are read in three common shapes: ``tool_calls`` with rows of role ``tool``, content blocks, and items of the
Responses interface. A Codex rollout holds such items, too. Source: request formats of the Chat Completions, Messages
and Responses interfaces, and rollouts of Codex 0.169.0.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final

from holdfast.text import untrusted
from holdfast_app.message_formats.leaves import STRUCTURE, block_text, clean, has_words, leaf_text, readable, says
from holdfast_app.message_formats.reading import Reading, mapping, moment_of, row_key

#: ``caller`` shows that the model itself made the call.
_TOOL_USE: Final = frozenset({*STRUCTURE, "name", "input", "caller"})
_RESULT: Final = frozenset({*STRUCTURE, "content", "is_error"})
#: Blocks of a user's message that hold other people's words.
_ATTACHED: Final = frozenset({"document", "search_result", "file", "input_file", "resource", "attachment"})


def text_of(content: object) -> str:
    """The text blocks of a content value. The rest is left out."""
    blocks = content if isinstance(content, list | tuple) else [content]
    texts = (block.get("text") if isinstance(block, dict) else block for block in blocks)
    return "\n".join(text for text in texts if isinstance(text, str))


def take_content(reading: Reading, role: str, content: object, *, key: str, change: Callable[[str], str] = str) -> None:
    """Add the contents of ``content``, in order. ``change`` is applied to each string.

    The first block keeps the row's ``key``; the others get ``key#n``, where n is their position. A text block's other
    members become a separate message, so that the text is recognised wherever it appears.
    """
    for number, block in enumerate(content if isinstance(content, list | tuple) else [content]):
        own = f"{key}#{number}" if number else key
        if isinstance(block, str):
            reading.say(role, change(block), key=own)
        elif isinstance(block, dict):
            _take_block(reading, role, block, key=own, change=change)
        elif isinstance(block, list | tuple):
            reading.say(role, readable(block, change), key=own)
        elif block is not None:
            reading.say(role, leaf_text(block), key=own, aside=True)


def _take_block(
    reading: Reading, role: str, block: Mapping[str, object], *, key: str, change: Callable[[str], str]
) -> None:
    kind = clean(block.get("type"))
    rest = ""
    if "thinking" in kind or kind == "reasoning":
        reading.think(block, key=key, change=change)
    elif kind == "compaction":  # the server's words, which nobody said in the conversation
        reading.summary(readable(block, change, but=STRUCTURE).removeprefix("content:").strip(), key=key)
    elif kind.endswith("tool_use"):
        reading.call(block.get("name"), block.get("input"), key=key, call_id=block.get("id"))
        rest = readable(block, change, but=_TOOL_USE)
    elif kind.endswith("tool_result"):
        failed = block.get("is_error") is True
        call_id = block.get("tool_use_id")
        reading.answer(block.get("content"), key=key, call_id=call_id, failed=failed, change=change)
        rest = readable(block, change, but=_RESULT)
    elif role == "user" and kind in _ATTACHED and has_words(block):  # the user attached it and did not write it
        reading.answer(dict(block), key=key, tool=kind, change=change)
    else:
        text, rest = block_text(dict(block), change)
        reading.say(role, text, key=key, aside=not has_words(block))
    reading.say("system" if role == "assistant" else role, rest, key=f"{key}#rest")  # citations, for example


#: Items that only the provider can read, or that repeat other rows.
BOOKKEEPING: Final = frozenset({"item_reference", "compaction", "compaction_summary", "ghost_snapshot"})
_ANSWERED: Final = frozenset({"function_call", "custom_tool_call", "local_shell_call"})  # a web search never is
_ARGUMENTS: Final = ("arguments", "input", "action")
_KNOWN: Final = frozenset({*STRUCTURE, "name", *_ARGUMENTS, "internal_chat_message_metadata_passthrough"})
_ANSWER: Final = frozenset({*STRUCTURE, "output", "internal_chat_message_metadata_passthrough"})
_MAX_PREAMBLE_CHARS: Final = 500
_EXIT_CODE: Final = re.compile(r"^(?:Process exited with code|Exit code:) (-?\d+)", re.MULTILINE)


def take_item(item: Mapping[str, object], key: str, reading: Reading) -> bool:
    """Add the item's contents; False when it has no type, or an unknown role."""
    kind = clean(item.get("type"))
    if not kind or kind == "message" or "role" in item:
        return False
    call_id = item.get("call_id")
    rest = ""
    if kind in BOOKKEEPING:
        summary = text_of(item.get("content"))
        reading.summary(summary, key=key)
        other = {name: value for name, value in item.items() if name != "content" or not summary}
        rest = readable(other) if says(other) else ""
    elif kind == "reasoning":
        reading.think(item, key=key)
    elif kind.endswith("_call_output"):
        output, failed = _result(item.get("output"))
        reading.answer(output, key=key, call_id=call_id, failed=failed)
        rest = readable(item, but=_ANSWER)
    elif kind.endswith("_call"):
        name = item.get("name") or kind.removesuffix("_call")
        used = next((member for member in _ARGUMENTS if member in item), "")
        reading.call(name, parsed(item.get(used)), key=key, call_id=call_id if kind in _ANSWERED else None)
        rest = readable(item, but=_KNOWN - {*_ARGUMENTS} | {used})
    elif has_words({name: value for name, value in item.items() if name not in STRUCTURE}):
        reading.unread += 1
        reading.say("system", f"[{kind}]\n{readable(item, but=STRUCTURE)}", key=key)
    else:
        return False
    reading.say("system", rest, key=f"{key}#rest")
    return True


def parsed(arguments: object) -> object:
    """A call's arguments, which some interfaces send as JSON in a string."""
    if isinstance(arguments, str) and arguments.lstrip()[:1] in {"{", "["}:
        try:
            return untrusted.from_json(arguments)
        except ValueError:
            return arguments
    return arguments


def _result(output: object) -> tuple[object, bool]:
    """A tool's output, without the client's preamble, and whether it failed."""
    if not isinstance(output, str):
        return output, isinstance(output, dict) and output.get("success") is False
    preamble, marker, printed = output.partition("Output:\n")
    code = _EXIT_CODE.search(preamble) if marker and len(preamble) < _MAX_PREAMBLE_CHARS else None
    return (output, False) if code is None else (printed, code.group(1) != "0")


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
    role = row.get("role")
    return isinstance(role, str) and role in _ROLES and ("content" in row or "tool_calls" in row)


def take(row: Mapping[str, object], position: int, reading: Reading) -> bool:
    """Add the message's contents; False when it is not a message.

    Rows with the roles ``system`` and ``developer`` before any other row are the loop's own instructions, not kept.
    """
    role = clean(row.get("role"))
    reading.at(row.get("timestamp", row.get("created_at", row.get("at"))))
    if role not in _ROLES:
        reading.begun = True
        shown = readable({name: value for name, value in row.items() if name != "id"})
        return take_item(row, row_key(row.get("id"), position, shown), reading)
    content = row.get("content")
    key = row_key(row.get("id"), position, role, text_of(content))
    if role in {"system", "developer"} and not reading.begun:
        return True
    reading.begun = True
    if role in {"tool", "function"}:
        failed = row.get("is_error") is True
        reading.answer(content, key=key, call_id=row.get("tool_call_id"), failed=failed, tool=row.get("name"))
    else:
        take_content(reading, _SAYING[role], content, key=key)
    _take_calls(row, key, reading)
    rest = {name: value for name, value in row.items() if name not in _READ and not _is_made(name, value)}
    if role not in {"tool", "function"} and "name" in row:
        rest["name"] = row["name"]
    for name in [name for name in rest if "reasoning" in name or "thinking" in name]:
        reading.think({name: rest.pop(name)}, key=f"{key}#{name}")
    reading.say(_SAYING.get(role, "system"), readable(rest, flags=False), key=f"{key}#more")
    return True


def _is_made(name: str, value: object) -> bool:
    """Whether the member only records when or how the row was made."""
    if name not in _MADE or not says(value):
        return name in _MADE
    return name == "logprobs" or (name in _TIMES and moment_of(value) is not None)


def _take_calls(row: Mapping[str, object], key: str, reading: Reading) -> None:
    calls = row.get("tool_calls")
    for number, call in enumerate(calls if isinstance(calls, list | tuple) else [calls]):
        own = f"{key}#call{number}"
        if not isinstance(call, dict):
            reading.say("assistant", readable(call), key=own)
            continue
        function = mapping(call.get("function")) or mapping(call.get("custom"))
        name, arguments = function.get("name"), function.get("arguments", function.get("input"))
        if not function:
            name, arguments = call.get("name"), call.get("arguments", call.get("args", call.get("input")))
        reading.call(name, parsed(arguments), key=own, call_id=call.get("id"))
        rest = readable(call, but=_CALL) if function else readable(call, but=_FLAT_CALL)
        inner = readable(function, but={"name", "arguments", "input"})
        reading.say("assistant", "\n".join(filter(None, (rest, inner))), key=f"{own}#rest")


_CALL: Final = frozenset({"id", "type", "index", "function", "custom", "name", "arguments", "input", "call_id"})
_FLAT_CALL: Final = (_CALL | {"args"}) - {"function", "custom"}
