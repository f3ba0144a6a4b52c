"""Asking before something goes that cannot come back."""

from __future__ import annotations

import sys

from holdfast.cli.problem import UsageError
from holdfast.text.plain import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser


def add_yes(parser: ArgumentParser) -> None:
    """``--yes`` and ``--dry-run``."""
    parser.add_argument("--yes", action="store_true", help="do it without asking")
    parser.add_argument("--dry-run", action="store_true", help="only tell what would happen; nothing is written")


def require_person(what: str) -> None:
    """Raises: UsageError when nobody is there who could be asked."""
    if sys.stdin is None or not sys.stdin.isatty():
        raise UsageError(
            f"{what} cannot be undone, and nobody is there to be asked.",
            next_step="Look with --dry-run first, then give --yes.",
        )


def confirmed(question: str) -> bool:
    """Whether the person says yes; anything else is a no."""
    sys.stderr.write(f"{printable(question)} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().casefold() in ("y", "yes")
