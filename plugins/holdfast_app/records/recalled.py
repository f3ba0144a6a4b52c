"""Recalled memory in what agents read and said: documents between the tags, and messages without them."""

import re
from collections.abc import Iterable

from attrs import evolve

from holdfast.models import Turn
from holdfast.text.lazy import Lazy
from holdfast_models.recall import CLOSE, OPEN, defuse, without_name

#: The names of the stored facts and of the user's rules among a brief's documents.
FACTS = "facts"
RULES = "rules"
#: Begins the line with which a session's start introduces the fenced text.
INTRODUCTION = "holdfast keeps this project's memory."
_TAG = Lazy(r"<(/?)recalled-memory\b[^<>]{0,200}>", re.IGNORECASE)


def fence_parts(parts: Iterable[tuple[str, str]]) -> str:
    """Documents, as (name, text), between one pair of tags, each defused and preceded by its name."""
    return "\n".join((OPEN, "\n\n".join(f"{heading(name)}{defuse(text.strip())}" for name, text in parts), CLOSE))


def heading(name: str) -> str:
    order = ", newest first" if name in (FACTS, RULES) else ""  # so a reader knows which of two lines holds
    return f"<!-- {defuse(name)}{order} -->\n"


def escape(text: str) -> str:
    """``text`` without the tag's name (:func:`defuse`), with ``<``, ``>``, ``&`` as entities. Source: reading A18."""
    text = without_name(text)
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def strip(text: str) -> str:
    """``text`` without its fenced parts, nested ones too, and without holdfast's line before one.

    An unclosed fence that starts a line extends to the end. A mere mention of a tag stays.
    """
    if "<" not in text:  # the common case, and a long session has thousands of messages
        return text
    tags = list(_TAG.finditer(text))
    last_close = max((tag.start() for tag in tags if tag[1]), default=-1)
    parts: list[str] = []
    depth = position = 0  # ``position`` is where undecided text starts
    for tag in tags:
        if tag[1]:
            if depth == 1:
                position = tag.end()
            depth = max(0, depth - 1)
        elif tag.start() < last_close or text[max(0, tag.start() - 20) : tag.start()].rstrip(" \t")[-1:] in ("", "\n"):
            if depth == 0:
                parts.append(_without_introduction(text[position : tag.start()]))
            depth += 1
    return "".join(parts) if depth else "".join([*parts, text[position:]])


def _without_introduction(text: str) -> str:
    before, introduction, line = text.rpartition(INTRODUCTION)
    return before if introduction and "\n" not in line.strip() else text


def without_recalled(turns: Iterable[Turn]) -> tuple[Turn, ...]:
    """The turns without fenced parts, and without messages that contain nothing else."""
    remaining = []
    for turn in turns:
        stripped = [(m, strip(m.text)) for m in turn.messages]
        messages = [m if text == m.text else evolve(m, text=text) for m, text in stripped if text.strip() or not m.text]
        if messages:
            remaining.append(evolve(turn, messages=messages))
    return tuple(remaining)
