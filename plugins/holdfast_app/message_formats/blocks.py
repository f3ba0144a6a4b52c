"""Content shaped like the Messages API's (a string, a block, or a list mixing both)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final

from holdfast_app.message_formats.excerpts import clean
from holdfast_app.message_formats.leaves import STRUCTURE, block_text, has_words, leaf_text, readable
from holdfast_app.message_formats.reading import Reading

#: ``caller`` shows that the model itself made the call.
_CALL: Final = frozenset({*STRUCTURE, "name", "input", "caller"})
_RESULT: Final = frozenset({*STRUCTURE, "content", "is_error"})


def text_of(content: object) -> str:
    """A content value's text blocks. Pictures and files are named in brackets, and the rest is left out."""
    if isinstance(content, str):
        return content
    parts: list[str] = []
    for block in content if isinstance(content, list | tuple) else [content]:
        if isinstance(block, str):
            parts.append(block)
        elif isinstance(block, dict) and isinstance(block.get("text"), str):
            parts.append(block["text"])
    return "\n".join(parts)


def take_content(
    reading: Reading, role: str, content: object, *, key: str, at: datetime, change: Callable[[str], str] = str
) -> None:
    """Add the contents of ``content``, in order. ``change`` is applied to each string.

    The first block keeps the row's ``key``; the others get ``key#n``, where n is their position. A text block's other
    members become a separate message, so that the text is recognised wherever it appears.
    """
    for number, block in enumerate(content if isinstance(content, list | tuple) else [content]):
        own = f"{key}#{number}" if number else key
        if isinstance(block, str):
            reading.say(role, change(block), key=own, at=at)
        elif isinstance(block, dict):
            _take_block(reading, role, block, key=own, at=at, change=change)
        elif isinstance(block, list | tuple):
            reading.say(role, readable(block, change), key=own, at=at)
        elif block is not None:
            reading.say(role, leaf_text(block), key=own, at=at, aside=True)


def _take_block(
    reading: Reading,
    role: str,
    block: Mapping[str, object],
    *,
    key: str,
    at: datetime,
    change: Callable[[str], str],
) -> None:
    kind = clean(block.get("type"))
    rest = ""
    if "thinking" in kind or kind == "reasoning":
        reading.think(block, key=key, at=at, change=change)
    elif kind.endswith("tool_use"):
        reading.call(block.get("name"), block.get("input"), key=key, call_id=block.get("id"), at=at)
        rest = readable(block, change, but=_CALL)
    elif kind.endswith("tool_result"):
        failed = block.get("is_error") is True
        call_id = block.get("tool_use_id")
        reading.answer(block.get("content"), key=key, call_id=call_id, at=at, failed=failed, change=change)
        rest = readable(block, change, but=_RESULT)
    else:
        text, rest = block_text(dict(block), change)
        reading.say(role, text, key=key, at=at, aside=not has_words(block))
    reading.say(role, rest, key=f"{key}#rest", at=at)
