"""What the pipelines share: settings, gate, hooks, store, clock and the private folder of one project."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import datetime

from attrs import define

from holdfast import tokens
from holdfast.config import Config
from holdfast.dispatch import Dispatch
from holdfast.gate import Gate
from holdfast.layout import Layout
from holdfast.store import Store


@define(kw_only=True)
class Services:
    """One per opened project. ``root`` and ``state`` are absolute; ``clock`` returns an aware time. ``notices`` are
    sentences on settings of the project that are not in force."""

    root: str
    state: str
    config: Config
    layout: Layout
    dispatch: Dispatch
    gate: Gate
    store: Store
    clock: Callable[[], datetime]
    #: A client waits for an answer, as it does for a hook's: then no model is asked, and what is to be extracted waits.
    hurried: bool = False
    count_tokens: Callable[[str], int] = tokens.estimate
    notices: tuple[str, ...] = ()

    def now(self) -> datetime:
        """The time, in the configured zone."""
        return self.clock().astimezone(self.config.tz)

    def private(self, *parts: str) -> str:
        """A path in the private folder."""
        return os.path.join(self.state, *parts)
