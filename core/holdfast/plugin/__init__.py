"""Plugins: discovery, hook calls with deadlines, and the interfaces core shares with them."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

#: The stream for a command's answer while the command line runs, else None.
answer_stream: TextIO | None = None


class ToStderr:
    """While a command runs, ``with ToStderr():`` sends a plugin's output to stderr. Clients and ``--json`` callers
    parse stdout. Programs that use the Python API keep their stdout."""

    def __enter__(self) -> None:
        if answer_stream is not None:
            sys.stdout = sys.stderr

    def __exit__(self, *_: object) -> None:
        if answer_stream is not None:
            sys.stdout = answer_stream
