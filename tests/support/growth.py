"""How time grows with size, measured so that a busy machine does not decide it."""

import time
from collections.abc import Callable

_ATTEMPTS = 5


def _seconds(call: Callable[[int], object], size: int) -> float:
    start = time.process_time()
    call(size)
    return time.process_time() - start


def grows_less_than(limit: float, call: Callable[[int], object], small: int, large: int, noise_s: float) -> bool:
    """Whether ``call(large)`` takes at most ``limit`` times as long as ``call(small)`` and ``noise_s`` seconds more.

    Both are taken one right after the other. What grows too fast does so in each of several attempts; another program's
    burst spoils one or two.
    """
    call(small)  # imports
    return any(_seconds(call, large) <= limit * _seconds(call, small) + noise_s for _ in range(_ATTEMPTS))
