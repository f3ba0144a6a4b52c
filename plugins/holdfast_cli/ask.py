"""Confirmation before a change that cannot be undone."""

from __future__ import annotations

import sys

from holdfast.text.plain import printable
from holdfast_cli.problem import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser


def add_yes(parser: ArgumentParser) -> None:
    """``--yes`` and ``--dry-run``."""
    parser.add_argument("--yes", action="store_true", help="do it without asking")
    parser.add_argument("--dry-run", action="store_true", help="show the changes without making them")


def require_person(what: str) -> None:
    """Raises: UsageError when stdin is not a terminal, so holdfast cannot ask."""
    if sys.stdin is None or not sys.stdin.isatty():
        raise UsageError(
            f"{what} cannot be undone, and stdin is not a terminal, so holdfast cannot ask.",
            next_step="Check with --dry-run first, then pass --yes.",
        )


def confirmed(question: str) -> bool:
    """Whether the user answers yes. Any other answer is a no."""
    sys.stderr.write(f"{printable(question)} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().casefold() in ("y", "yes")
