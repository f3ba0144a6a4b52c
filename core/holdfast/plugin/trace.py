"""``HOLDFAST_TRACE=hooks``: one line on stderr for each call of a hook, with its plugin, outcome and time.

The line never contains memory text, or an exception's message, which may quote it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any


def traced(job: Callable[[], Any], plugin: str, distribution: str, hook: str) -> Any:
    """The result of ``job``, with a line on stderr. The time includes waiting for the plugin's thread."""
    began = time.perf_counter()
    outcome = ""
    try:
        result = job()
        outcome = _outcome(result)
        return result
    except Exception as error:
        outcome = f"failed ({type(error.__cause__ or error).__name__})"
        raise
    finally:
        spent_ms = (time.perf_counter() - began) * 1000
        if sys.stderr is not None:
            sys.stderr.write(f"holdfast: hook {hook} of {plugin} ({distribution}): {outcome}, {spent_ms:.1f} ms\n")


def _outcome(result: Any) -> str:
    """A call's result in a few words."""
    if result is None:
        return "nothing"
    if isinstance(result, list | tuple):
        return f"{len(result)} results" if len(result) != 1 else "1 result"
    return type(result).__name__
