"""Recalled memory is data, so it is fenced on output and never treated as a new message."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from attrs import evolve

from holdfast.text.lazy import Lazy

if TYPE_CHECKING:
    from holdfast.models import Turn

OPEN, CLOSE = "<recalled-memory>", "</recalled-memory>"

#: The stored facts' name among a brief's documents.
FACTS = "facts"
#: The same for the user's rules.
RULES = "rules"

#: Begins the line with which a session's start introduces the fenced text.
INTRODUCTION = "holdfast keeps this project's memory."

#: Inserted into the tag's name wherever fenced text contains it, so that the text cannot contain the tag.
MARK = "[quoted]"

_TAG = Lazy(r"<(/?)recalled-memory\b[^<>]{0,200}>", re.IGNORECASE)
#: In folded text: everything between two letters or digits is noise that a lenient reader may skip.
_NOISE = r"[^a-z0-9\x01]*+"
_QUOTED = rf"(?:{re.escape(MARK)}|[^a-z0-9\x01])*+"
_NAME = Lazy(rf"({_NOISE.join('recalled')}){_QUOTED}{_NOISE.join('memory')}")
#: A ``<`` that a reader may take for the start of tags, comments or instructions, or an entity for it. holdfast's own
#: note markers stay, because a comment closed on its line hides nothing, and this form is not a :func:`heading`.
_TAG_START = Lazy(r"<(?!!-- (?:holdfast:\w+ )?\w+=[^<>\n]*-->)(?=[^\W\d_]|\s*[/!?])|&(?=(?:amp;)*lt;)")
_ENTITY = Lazy(r"&(?:amp;)*(?:#[0-9]{1,8}|#x[0-9a-f]{1,8}|[a-z][a-z0-9]{1,31});?", re.IGNORECASE)
#: Letters from other scripts that look like a letter in the name. Source: Unicode TR39, confusables.
_LOOK_ALIKE = dict(zip("асԁеӏмоуүгοαԛе", "acdelmoyyroaqe", strict=True))


def fence(text: str) -> str:
    """``text`` between the tags, defused so that it cannot close its own fence."""
    return f"{OPEN}\n{defuse(text)}\n{CLOSE}"


def fence_parts(parts: Iterable[tuple[str, str]]) -> str:
    """Documents, as (name, text), between one pair of tags, each defused and preceded by its name."""
    return "\n".join((OPEN, "\n\n".join(f"{heading(name)}{defuse(text.strip())}" for name, text in parts), CLOSE))


def heading(name: str) -> str:
    """The line before a document's text between the tags."""
    return f"<!-- {defuse(name)} -->\n"


def defuse(text: str) -> str:
    """``text`` made safe to put between the tags; :func:`original` undoes it.

    The result does not contain the tag's name in any spelling: other case or width, with blanks, invisible characters
    or line ends inside, or as entities. So it cannot contain the tag, with any kind of bracket. No ``<`` in it starts
    another tag, comment or instruction either, which could close the client's own wrapper.
    """
    if "<" in text or "&" in text:
        text = _TAG_START.sub(lambda found: "&lt;" if found[0] == "<" else "&amp;", text)
    return _without_name(text)


def _without_name(text: str) -> str:
    ends = [found.end(1) for found in _NAME.finditer(_folded(text))]
    if not ends:
        return text
    starts = [0, *ends]
    return MARK.join(text[start:end] for start, end in zip(starts, [*ends, len(text)], strict=True))


def _folded(text: str) -> str:
    """``text`` in lower case, with its length unchanged. Each character, and each entity at its first position, becomes
    the plain letter or digit that a lenient reader takes it for; letters not in the tag's name become U+0001."""
    if "&" in text:
        text = _ENTITY.sub(_decoded, text)
    return text.translate(_FOLDS)


def _decoded(entity: re.Match[str]) -> str:
    import html

    plain = html.unescape(html.unescape(re.sub("(?i)^&(amp;)+", "&", entity[0])).removesuffix(";"))
    return plain.ljust(len(entity[0]), "\0") if len(plain) == 1 else entity[0]


class _Folds(dict[int, str]):
    """Filled on demand."""

    def __missing__(self, code: int) -> str:
        import unicodedata

        char = chr(code)
        base = "".join(c for c in unicodedata.normalize("NFKD", char) if not unicodedata.combining(c)).casefold()
        base = _LOOK_ALIKE.get(base, base)
        if len(base) != 1 or not base.isascii():
            base = "\x01" if unicodedata.category(char)[0] in "LN" else "\0"
        self[code] = base
        return base


_FOLDS = _Folds()


def escape(text: str) -> str:
    """``text`` without the tag's name, see :func:`defuse`, and with ``<``, ``>`` and ``&`` as entities. Source: reading
    A18."""
    text = _without_name(text)
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def strip(text: str) -> str:
    """``text`` without its fenced parts, nested ones too, and without holdfast's line before one.

    An unclosed fence that starts a line extends to the end. A mere mention of a tag stays.
    """
    if "<" not in text:  # the common case, and a long session has thousands of messages
        return text
    tags = list(_TAG.finditer(text))
    last_close = max((tag.start() for tag in tags if tag[1]), default=-1)
    kept: list[str] = []
    depth = position = 0  # ``position`` is where undecided text starts
    for tag in tags:
        if tag[1]:
            if depth == 1:
                position = tag.end()
            depth = max(0, depth - 1)
        elif tag.start() < last_close or text[max(0, tag.start() - 20) : tag.start()].rstrip(" \t")[-1:] in ("", "\n"):
            if depth == 0:
                kept.append(_without_introduction(text[position : tag.start()]))
            depth += 1
    return "".join(kept) if depth else "".join([*kept, text[position:]])


def _without_introduction(text: str) -> str:
    before, found, line = text.rpartition(INTRODUCTION)
    return before if found and "\n" not in line.strip() else text


def without_recalled(turns: Iterable[Turn]) -> tuple[Turn, ...]:
    """The turns without fenced parts, and without messages that contain nothing else."""
    said = []
    for turn in turns:
        stripped = [(m, strip(m.text)) for m in turn.messages]
        messages = [m if text == m.text else evolve(m, text=text) for m, text in stripped if text.strip() or not m.text]
        if messages:
            said.append(evolve(turn, messages=messages))
    return tuple(said)
