"""Dying in the middle: a process of the tests that kills itself just before one of its calls that change the disk."""

import os
import signal
import traceback
import warnings
from collections.abc import Callable

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


def dies(n: int, act: Callable[[], object]) -> bool:
    """Whether ``act``, in a forked process, is killed at the ``n``-th call that changes the disk (0: by itself), or
    comes to its end before. Whatever it raises fails the test."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # pytest's other threads only wait
        pid = os.fork()
    if pid == 0:
        try:
            arm(n)
            act()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert code in (0, -signal.SIGKILL)
    return code != 0
