"""Make third-party text safe for holdfast's own lines and for terminals."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from holdfast.models import Payload

#: Characters that end a line for ``str.splitlines``.
LINE_ENDS = "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"

#: Maximum number of combining marks after a character, and a row of characters that may hold more: marks are neither
#: ASCII, letters, digits nor blanks.
_MAX_MARKS = 30
_MARKS = r"[^\x00-\x7f\w\s]{31,}"

#: Punctuation that may end a statement.
FINAL = " .!;,:…。！"
#: The byte-order mark that some editors write first; not part of the text.
BOM = "\ufeff"

#: Control characters that Markdown does not need and that break readers; newline and tab stay. Lone surrogates
#: cannot be encoded as UTF-8.
_CONTROLS = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 127), "�")
_CONTROL_BYTES = bytes(_CONTROLS)
#: Every character that :mod:`holdfast.text.invisible` may change is in this set or in the tag plane, from U+E0000.
_SUSPECT = frozenset(map(chr, (
    *range(0x80, 0xA0), 0xAD, 0x61C, 0x180E, *range(0x200B, 0x2010), *range(0x2028, 0x202F), *range(0x2060, 0x2070),
    *range(0xFE00, 0xFE10), 0xFEFF, *range(0xFFF9, 0xFFFC), 0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0,
)))  # fmt: skip
_TAGS = "\U000e0000"


def lines(text: str, *, start: int = 0, keepends: bool = False) -> Iterator[tuple[int, str]]:
    """(offset, line) of the lines of ``text.splitlines(keepends)`` from the offset ``start`` on, one at a time. A list
    of short lines takes many times their bytes."""
    if any(end in text for end in LINE_ENDS[1:]):
        for match in re.compile(f"\r\n|[{LINE_ENDS}]").finditer(text, start):
            yield start, text[start : match.end() if keepends else match.start()]
            start = match.end()
    else:
        while (end := text.find("\n", start)) >= 0:
            yield start, text[start : end + 1 if keepends else end]
            start = end + 1
    if start < len(text):
        yield start, text[start:]


def untagged(text: str) -> str:
    """``text`` with the letters that its tag characters stand for. They print nothing, but a model reads them."""
    if max(text, default="") <= _TAGS:
        return text
    return text.translate({ord(_TAGS) + code: code for code in range(32, 127)})


def normalized(form: Literal["NFC", "NFD", "NFKC"], text: str) -> str:
    """``unicodedata.normalize`` of ``text`` with at most 30 combining marks per character. It orders them in time with
    the square of their number: minutes for 300 kB. Source: Unicode Annex 15, Stream-Safe Text Format."""
    import unicodedata

    return unicodedata.normalize(form, text if text.isascii() else re.sub(_MARKS, _without_surplus, text))


def same_key(text: str) -> str:
    """The key of statements that differ only in case, spacing or final punctuation."""
    key = " ".join(normalized("NFC", text).casefold().split())
    return key.rstrip(FINAL) or key


def _without_surplus(match: re.Match[str]) -> str:
    from unicodedata import combining

    chars: list[str] = []
    row = 0
    for char in match[0]:
        row = row + 1 if combining(char) else 0
        if row <= _MAX_MARKS:
            chars.append(char)
    return "".join(chars)


def one_line(text: str) -> str:
    """``text`` on one line and without comment openers, so that it cannot imitate a marker."""
    return " ".join(text.split()).replace("<!--", "&lt;!--")


def clip(text: str, limit: int) -> str:
    """``text``, of at most ``limit`` characters, ended with an ellipsis if it was longer."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def clean(text: str) -> str:
    """``text`` in storable form: line ends become ``\\n``, control characters and lone surrogates ``U+FFFD``, and
    characters that hide or reorder text are removed or made visible, see :mod:`holdfast.text.invisible`."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError:
        text = text.translate(_CONTROLS).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        data = text.encode("utf-8")
    if not text.isascii():
        characters = set(text)
        if not _SUSPECT.isdisjoint(characters) or max(characters) >= _TAGS:
            from holdfast.text import invisible

            text = invisible.without(text)
            data = text.encode("utf-8")
    # In UTF-8 these bytes have no other meaning, and searching for them is ten times as fast as translating the text.
    return text if len(data.translate(None, _CONTROL_BYTES)) == len(data) else text.translate(_CONTROLS)


def is_none(text: str | None) -> bool:
    """Whether a string means "nothing": blank or the word none."""
    return text is None or text.strip().strip(".").casefold() in ("", "none", "n/a", "nothing")


def is_open(payload: Payload) -> bool:
    """Whether work is open. Fails closed: any sign of open work counts unless the caller declares it closed (A41)."""
    if payload.work_open is not None:
        return payload.work_open
    handoff = payload.handoff
    return (
        not is_none(payload.next_step)
        or any(not is_none(b) for b in payload.blockers or ())
        or any(not is_none(f) for f in payload.follow_ups or ())
        or any(not is_none(n) for n in payload.needs_operator or ())
        or (handoff is not None and not (is_none(handoff.active_task) and is_none(handoff.blocker)))
    )
