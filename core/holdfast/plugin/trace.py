"""``HOLDFAST_TRACE=hooks``: one line on stderr for each call of a hook, with its plugin, outcome and time.

The line never contains memory text, or an exception's message, which may quote it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any


def traced(guard: Callable[..., Any], plugin: str, distribution: str, hook: str) -> Callable[..., Any]:
    """``guard`` with a line on stderr after each call. The time includes waiting for the plugin's thread."""

    def call(*args: Any) -> Any:
        began = time.perf_counter()
        got = guard(*args)
        spent_ms = (time.perf_counter() - began) * 1000
        line = f"holdfast: hook {hook} of {plugin} ({distribution}): {_outcome(got)}, {spent_ms:.1f} ms\n"
        if sys.stderr is not None:
            sys.stderr.write(line)
        return got

    return call


def _outcome(got: Any) -> str:
    """A guarded call's result in a few words."""
    if got is None:
        return "nothing"
    if hasattr(got, "reason"):
        return f"failed ({type(got.cause).__name__})"
    if isinstance(got.value, list | tuple):
        return f"{len(got.value)} results" if len(got.value) != 1 else "1 result"
    return type(got.value).__name__
