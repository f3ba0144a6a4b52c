"""Numbers and lists as people say them."""

import math
import re
from collections.abc import Sequence
from datetime import datetime


def count(number: int, noun: str) -> str:
    """``1 turn``, ``2 turns``, ``1,204 turns``."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def ago(then: datetime, now: datetime) -> str:
    """How long ago, in the largest unit that fits: ``just now``, ``5 min ago``, ``3 h ago``, ``2 days ago``."""
    seconds = (now - then).total_seconds()
    if seconds < 0:
        return "in the future"
    if seconds < 60:
        return "just now"
    if seconds < 3600:
        return f"{int(seconds // 60)} min ago"
    if seconds < 2 * 86400:
        return f"{int(seconds // 3600)} h ago"
    return f"{count(int(seconds // 86400), 'day')} ago"


def nearest(word: str, known: Sequence[str], similarity: float = 0.6) -> str:
    """The known word that ``word`` was probably meant to be, or ``""``. ``similarity`` is the least, of 0 to 1."""
    import difflib

    return next(iter(difflib.get_close_matches(word, known, n=1, cutoff=similarity)), "")


#: Characters per token, by script. Source: measured means of current byte-pair vocabularies: about four Latin letters,
#: two of other alphabets, and one ideograph, kana or hangul syllable.
_LATIN, _OTHER, _WIDE = 4.0, 2.0, 1.0

_ASCII = re.compile(r"[\x00-\x7f]+")


def tokens(text: str) -> int:
    """Tokens in ``text``, rounded up; 0 only for the empty text."""
    if text.isascii():
        return math.ceil(len(text) / _LATIN)
    others = _ASCII.sub("", text)
    weight = (len(text) - len(others)) / _LATIN
    for char in others:
        code = ord(char)
        if code < 0x250:
            weight += 1 / _LATIN
        elif code >= 0x2E80:  # CJK and everything above it, including emoji
            weight += 1 / _WIDE
        else:
            weight += 1 / _OTHER
    return math.ceil(weight)
