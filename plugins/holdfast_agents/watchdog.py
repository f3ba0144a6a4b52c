"""An answer in time, whatever hangs: a plugin, a disk, a lock.

A client that is kept waiting kills the hook and goes on as if it had allowed. So a thread gives the blocking answer
when the time is over, and ends the process. Code that holds the interpreter's lock (a runaway regular expression, say)
could keep that thread from running; behind it stands the C timer of faulthandler, which ends the process with status 1.
That is no answer any more, but the guard around the installed command makes a block of it.
"""

from __future__ import annotations

import faulthandler
import os
import sys
import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    from holdfast_agents.events import Answer

_GRACE_S = 2.0


class Watchdog:
    """Runs from when it is made. Whoever comes first, the hook or the watchdog, gives the one answer."""

    def __init__(self, limit_s: float, late: Callable[[], Answer]) -> None:
        self._began = time.monotonic()
        self._until = self._began + limit_s
        self._late = late
        self._answering = threading.Lock()
        self._changed = threading.Event()
        self._null = open(os.devnull, "w")  # noqa: SIM115 - lives as long as the process
        self._arm()
        threading.Thread(target=self._watch, name="holdfast-watchdog", daemon=True).start()

    def limit(self, limit_s: float) -> None:
        """From the start on it may take so long, not longer; known only once the event is."""
        self._until = self._began + limit_s
        self._arm()
        self._changed.set()

    def answer(self, answer: Answer) -> NoReturn:
        """Give the answer and end the process, at once: a thread that a plugin left behind must not hold up the client,
        nor taking the interpreter apart, which costs a seventh of an ordinary event."""
        if not self._answering.acquire(blocking=False):  # the watchdog is giving its own
            time.sleep(_GRACE_S)
            os._exit(1)
        write(answer)
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
            write(answer)
            os._exit(answer.code)


def write(answer: Answer) -> None:
    """Both streams, past all buffers. A client that has gone away is told nothing."""
    for stream, text in ((sys.stderr, answer.stderr), (sys.stdout, answer.stdout)):
        data = text.encode("utf-8", "replace")
        try:
            while data:
                data = data[os.write(stream.fileno(), data) :]
        except (OSError, ValueError):
            continue
