"""Items of the Responses interface other than messages: tool calls, their outputs, reasoning, and others.

A loop's own list and a Codex rollout hold the same items. Source: its request format, and rollouts of Codex
0.169.0.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Final

from holdfast.text import untrusted
from holdfast_app.message_formats.excerpts import clean
from holdfast_app.message_formats.leaves import STRUCTURE, has_words, readable, says
from holdfast_app.message_formats.reading import Reading

#: Items that only the provider can read, or that repeat other rows.
BOOKKEEPING: Final = frozenset({"item_reference", "compaction", "compaction_summary", "ghost_snapshot"})
_ANSWERED: Final = frozenset({"function_call", "custom_tool_call", "local_shell_call"})  # a web search never is
_ARGUMENTS: Final = ("arguments", "input", "action")
_KNOWN: Final = frozenset({*STRUCTURE, "name", *_ARGUMENTS, "internal_chat_message_metadata_passthrough"})
_ANSWER: Final = frozenset({*STRUCTURE, "output", "internal_chat_message_metadata_passthrough"})
_MAX_PREAMBLE_CHARS: Final = 500
_EXIT_CODE: Final = re.compile(r"^(?:Process exited with code|Exit code:) (-?\d+)", re.MULTILINE)


def take(item: Mapping[str, object], key: str, at: datetime, reading: Reading) -> bool:
    """Add the item's contents; False when it has no type, or an unknown role."""
    kind = clean(item.get("type"))
    if not kind or kind == "message" or "role" in item:
        return False
    call_id = item.get("call_id")
    rest = ""
    if kind in BOOKKEEPING:
        reading.leave_out(kind)
        rest = readable(item) if says(item) else ""
    elif kind == "reasoning":
        reading.think(item, key=key, at=at)
    elif kind.endswith("_call_output"):
        output, failed = _result(item.get("output"))
        reading.answer(output, key=key, call_id=call_id, at=at, failed=failed)
        rest = readable(item, but=_ANSWER)
    elif kind.endswith("_call"):
        name = item.get("name") or kind.removesuffix("_call")
        used = next((member for member in _ARGUMENTS if member in item), "")
        awaited = call_id if kind in _ANSWERED else None
        reading.call(name, parsed(item.get(used)), key=key, call_id=awaited, at=at)
        rest = readable(item, but=_KNOWN - {*_ARGUMENTS} | {used})
    elif has_words({name: value for name, value in item.items() if name not in STRUCTURE}):
        reading.say("system", f"[{kind}]\n{readable(item, but=STRUCTURE)}", key=key, at=at)
    else:
        return False
    reading.say("system", rest, key=f"{key}#rest", at=at)
    return True


def parsed(given: object) -> object:
    """A call's arguments, which some interfaces send as JSON in a string."""
    if isinstance(given, str) and given.lstrip()[:1] in {"{", "["}:
        try:
            return untrusted.from_json(given)
        except ValueError:
            return given
    return given


def _result(output: object) -> tuple[object, bool]:
    """A tool's output, without the client's preamble, and whether it failed."""
    failed = False
    if isinstance(output, dict) and ("content" in output or "output" in output):
        success = output.get("success")
        failed = success is False
        name = "content" if "content" in output else "output"
        rest = {key: value for key, value in output.items() if key != name and (key != "success" or says(success))}
        output = [*([rest] if has_words(rest) else []), output[name]]
        if len(output) == 1:
            output = output[0]
    if not isinstance(output, str):
        return output, failed
    preamble, marker, printed = output.partition("Output:\n")
    code = _EXIT_CODE.search(preamble) if marker and len(preamble) < _MAX_PREAMBLE_CHARS else None
    if code is None:
        return output, failed
    return printed, failed or code.group(1) != "0"
