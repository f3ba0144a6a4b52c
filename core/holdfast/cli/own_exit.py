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
    """Let ``os._exit`` raise ExitRefused in this process, because a plugin's or backend's call of it would end the
    command with a code of its own, even 0. A process that it forked may end itself."""
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
