"""Answers in time even when a plugin, a disk or a lock hangs.

A client that waits too long kills the hook and continues as if the hook had allowed the event. So a thread gives the
blocking answer when the time is up, and ends the process. Code that holds the interpreter's lock, such as a runaway
regular expression, could keep that thread from running. The fallback is faulthandler's C timer, which ends the process
with status 1. That is not an answer, but the wrapper around the installed command turns it into a block.
"""

import faulthandler
import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn, TextIO

from holdfast_agents.events import Answer

_GRACE_S = 2.0


class Watchdog:
    """Starts when constructed. Either the hook or the watchdog gives the single answer, whichever is first."""

    def __init__(self, limit_s: float, late: Callable[[], Answer]) -> None:
        self._began = time.monotonic()
        self._until = self._began + limit_s
        self._late = late
        self._answering = threading.Lock()
        self._changed = threading.Event()
        self._outputs = _own(sys.stderr), _own(sys.stdout)
        with suppress(OSError, ValueError):  # a plugin's or its child's output would spoil the answer: Codex compacts
            os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        self._null = open(os.devnull, "w")  # noqa: SIM115 - lives as long as the process
        self._arm()
        threading.Thread(target=self._watch, name="holdfast-watchdog", daemon=True).start()

    def limit(self, limit_s: float) -> None:
        """Set the time limit, in seconds since the start. It depends on the event, which must be read first."""
        self._until = self._began + limit_s
        self._arm()
        self._changed.set()

    def answer(self, answer: Answer) -> NoReturn:
        """Give the answer and end the process at once. A plugin's leftover thread must not delay the client, nor must
        the interpreter's shutdown, which costs a seventh of an ordinary event."""
        if not self._answering.acquire(blocking=False):  # the watchdog is giving its own
            time.sleep(_GRACE_S)
            os._exit(1)
        self._write(answer)
        os._exit(answer.code)

    def _arm(self) -> None:
        left = max(0.1, self._until - time.monotonic())
        faulthandler.dump_traceback_later(left + _GRACE_S, exit=True, file=self._null)

    def _watch(self) -> None:
        while (left := self._until - time.monotonic()) > 0:
            self._changed.wait(left)
            self._changed.clear()
        if self._answering.acquire(blocking=False):
            answer = self._late()
            self._write(answer)
            os._exit(answer.code)

    def _write(self, answer: Answer) -> None:
        """Write both streams without buffering. A client that has gone away is ignored."""
        for output, text in zip(self._outputs, (answer.stderr, answer.stdout), strict=True):
            data = text.encode("utf-8", "replace")
            with suppress(OSError):
                while data:
                    data = data[os.write(output, data) :]


def _own(stream: TextIO) -> int:
    """A descriptor for the answer that no child process inherits, or -1 when the stream has none."""
    with suppress(OSError, ValueError):
        return os.dup(stream.fileno())
    return -1
