"""What the pipelines share: settings, gate, hooks, store, clock and the private folder of one project."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import datetime

from attrs import define, evolve

from holdfast.config.layout import Layout, Surface
from holdfast.config.values import Config
from holdfast.gate import Gate
from holdfast.plugin.manager import Dispatch
from holdfast.session.store import Store
from holdfast.storage import Document
from holdfast.text import tokens


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

    def recalled(self, name: str) -> Document | None:
        """The document as it may leave the store, for an agent, a terminal or another file: masked. None when it does
        not exist, and when it is withheld (:meth:`Store.is_withheld`). Raises: Corrupt; Unavailable; PluginError."""
        document = self.store.read(name)
        if document is None or self.store.is_withheld(name):
            return None
        return self.shown(document)

    def shown(self, document: Document) -> Document:
        """A stored document masked, as every text that leaves the store is. Raises: PluginError."""
        surface = str(self.layout.surface_of(document.name) or Surface.DAILY)
        return evolve(document, text=self.gate.outgoing(document.text, surface=surface, name=document.name))

    def now(self) -> datetime:
        """The time, in the configured zone."""
        return self.clock().astimezone(self.config.tz)

    def private(self, *parts: str) -> str:
        """A path in the private folder."""
        return os.path.join(self.state, *parts)
