"""Numbers and lists as people say them."""

from __future__ import annotations

from holdfast.text.plain import in_one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime


def count(number: int, noun: str) -> str:
    """``1 turn``, ``2 turns``, ``1,204 turns``."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def some(names: Sequence[str], most: int = 5) -> str:
    """``names`` with commas, and of a long list the first ``most`` only: ``a, b, c, d, e and 4,995 more``."""
    more = len(names) - most
    return ", ".join(map(in_one_line, names[:most])) + (f" and {more:,} more" if more > 0 else "")


def size(number: int) -> str:
    """Bytes as ``744 B``, ``12.3 kB``, ``4.1 MB`` (powers of 1000)."""
    if number < 1000:
        return f"{number} B"
    value = number / 1000
    for unit in ("kB", "MB"):
        if value < 999.95:
            return f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"


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


def nearest(word: str, known: list[str]) -> str:
    """The known word that ``word`` was probably meant to be, or ``""``."""
    import difflib

    return next(iter(difflib.get_close_matches(word, known, n=1, cutoff=0.6)), "")
