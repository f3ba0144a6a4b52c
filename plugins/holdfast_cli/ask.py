"""Questions before a change that cannot be undone."""

from __future__ import annotations

import sys

from holdfast.text.plain import printable


def can_ask() -> bool:
    """Whether stdin is a terminal."""
    return sys.stdin is not None and sys.stdin.isatty()


def confirmed(question: str) -> bool:
    """Whether the user answers yes. Any other answer is a no."""
    sys.stderr.write(f"{printable(question)} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().casefold() in ("y", "yes")
