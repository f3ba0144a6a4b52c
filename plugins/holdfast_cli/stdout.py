"""Standard output for a command's answer alone. Raw output of plugins and of their child processes goes to stderr."""

import os
import sys
from contextlib import suppress
from io import TextIOWrapper
from typing import TextIO

from holdfast import plugin


def reserve() -> None:
    """Send the descriptor's output to stderr, and ``sys.stdout`` to a duplicate that no child process inherits. Does
    nothing when a stream is not a file."""
    given = sys.stdout
    try:
        given.flush()
        number, target = given.fileno(), sys.stderr.fileno()
        answer = open(os.dup(number), "w", encoding=given.encoding, errors=given.errors)  # noqa: SIM115 - see give_back
        os.dup2(target, number)
    except (OSError, ValueError):
        return
    if isinstance(given, TextIOWrapper):
        answer.reconfigure(line_buffering=given.line_buffering or given.write_through)
    sys.stdout = plugin.answer_stream = answer


def give_back(answer: TextIO, given: TextIO) -> None:
    """Undo :func:`reserve`, which replaced ``given`` by ``answer``."""
    sys.stdout = given
    with suppress(OSError, ValueError):
        os.dup2(answer.fileno(), given.fileno())
        answer.close()
