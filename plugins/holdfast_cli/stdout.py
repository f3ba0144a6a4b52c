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
    stdout = sys.stdout
    try:
        stdout.flush()
        number, target = stdout.fileno(), sys.stderr.fileno()
        answer = open(os.dup(number), "w", encoding=stdout.encoding, errors=stdout.errors)  # noqa: SIM115 - see give_back
        os.dup2(target, number)
    except (OSError, ValueError):
        return
    if isinstance(stdout, TextIOWrapper):
        answer.reconfigure(line_buffering=stdout.line_buffering or stdout.write_through)
    sys.stdout = plugin.answer_stream = answer


def give_back(answer: TextIO, stdout: TextIO) -> None:
    """Undo :func:`reserve`, which replaced ``stdout`` by ``answer``."""
    sys.stdout = stdout
    with suppress(OSError, ValueError):
        os.dup2(answer.fileno(), stdout.fileno())
        answer.close()
