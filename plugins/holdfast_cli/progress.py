"""How far a long command has got, on one line of stderr that disappears at the end."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from holdfast_app import progress
from holdfast_cli.terminal import Term

#: Work that ends sooner, in seconds, shows no bar; and the bar's length.
_PATIENCE_S, _BAR = 0.4, 25


class Bar:
    """The progress of long work on one line of a terminal, which disappears at the end."""

    def __init__(self, out: Term, *, patience_s: float = _PATIENCE_S) -> None:
        self._out = out
        self._shown: tuple[int, str] | None = None
        self._from = time.monotonic() + patience_s

    def __call__(self, done: int, total: int, activity: str = "") -> None:
        # An unknown total is redrawn for each item, a known one for each percent.
        step = 100 * done // total if total else done
        if (step, activity) != self._shown and time.monotonic() >= self._from:
            self._shown = step, activity
            drawn = f"{self._out.bar(min(done, total), total, _BAR):<{_BAR}} {done:,} of {total:,}"
            self._out.progress(f"  {drawn if total else f'{done:,}'}  {activity}".rstrip())

    def clear(self) -> None:
        """Take the line away."""
        if self._shown is not None:
            self._out.progress("")
            self._shown = None


@contextmanager
def shown() -> Iterator[Bar | None]:
    """Draw the progress of work inside the block, if stderr is a terminal. Yields the bar, or None."""
    out = Term(sys.stderr)
    bar = Bar(out) if out.is_tty else None
    try:
        with progress.watched(bar):
            yield bar
    finally:
        if bar is not None:
            bar.clear()
