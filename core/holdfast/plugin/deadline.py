"""Calls that may take so long and no longer.

A call that hangs cannot be stopped, only left behind: it runs in a thread that is lent to it, and when the time is
over nobody waits for it any more. Threads are used again: starting one for each call costs more than most calls do.
"""

from __future__ import annotations

import os
import threading
from _queue import SimpleQueue  # what queue.SimpleQueue is, without importing the rest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class Deadlines:
    """Lends threads to calls. Safe for several threads at once, for calls within calls and after a fork."""

    def __init__(self) -> None:
        self._idle: list[SimpleQueue[Callable[[], None] | None]] = []
        self._pid = os.getpid()

    def call(self, job: Callable[[], None], limit_s: float) -> bool:
        """Run ``job``, which must not raise; whether it ended within ``limit_s`` seconds.

        What a late job leaves behind is its own: whoever called is told False and looks no more.
        """
        if self._pid != os.getpid():  # a fork takes the list along and not the threads
            self._idle, self._pid = [], os.getpid()
        ended = threading.Lock()
        ended.acquire()

        def work() -> None:
            try:
                job()
            finally:
                ended.release()

        try:
            jobs = self._idle.pop()
        except IndexError:
            jobs = SimpleQueue()
            threading.Thread(target=_serve, args=(jobs,), name="holdfast-hooks", daemon=True).start()
        jobs.put(work)
        in_time = ended.acquire(timeout=limit_s)
        if in_time:
            self._idle.append(jobs)
        else:
            jobs.put(None)  # should the job end after all, its thread ends with it
        return in_time


def _serve(jobs: SimpleQueue[Callable[[], None] | None]) -> None:
    while (job := jobs.get()) is not None:
        job()
        del job  # or it would keep its last arguments alive until the next call
