"""The services that the features get, with the settings, the plugins and the store of all of them."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from datetime import datetime
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from holdfast import models
from holdfast.config.layout import Surface
from holdfast.errors import HookFailed
from holdfast.hooks import LimitsItems
from holdfast.plugin import calls
from holdfast.plugin.calls import CallFailed
from holdfast.plugin.manager import PluginManager
from holdfast.services import interfaces, services
from holdfast.storage import Document
from holdfast.validation import ValidationRequest
from holdfast_app.journal.journal import Journal
from holdfast_app.trust.store import Store

if TYPE_CHECKING:
    from holdfast_app.config import Config


T = TypeVar("T")

#: The three-file memory of document 004, in reading order. Source: FR-2.
THREE_FILES: Final = (Surface.ACTIVE_CONTEXT, Surface.PATTERNS, Surface.PROGRESS)


class Waiting(Protocol):
    """An item that waits, with the last failure. A damaged item represents an unreadable line."""

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


#: Time limit for one question to a judging plugin, in seconds.
JUDGE_S = 60.0


class Plugins(PluginManager):
    """The kernel's manager, with the hooks that the kernel does not call."""

    def dreams_of_everything(self, name: str) -> bool:
        """Whether a plugin's dream is so cheap that ``[dream] max_chars`` does not apply."""
        return getattr(self._plugins[name].plugin, "dreams_of_everything", False) is True

    def implementations_of(self, interface: type[T]) -> dict[str, T]:
        """The plugins that are instances of ``interface``, by name, sorted. This lets a plugin offer more than its
        hooks to the feature that declares the interface."""
        plugins = ((name, guarded.plugin) for name, guarded in self._plugins.items())
        return dict(sorted((name, plugin) for name, plugin in plugins if isinstance(plugin, interface)))

    def judges(self) -> tuple[str, ...]:
        """Names of the plugins with a method ``judge``, sorted."""
        return tuple(sorted(n for n in self._plugins if callable(getattr(self._plugins[n].plugin, "judge", None))))

    def failing_validators(self, text: str) -> dict[str, HookFailed]:
        """Errors by name of the validators that fail on ``text`` when called alone."""
        failures: dict[str, HookFailed] = {}
        for name in sorted(self.implementing("on_validate")):
            try:
                self._ask("on_validate", name, {"request": ValidationRequest("journal", "", text)})
            except CallFailed as failed:
                failures[name] = self._hook_failed(failed)
        return failures

    def on_extract(
        self,
        turns: Sequence[models.Turn],
        *,
        only: Collection[str] = (),
        known: Sequence[models.Fact] = (),
        before: models.Payload | None = None,
    ) -> tuple[list[tuple[str, models.Extraction]], list[HookFailed]]:
        """Each extractor's results, by plugin name in order of name, and the failures.

        ``only`` calls the plugins with these names, by default all. ``known`` are stored facts on the same subjects,
        ``before`` the session's state before the turns.
        """
        results: list[tuple[str, models.Extraction]] = []
        failures: list[HookFailed] = []
        arguments = {"turns": turns, "known": known, "before": models.Payload() if before is None else before}
        for name in sorted(self.implementing("on_extract")):
            if not only or name in only:
                try:
                    results += [(name, extraction) for extraction in self._ask("on_extract", name, arguments)]
                except CallFailed as failed:
                    failures.append(self._hook_failed(failed))
        return results, failures

    def on_dream(self, sources: models.DreamSources, *, only: str = "") -> tuple[str, models.DreamDraft] | None:
        """The first plugin with a draft, in calling order, and its draft. None when every plugin passes. ``only``
        calls the plugin with that name. Raises: HookFailed."""
        with self._attributed():
            for name in self.implementing("on_dream"):
                drafts = self._ask("on_dream", name, {"sources": sources}) if only in ("", name) else []
                for draft in filter(None, drafts):
                    return name, draft
        return None

    def judge(self, name: str, system: str, question: str) -> str:
        """The plugin's answer to a question about lines and their sources. This is not a hook, because the user chooses
        one plugin. Raises: HookFailed."""
        plugin: Any = self._plugins[name].plugin
        caller = self._plugins[name].caller
        with self._attributed():
            answer = calls.call(caller, "judge", partial(plugin.judge, system, question), JUDGE_S)
            return str(calls.checked(caller, "judge", answer))


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

        def retract(self, statements: Sequence[str]) -> None: ...

    def journal(self, session_id: str) -> Journal:
        return Journal(self.state, session_id)

    @property
    def archive(self) -> str:
        """The document next to the dream diaries for items that do not fit into MEMORY.md."""
        return self.layout.names[Surface.DIARY].replace("{date}", "archive")

    @cached_property
    def recordings(self) -> dict[str, None]:
        """The paths of the clients' recordings that this process read, in order."""
        return {}

    @property
    def curated_limit(self) -> int:
        """Maximum items in a curated document, which is the lowest limit of the validators."""
        limits = self.plugins.implementations_of(LimitsItems).values()
        return min((validator.max_items for validator in limits), default=sys.maxsize)

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
