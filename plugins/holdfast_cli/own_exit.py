"""Only holdfast ends a command whose exit code lets context go."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NoReturn

from holdfast.errors import PluginError

#: Commands whose exit code 0 is taken for permission to drop context.
PERMITTING: Final = frozenset(["flush", "end", "override"])


class ExitRefused(PluginError):
    """Code of a plugin or backend called ``os._exit``."""


@contextmanager
def own_exit() -> Iterator[None]:
    """Make ``os._exit`` raise ExitRefused. Otherwise a plugin or backend could end the command with its own exit code,
    even 0. A forked process may still end itself."""
    end, own = os._exit, os.getpid()

    def refuse(status: int) -> NoReturn:
        if os.getpid() != own:
            end(status)
        raise ExitRefused(
            f"A plugin or backend called os._exit({status}), which would end holdfast before the work is done.",
            next_step="`HOLDFAST_TRACE=hooks` in the environment shows the calls. Disable the plugin that ends it.",
        )

    os._exit = refuse
    try:
        yield
    finally:
        os._exit = end
