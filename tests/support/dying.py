"""Dying in the middle: a process of the tests that kills itself just before one of its calls that change the disk."""

import os
import signal
from typing import Any

_CALLS = ("write", "fsync", "replace", "unlink", "ftruncate", "truncate", "mkdir")


def arm(n: int) -> None:
    """From here on, the ``n``-th call that changes what is on disk is not made: the process is killed instead."""
    count = 0

    def dying(real):
        def call(*args, **kwargs):
            nonlocal count
            count += 1
            if count == n:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*args, **kwargs)

        return call

    for name in _CALLS:
        setattr(os, name, dying(getattr(os, name)))


def arm_methods(target: Any, names: tuple[str, ...], left: int) -> None:
    """The process is killed instead of the call after the next ``left`` calls of these methods."""

    def dying(real):
        def call(*args, **kwargs):
            nonlocal left
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*args, **kwargs)

        return call

    for name in names:
        setattr(target, name, dying(getattr(target, name)))
