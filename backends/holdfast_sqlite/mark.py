"""How many facts were ever stored, and how many of them left by a call: ``state/NAME.db.mark``, one line.

By it rows that vanished are noticed. Neither number ever falls, so an old mark is too low and never too high. It is
written when a process lets go of the store, and not flushed.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from holdfast.fs import durable


class Mark(NamedTuple):
    """``stored`` counts all facts ever stored, ``removed`` the evicted and deleted ones."""

    stored: int = 0
    removed: int = 0

    def highest(self, other: Mark) -> Mark:
        """The higher ones of both."""
        return Mark(max(self.stored, other.stored), max(self.removed, other.removed))


def read(path: str) -> Mark:
    """The mark; zeros when there is none that is whole."""
    return Mark(*durable.read_sealed(path, 10, 10))


def note(path: str, mark: Mark) -> None:
    """Write the mark, keeping higher numbers. A mark that cannot be written shows less.

    When all facts were removed by calls, none can be missing and the mark is removed. So a purge of everything leaves
    none.
    """
    there = read(path)
    mark = mark.highest(there)
    if mark.stored == mark.removed:
        remove(path)
        return
    if mark != there:
        durable.write_sealed(path, b"%012d %012d" % mark)


def remove(path: str) -> None:
    """Know of no facts any more."""
    try:
        os.unlink(path)
    except OSError:
        return
