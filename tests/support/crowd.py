"""Several threads at one lock."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager


def most_inside(lock: Callable[[], AbstractContextManager[object]]) -> int:
    """How many of four threads were inside of ``lock()`` at the same time, at most; each enters it twenty times."""
    inside = most = 0

    def work() -> None:
        nonlocal inside, most
        for _ in range(20):
            with lock():
                inside += 1
                time.sleep(0.0002)
                most = max(most, inside)
                inside -= 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return most
