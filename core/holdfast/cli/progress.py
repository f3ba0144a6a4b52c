"""How far a long command has got, on one line that is gone afterwards."""

from __future__ import annotations

from holdfast.cli.terminal import Term


class Bar:
    """A progress bar of one line. Only for a terminal: make none elsewhere."""

    def __init__(self, out: Term) -> None:
        self._out = out
        self._shown = -1

    def __call__(self, done: int, total: int) -> None:
        percent = 100 * done // max(total, 1)
        if percent != self._shown:
            self._shown = percent
            full, rest = ("█", "░") if self._out.unicode else ("#", ".")
            cells = percent // 4
            self._write(f"  {full * cells}{rest * (25 - cells)} {done:,} of {total:,}")

    def clear(self) -> None:
        """Take the line away."""
        self._write("")

    def _write(self, text: str) -> None:
        self._out.progress(text)
