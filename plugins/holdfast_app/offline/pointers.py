"""Pointers in messages: issue and pull request numbers, URLs, commits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from holdfast.text.lazy import Lazy

_POINTER: Final = Lazy(
    r"(?P<url>https?://[^\s<>\"'`|\\^{}]{4,500})"
    r"|(?<![\w/#&.-])(?P<full>[A-Za-z0-9][\w.-]{0,80}/[A-Za-z0-9][\w.-]{0,80}#[1-9]\d{0,6})\b"
    # One digit alone is more often a rank ("the #1 reason"), six a colour.
    r"|(?<![\w/#&.-])(?P<number>#[1-9]\d{1,4})\b(?!-)"
    r"|\b(?:issues?|prs?|pull requests?|mrs?|fix(?:es|ed)?|clos(?:es|ed)|refs|see) (?P<single>#[1-9])\b"
    r"|\b(?:commit(?:ted)?|pushed|merged)(?: (?:as|in|at|is|sha|hash|id))?:? `?(?P<sha>(?=[a-f]*\d)[0-9a-f]{7,40})\b",
    re.IGNORECASE,
)
_LOOPBACK: Final = Lazy(r"https?://(?:localhost|127\.|\[::1\]|0\.0\.0\.0)", re.IGNORECASE)


def may_point(text: str) -> bool:
    """Whether ``text`` may hold a pointer at all; much faster than searching for one."""
    return any(hint in text for hint in ("#", "://", "ommit", "ushed", "erged"))


def pointers(line: str) -> Iterator[str]:
    """Pointers from a line, in order. Loopback URLs are left out, because they work only on this machine."""
    for found in _POINTER.finditer(line):
        text = found[found.lastgroup or 0]
        if found.lastgroup == "number" and len(text) == 4 and len({*text[1:]}) == 1:
            continue  # a colour
        if found.lastgroup == "url":
            text = text.rstrip(".,;:!?*_")
            while text.endswith((")", "]")) and text.count("(") + text.count("[") < text.count(")") + text.count("]"):
                text = text[:-1].rstrip(".,;:!?*_")
            if _LOOPBACK.match(text):
                continue
        yield text
