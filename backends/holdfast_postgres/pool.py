"""A process's connections, shared by its threads.

psycopg_pool is not used because it connects in the background. A stopped server or a wrong password would cost the
whole time limit and end in "no connection in time". Here the calling thread connects and gets the server's reason.
"""

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.abc import RV, PQGen

Row = tuple[Any, ...]

# A refused statement ends a pipeline, which psycopg logs as well. Without a handler Python prints that on stderr.
logging.getLogger("psycopg").addHandler(logging.NullHandler())


class TimedOut(psycopg.OperationalError):
    """The server did not answer in time, or no connection was free in time."""


class Connection(psycopg.Connection[Row]):
    """A connection whose calls give up after ``limit_s`` seconds, even if the server accepts them and never answers."""

    limit_s: float = 10.0

    def wait(self, gen: PQGen[RV], *args: Any, **options: Any) -> RV:
        try:
            return super().wait(_limited(gen, time.monotonic() + self.limit_s), *args, **options)
        except TimedOut:
            self.close()
            raise


def _limited(gen: PQGen[RV], until: float) -> PQGen[RV]:
    """``gen``, which psycopg also resumes without an answer ten times a second."""
    try:
        state = next(gen)
        while True:
            ready = yield state
            if not ready and time.monotonic() > until:
                raise TimedOut("no answer in time")
            state = gen.send(ready)
    except StopIteration as done:
        result: RV = done.value
        return result


class Pool:
    """At most ``size`` connections, opened when needed. A connection that a call broke is not used again."""

    def __init__(self, connect: Callable[[float], Connection], size: int) -> None:
        self._connect, self._size = connect, size
        self._lock = threading.Lock()
        self._begin()

    def _begin(self) -> None:
        self._idle: list[Connection] = []
        self._places = threading.BoundedSemaphore(self._size)
        self._pid = os.getpid()

    @contextmanager
    def connection(self, limit_s: float) -> Iterator[Connection]:
        """An open connection for this thread alone. Raises: TimedOut when all are in use for ``limit_s`` seconds, and
        psycopg.Error when the server refuses a new one."""
        if self._pid != os.getpid():  # a fork must not use its parent's connections, nor close them
            self._begin()
        places = self._places
        if not places.acquire(timeout=limit_s):
            raise TimedOut(f"all {self._size} connections of this process are in use")
        try:
            with self._lock:
                connection = self._idle.pop() if self._idle else None
            connection = connection if connection is not None and not connection.closed else self._connect(limit_s)
            connection.limit_s, failed = limit_s, True
            try:
                yield connection
                failed = False
            finally:
                if failed and not connection.closed:
                    try:
                        connection.rollback()
                    except psycopg.Error:
                        connection.close()
                if not connection.closed:
                    with self._lock:
                        self._idle.append(connection)
        finally:
            places.release()

    def drop(self) -> None:
        """Close the idle connections: after a failover all of them may be broken."""
        with self._lock:
            idle, self._idle = self._idle, []
        if self._pid == os.getpid():
            for connection in idle:
                connection.close()
