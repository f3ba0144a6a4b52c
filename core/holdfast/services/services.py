"""One project's shared services: settings, gate, hooks, store, clock and private folder. And the kernel's questions to
an application (:mod:`holdfast.services.interfaces`), which gives its own answers in a class that extends this one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import ClassVar

from attrs import Factory, define, field

from holdfast import models
from holdfast.config import serde, settings
from holdfast.config.layout import Layout, Surface
from holdfast.config.values import Config
from holdfast.errors import ConfigError, HoldfastError, PluginNotFound, must_be
from holdfast.gate import Gate
from holdfast.journal.journal import Journal
from holdfast.plugin.manager import PluginManager
from holdfast.services.interfaces import Decided, FactService, Outbox, Room
from holdfast.services.store import Store
from holdfast.storage import Capability, Document, StorageBackend
from holdfast.text.humanize import tokens
from holdfast.text.plain import same_key


@define(kw_only=True, slots=False, eq=False, repr=False)
class Services:
    """One per opened project. ``root`` and ``state`` are absolute; ``clock`` returns an aware time. ``notices`` are
    sentences about project settings that are not in force. ``hurried`` is true while a client is waiting for an answer,
    as during a hook. Then no model is called, and extraction is deferred."""

    manager_type: ClassVar[type[PluginManager]] = PluginManager

    root: str
    state: str
    config: Config
    plugins: PluginManager
    store: Store
    clock: Callable[[], datetime]
    notices: tuple[str, ...] = ()
    hurried: bool = False
    count_tokens: Callable[[str], int] = tokens
    layout: Layout = field(init=False, default=Factory(lambda self: self.config.layout, takes_self=True))
    gate: Gate = field(init=False, default=Factory(lambda self: Gate(self.plugins), takes_self=True))

    # replaceable by an application

    @classmethod
    def root_of(cls, start: str | None) -> str:
        """The project's folder, absolute and without symbolic links. ``start`` is the one given. The kernel does not
        look above the working directory, where it would need trust. Raises: ConfigError for a missing folder."""
        named = os.environ.get("HOLDFAST_ROOT") or os.getcwd() if start is None else start
        if not os.path.isdir(os.path.expanduser(named)):
            raise ConfigError(f"The project folder {named!r} does not exist.", next_step="Name a folder that exists.")
        return os.path.realpath(os.path.expanduser(named))

    @classmethod
    def settled(cls, root: str, *, lenient: bool = False) -> tuple[Config, tuple[str, ...]]:
        """The settings in force, and a sentence for each kind of the project's that is not. ``lenient`` skips unusable
        ones of the project's file. The kernel reads no such file, because what is in it may need trust. Raises:
        ConfigError; NotTrusted."""
        data, source = settings.user_raw()
        settings.apply_overrides(data)
        return serde.config_from(data, source), ()

    @classmethod
    def check_state(cls, root: str, state: str) -> None:
        """Called before anything in the private folder is read. The kernel's own trusts what git brought into it."""

    @classmethod
    def store_of(cls, root: str, state: str, config: Config, backend: StorageBackend) -> Store:
        return Store(backend, config.layout, state)

    def journal(self, session_id: str) -> Journal:
        return Journal(self.state, session_id)

    @property
    def facts(self) -> FactService:
        """Stores and extracts facts for flushes."""
        return FactService(self.plugins)

    @property
    def outbox(self) -> Outbox:
        """Items that plugins could not publish yet. Raises: PluginNotFound when nothing delivers them."""
        raise undelivered("outbox.jsonl")

    def attributed(
        self, payload: models.Payload, summary: str, messages: Sequence[models.Message]
    ) -> tuple[models.Payload, str, Sequence[str]]:
        """A payload and a summary as a flush of ``messages`` may write them, and warnings. Sentences that
        instruct an agent are marked with their source, and kept out of curated memory. The kernel takes all text as the
        user's own."""
        return payload, summary, ()

    def origin(self, agent: str = "") -> str:
        """Who and which machine make statements now, masked; empty if unknown. The kernel records none."""
        return ""

    def later(self, *, goes_on: bool = False) -> None:
        """Begin, in a process of its own, the work that no client waits for. ``goes_on``: the session does. The kernel
        has none. Never raises."""

    def ended(self) -> None:
        """Called after a session ended. The kernel keeps its journal where it is. Never raises."""

    def said(self, role: str, tool: str) -> None:
        """Called when a message is journalled in this process. The kernel does nothing more with it. Never raises."""

    def room(
        self,
        surface: Surface,
        stored: Document | None,
        entries: Sequence[models.CuratedEntry],
        flush_id: str,
        at: datetime,
    ) -> Room:
        """Called before a flush adds lines to a curated document, as it is ``stored``, which may need room. The kernel
        has no limit."""
        return Room(entries)

    def let_go(self, surface: str, items: Sequence[str], at: datetime) -> Iterable[str]:
        """Those of the items decided at ``at`` that were removed since. The kernel removes none."""
        return ()

    def standing(self, rules: Sequence[str], new: Sequence[str]) -> tuple[str, ...]:
        """The ``rules`` that still hold after ``new`` ones. The kernel only removes repeated rules."""
        keys = set(map(same_key, new))
        return tuple(rule for rule in rules if same_key(rule) not in keys)

    def decided(self, session: str, flush: str) -> Decided | None:
        """The newest decision by command about the flush's work, None without one. The kernel knows none."""
        return None

    def explain(self, error: HoldfastError) -> None:
        """Called with the error for a flush that the store did not take, to add what helps. The kernel adds nothing."""

    # the project

    @property
    def keeps_flushes(self) -> bool:
        """Whether flushes may be kept on this machine, because the setting is on and the store is on a server."""
        return self.config.storage.spool and self.is_remote

    @property
    def is_remote(self) -> bool:
        return Capability.REMOTE in self.store.backend.capabilities

    def is_expired(self, surface: str, at: datetime) -> bool:
        """Whether the surface's document of that day may be gone, because data is not kept for so long."""
        return False

    def waits(self, name: str) -> bool:
        """Whether a list of what waits, a file in the private folder, has lines."""
        try:
            return os.stat(self.private(name)).st_size > 0
        except FileNotFoundError:
            return False
        except OSError:
            return True  # its reader reports the error

    def now(self) -> datetime:
        """The current time in the configured zone."""
        now = self.clock()
        must_be(datetime, now, "clock")
        return now.astimezone(self.config.tz)

    def private(self, *parts: str) -> str:
        return os.path.join(self.state, *parts)


def undelivered(name: str) -> PluginNotFound:
    """The error for a file in which something waits that only an application can deliver."""
    return PluginNotFound(
        f"This application delivers nothing that waits in {name}.",
        next_step="Use `holdfast.Holdfast` with the whole distribution, or switch `[storage] spool` off.",
    )
