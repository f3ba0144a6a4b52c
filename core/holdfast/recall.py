"""What was recalled from memory is data: it is fenced when it goes out, and never taken for something newly said."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from attrs import evolve

if TYPE_CHECKING:
    from holdfast.models import Turn

OPEN, CLOSE = "<recalled-memory>", "</recalled-memory>"

_TAG = re.compile(r"<(/?)recalled-memory\b[^<>]{0,200}>", re.IGNORECASE)


def fence(text: str) -> str:
    """``text`` between the tags, defused: nothing recalled can close its own fence."""
    return f"{OPEN}\n{defuse(text)}\n{CLOSE}"


def defuse(text: str) -> str:
    """``text`` with the ``<`` of every such tag in it as an entity."""
    return _TAG.sub(lambda tag: f"&lt;{tag[0][1:]}", text)


def escape(text: str) -> str:
    """``text`` with ``<``, ``>`` and ``&`` as entities. Source: reading A18."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def strip(text: str) -> str:
    """``text`` without its fenced parts, nested ones too.

    A fence that begins a line and is never closed reaches to the end; the mere mention of a tag stays.
    """
    if "<" not in text:  # most of what is said; a long session has thousands of messages
        return text
    tags = list(_TAG.finditer(text))
    last_close = max((tag.start() for tag in tags if tag[1]), default=-1)
    kept: list[str] = []
    depth = position = 0  # ``position``: where the text begins that is not yet decided about
    for tag in tags:
        if tag[1]:
            if depth == 1:
                position = tag.end()
            depth = max(0, depth - 1)
        elif tag.start() < last_close or _begins_line(text, tag.start()):
            if depth == 0:
                kept.append(text[position : tag.start()])
            depth += 1
    return "".join(kept) if depth else "".join([*kept, text[position:]])


def _begins_line(text: str, at: int) -> bool:
    return text[max(0, at - 20) : at].rstrip(" \t")[-1:] in ("", "\n")


def without_recalled(turns: Iterable[Turn]) -> tuple[Turn, ...]:
    """The turns as they were said: without fenced parts, and without messages that were nothing else."""
    said = []
    for turn in turns:
        stripped = [(m, strip(m.text)) for m in turn.messages]
        messages = [m if text == m.text else evolve(m, text=text) for m, text in stripped if text.strip() or not m.text]
        if messages:
            said.append(evolve(turn, messages=messages))
    return tuple(said)
