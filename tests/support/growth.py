"""How time grows with size, measured so that a busy machine does not decide it."""

from collections.abc import Callable

_ATTEMPTS = 5


def grows_less_than(limit: float, small: Callable[[], float], large: Callable[[], float], noise_s: float) -> bool:
    """Whether ``large()`` takes at most ``limit`` times as long as ``small()`` and ``noise_s`` seconds more.

    Both are taken one right after the other. What grows too fast does so in each of several attempts; another program's
    burst spoils one or two.
    """
    return any(large() <= limit * small() + noise_s for _ in range(_ATTEMPTS))
