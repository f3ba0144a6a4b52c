"""Content in the shape of the Messages API: a text, or blocks of text, tool calls and tool results."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from holdfast.excerpts import clean, without_injected
from holdfast.transcripts.reading import Reading, objects


def text_of(content: object) -> str:
    """The text of a content value; pictures and files are named in brackets, anything else is left out."""
    if isinstance(content, str):
        return content
    parts: list[str] = []
    for block in objects(content):
        text = block.get("text")
        if isinstance(text, str):
            parts.append(text)
        elif clean(block.get("type")) in {"image", "input_image", "image_url"}:
            parts.append("[image]")
        elif clean(block.get("type")) in {"document", "file", "input_file"}:
            parts.append("[file]")
    return "\n".join(parts)


def take_content(reading: Reading, role: str, content: object, *, key: str, at: datetime) -> None:
    """Add what ``content`` holds, in order. Thinking is no statement and is passed over.

    The first block keeps the row's ``key``; the others get ``key#n``, n being their place.
    """
    if isinstance(content, str):
        reading.say(role, without_injected(content), key=key, at=at)
        return
    for number, block in enumerate(objects(content)):
        own = f"{key}#{number}" if number else key
        kind = clean(block.get("type"))
        if "thinking" in kind:
            continue
        if kind.endswith("tool_use"):
            reading.call(block.get("name"), block.get("input"), key=own, call_id=block.get("id"), at=at)
        elif kind.endswith("tool_result"):
            _take_result(reading, block, key=own, at=at)
        else:
            reading.say(role, without_injected(text_of([block])), key=own, at=at)


def _take_result(reading: Reading, block: Mapping[str, object], *, key: str, at: datetime) -> None:
    reading.answer(
        without_injected(text_of(block.get("content"))),
        key=key,
        call_id=block.get("tool_use_id"),
        at=at,
        failed=block.get("is_error") is True,
    )
