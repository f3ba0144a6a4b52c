"""Run calls with a time limit.

A hanging call cannot be stopped, only abandoned. It runs in a borrowed thread, and after the time limit the caller
stops waiting. Threads are reused, because starting one per call costs more than most calls.
"""

from __future__ import annotations

import os
import threading
from _queue import SimpleQueue  # the same as queue.SimpleQueue, without importing the rest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class Deadlines:
    """Lends threads to calls. Safe for concurrent threads, nested calls and after a fork."""

    def __init__(self) -> None:
        self._idle: list[SimpleQueue[Callable[[], None] | None]] = []
        self._pid = os.getpid()

    def call(self, job: Callable[[], None], limit_s: float) -> bool:
        """Run ``job``, which must not raise. Returns whether it ended within ``limit_s`` seconds.

        The results of a late job are ignored: the caller gets False and does not check again.
        """
        if self._pid != os.getpid():  # a fork copies the list but not the threads
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
            jobs.put(None)  # if the job ends after all, its thread ends with it
        return in_time


def _serve(jobs: SimpleQueue[Callable[[], None] | None]) -> None:
    while (job := jobs.get()) is not None:
        job()
        del job  # otherwise it would keep its last arguments alive until the next call
