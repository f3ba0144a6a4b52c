"""Numbers that no source has, and that follow from those it has: counts, shares, remainders, percentages.

All functions take the best units for a line, best first. Linear in their number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from holdfast_app.dream.grounding.evidence import Match
from holdfast_app.dream.grounding.tokens import Reader, Token, digits, value_of

_SUPPORTS: Final = 3
_ABOUT: Final = re.compile(
    r"(?:\b(?:about|around|roughly|nearly|almost|approximately|circa|over|under|more than|less than|up to)\W*|~)\Z",
    re.IGNORECASE,
)
_FRACTION: Final = re.compile(r"[0-9]{1,6}/[0-9]{1,6}\Z")
_LEFT: Final = re.compile(
    r"\b(?:left|remain(?:s|ing)?|still|other|rest|yet|outstanding|missing|open|unpaid|to go)\b", re.IGNORECASE
)
_SHARE: Final = re.compile(r"(?<![\w.])\.*(\w[\w.]*) (?:out )?of (?:the |our |all )?([\w.]+)\b")


def is_reckoned(token: Token, body: str, matches: Sequence[Match]) -> bool:
    """Whether a number is a source's number rounded, or its percentage."""
    return _is_rounded(token, body, matches) or _is_percentage(token, matches)


def is_listed(token: Token, body: str) -> bool:
    """A small number of things that the line itself lists: ``three regions: eu, us and ap``."""
    value = token.wants[0].lstrip("#=")
    if not value.isdigit() or not 2 <= int(value[:3]) <= 12 or token.group != "number:":
        return False
    rest = body[token.at :]
    listed = rest.partition(":")[2] or rest
    listed = re.split(r"[.;(]\s", listed, maxsplit=1)[0]
    parts = re.split(r",\s*(?:and|or|und)\s+|,\s*|\s+(?:and|or|und)\s+", listed)
    return len(parts) == int(value)


def is_share(text: str, matches: Sequence[Match]) -> bool:
    """``7/12`` where a supporting line says 7 of 12."""
    if not _FRACTION.match(text):
        return False
    return any(all(m.unit.holds((f"#{part}",)) for part in text.split("/")) for m in matches[:_SUPPORTS])


def is_rest(token: Token, body: str, matches: Sequence[Match]) -> bool:
    """``five are left`` where a supporting line says 7 of 12."""
    value = value_of(token)
    if not value or not _LEFT.search(body):
        return False
    for match in matches[:1]:
        others = [n for t in match.unit.tokens if t.group == token.group and (n := value_of(t)) is not None]
        if any(whole - part == value for whole in others for part in others):
            return True
    return False


def miscounted(body: str, matches: Sequence[Match]) -> Iterator[tuple[str, str]]:
    """``four of the five`` where the best source lines say three of five."""
    for words, part, whole in _shares(body):
        near = [share for match in matches[:_SUPPORTS] for share in _shares(match.unit.text)]
        theirs = [other for _, other, of in near if of == whole]
        if theirs and part not in (*theirs, *(whole - other for other in theirs)):
            yield "number", words


def _shares(text: str) -> Iterator[tuple[str, float, float]]:
    """``3 of 5`` in words or numbers."""
    for found in _SHARE.finditer(text):
        numbers = [value for t in Reader().tokens(f"{found[1]} {found[2]}") if (value := value_of(t)) is not None]
        if len(numbers) == 2:
            yield found[0], numbers[0], numbers[1]


def _is_rounded(token: Token, body: str, matches: Sequence[Match]) -> bool:
    """``about 1,500`` where a supporting line says 1,487."""
    value = value_of(token)
    if not value or not _ABOUT.search(body[max(0, token.at - 20) : token.at]):
        return False
    for match in matches[:_SUPPORTS]:
        for other in match.unit.tokens:
            near = value_of(other) if other.group == token.group else None
            if near and abs(near - value) <= 0.07 * abs(near) and digits(value) < digits(near):
                return True
    return False


def _is_percentage(token: Token, matches: Sequence[Match]) -> bool:
    """``93 %`` where a supporting line says 41 of 44."""
    value = value_of(token)
    if not value or not token.text.lower().endswith(("%", "percent")):
        return False
    for match in matches[:1]:
        counts = [n for t in match.unit.tokens if t.group == "number:" and (n := value_of(t))]
        if any(part < whole and round(100 * part / whole) == round(value) for part in counts for whole in counts):
            return True
    return False
