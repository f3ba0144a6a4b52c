"""Run calls with a time limit.

A hanging call cannot be stopped, only abandoned. It runs in a borrowed thread, and after the time limit the caller
stops waiting. Threads are reused, because starting one per call costs more than most calls.
"""

from __future__ import annotations

import os
import threading
import time
from _queue import SimpleQueue  # the same as queue.SimpleQueue, without importing the rest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    _Jobs = SimpleQueue[Callable[[], None] | None]

#: How often to check a long job's steps, in seconds. A step may be this much late unnoticed.
_LOOK_S = 0.05

_here = threading.local()  # its ``steps`` are the Steps that this thread works on


class Steps:
    """A job of several steps, each with its own time limit. Between steps there is none."""

    def __init__(self) -> None:
        self.current: object = None  # the step under way, as its caller describes it
        self._until = float("inf")  # on time.monotonic

    def run(self, step: object, job: Callable[[], None], limit_s: float) -> None:
        """Run one step in this thread. Only the job's own thread calls this, and never within a step."""
        self._until = time.monotonic() + limit_s
        self.current = step
        try:
            job()
        finally:
            self._until, self.current = float("inf"), None

    def remaining_s(self) -> float:
        """Seconds until the step under way is late, infinite between steps."""
        return self._until - time.monotonic()


class Deadlines:
    """Lends threads to calls. Safe for concurrent threads, nested calls and after a fork."""

    def __init__(self) -> None:
        self._idle: list[_Jobs] = []
        self._pid = os.getpid()

    def __del__(self) -> None:
        """End the idle threads. Otherwise each opened project would leave a thread running."""
        for jobs in self._idle:
            jobs.put(None)

    def call(self, job: Callable[[], None], limit_s: float) -> bool:
        """Run ``job``, which must not raise. Returns whether it ended within ``limit_s`` seconds.

        A late job's results are ignored. The caller gets False and does not check again.
        """
        ended, jobs = self._lend(job)
        return self._returned(jobs, in_time=ended.acquire(timeout=limit_s))

    def call_in_steps(self, job: Callable[[], None]) -> object:
        """Run ``job``, which must not raise and runs its steps with :func:`steps`, in one borrowed thread.

        Returns the late step, or None. Later steps of that job are ignored, as :meth:`call` does.
        """
        steps = Steps()

        def work() -> None:
            _here.steps = steps
            try:
                job()
            finally:
                _here.steps = None

        ended, jobs = self._lend(work)
        while not ended.acquire(timeout=_LOOK_S):
            late = steps.current
            if late is not None and steps.remaining_s() <= 0:
                self._returned(jobs, in_time=False)
                return late
        self._returned(jobs, in_time=True)
        return None

    def _lend(self, job: Callable[[], None]) -> tuple[threading.Lock, _Jobs]:
        """Start ``job`` in a thread. Returns a lock released at its end, and the thread's queue."""
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
        return ended, jobs

    def _returned(self, jobs: _Jobs, *, in_time: bool) -> bool:
        if in_time:
            self._idle.append(jobs)
        else:
            jobs.put(None)  # if the job ends after all, its thread ends with it
        return in_time


def steps() -> Steps | None:
    """The job of steps that this thread works on, when none of its steps is under way."""
    found: Steps | None = getattr(_here, "steps", None)
    return found if found is not None and found.current is None else None


def _serve(jobs: _Jobs) -> None:
    while (job := jobs.get()) is not None:
        job()
        del job  # otherwise it would keep its last arguments alive until the next call
