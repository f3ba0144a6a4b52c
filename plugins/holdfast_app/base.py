"""The services that the features get, with the settings and the store of all of them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from holdfast.config.layout import Surface
from holdfast.hooks import LimitsItems
from holdfast.services import interfaces, services
from holdfast.storage import Document
from holdfast_app.journal.journal import Journal
from holdfast_app.plugins import Plugins
from holdfast_app.trust.store import Store

if TYPE_CHECKING:
    from holdfast_app.config import Config


class Waiting(Protocol):
    """An item that waits. ``error`` and ``next_step`` describe the last failure. A damaged item represents
    an unreadable line."""

    @property
    def at(self) -> datetime: ...
    @property
    def error(self) -> str: ...
    @property
    def next_step(self) -> str: ...
    @property
    def is_damaged(self) -> bool: ...


class Outbox(interfaces.Outbox, Protocol):
    """Items that plugins could not publish."""

    def items(self) -> Sequence[Waiting]:
        """The waiting items, oldest first. Raises: Unavailable."""


class Spool(Protocol):
    """Flushes that the store's server did not take."""

    def items(self) -> Sequence[Waiting]:
        """The waiting flushes, in order. Raises: Unavailable."""

    def send(self, *, limit_s: float = 60.0) -> object:
        """Write the waiting flushes to the store, for ``limit_s`` seconds at most. Never raises."""


class Services(services.Services):
    """:mod:`holdfast_app.services` answers the kernel's questions with the features, which build on this class."""

    manager_type = Plugins

    config: Config
    plugins: Plugins
    store: Store

    if TYPE_CHECKING:

        @property
        def outbox(self) -> Outbox: ...

        @property
        def spool(self) -> Spool: ...

    def journal(self, session_id: str) -> Journal:
        return Journal(self.state, session_id)

    @cached_property
    def recordings(self) -> dict[str, None]:
        """The paths of the clients' recordings that this process read, in order."""
        return {}

    @property
    def curated_limit(self) -> int:
        """Maximum items in a curated document, which is the lowest limit of the validators."""
        limits = self.plugins.implementations_of(LimitsItems).values()
        return min((one.max_items for one in limits), default=sys.maxsize)

    def out_of_date(self, new: str, there: Iterable[str]) -> str:
        """The line of ``there`` that ``new`` makes out of date; empty when there is none."""
        raise NotImplementedError

    def recalled(self, name: str) -> Document | None:
        """The document, masked, without the passages withheld from agents (:meth:`Store.sifted`). None when it does not
        exist or nothing of it may be shown. Raises: Corrupt; Unavailable; PluginError."""
        document = self.store.read(name)
        return self.recalled_from(document) if document else None

    def recalled_from(self, document: Document) -> Document | None:
        """As :meth:`recalled`, for a document that was read."""
        text, withheld = self.store.sifted(document)
        if withheld and not text.strip("+\n"):
            return None
        return self.shown(document._replace(text=text))

    def shown(self, document: Document) -> Document:
        """Mask a stored document, like everything that leaves the store. Raises: PluginError."""
        surface = str(self.layout.surface_of(document.name) or Surface.DAILY)
        return document._replace(text=self.gate.outgoing(document.text, surface=surface, name=document.name))
