"""One :class:`Project` is one open project. An application extends it; see ``holdfast_app.project``."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from operator import itemgetter
from typing import TYPE_CHECKING, Any, ClassVar, Self

from holdfast.clock import local_now
from holdfast.config import settings
from holdfast.config.values import Config
from holdfast.errors import (
    BadValue,
    HoldfastError,
    PluginNotFound,
    Refused,
    SettingsIgnored,
    StorageError,
    must_be,
)
from holdfast.fs import private
from holdfast.journal import journal
from holdfast.plugin import discovery
from holdfast.plugin.manager import PluginManager, PluginSettings
from holdfast.services.services import Services
from holdfast.services.store import Store
from holdfast.text.lazy import log
from holdfast.text.plain import clean

if TYPE_CHECKING:
    from holdfast.journal.safety import Marker
    from holdfast.session import Session

logger = log(__name__)


class Project:
    """Memory of one project. Made by :meth:`open`; ``close`` it or use it as a context manager.

    ``config`` and ``store`` are readable attributes. Sessions still open when the process exits are ended through the
    gate.
    """

    #: With the application's answers to the kernel's questions.
    services_type: ClassVar[type[Services]] = Services

    def __init__(self, services: Services, found: Sequence[discovery.Found]) -> None:
        self.services = services
        self._found = tuple(found)
        self._sessions: dict[str, Session] = {}
        self._closed = False

    @classmethod
    def open(
        cls,
        root: str | os.PathLike[str] | None = None,
        *,
        config: Config | None = None,
        clock: Callable[[], datetime] | None = None,
        plugins: Iterable[tuple[str, object]] = (),
        lenient: bool = False,
    ) -> Self:
        """Open the project at ``root`` (default: ``HOLDFAST_ROOT``, else found from the working directory).

        ``config`` replaces the settings files and is fully trusted, because the caller supplies it. Settings of the
        project's file that need the user's trust count only with it (docs/trust.md). ``clock`` returns an aware time;
        ``plugins`` are ``(name, object)`` pairs registered besides the installed ones. ``lenient`` skips unusable
        settings of the project's file. Agents' hooks need this, because a clone must not be able to block them.
        Writes nothing, except that private state created by another user is moved aside.
        Raises: ConfigError, NotTrusted when these decide where memory is stored; PluginNotFound, PluginLoadFailed.
        A broken *plugin* does not raise here. It closes the gates and is listed by :meth:`plugin_statuses`.
        Warns: SettingsIgnored for settings of the project's file that are not in force.
        """
        if not isinstance(root, str | os.PathLike | None) or "\0" in str(root):
            raise BadValue("root", f"cannot be {root!r}", next_step="Give a folder, as a string or a path.")
        if config is not None:
            must_be(Config, config, "config")
        must_be(Iterable, plugins, "plugins")
        plugins = list(plugins)
        for number, pair in enumerate(plugins):
            if not (isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], str)):
                raise BadValue(f"plugins[{number}]", "is not a pair", next_step="Give a name and an object.")
        folder = cls.services_type.root_of(os.fspath(root) if root is not None else None)
        settled, notices = (config, ()) if config is not None else cls.services_type.settled(folder, lenient=lenient)
        state = settings.state_folder(folder, settled.layout.preset)
        private.check(state)
        cls.services_type.check_state(folder, state)
        entries = discovery.scan()
        manager = cls.services_type.manager_type()
        _register_backend(settled, manager, entries)
        own = {name for name, _ in plugins} - {entry.name for entry in entries if entry.group == discovery.PLUGINS}
        tables = {name: settled.plugin(name) for name in settled.enabled_plugins if name not in own}
        enabled = [PluginSettings(name, table.deadline_s, table.settings) for name, table in tables.items()]
        manager.load(enabled, entries, folder, state)
        for name, plugin in sorted(plugins, key=itemgetter(0), reverse=True):  # the last registered is called first
            manager.register(plugin, name, deadline_s=settled.plugin(name).deadline_s)
        services = cls.services_type(
            root=folder,
            state=state,
            config=settled,
            plugins=manager,
            store=cls.services_type.store_of(folder, state, settled, manager.storage_backend(settled.storage, folder)),
            clock=clock or local_now,
            notices=notices,
        )
        with suppress(StorageError, Refused):  # unrecorded passages stay withheld, and the first use reports the error
            services.store.begin()
        for notice in notices:
            warnings.warn(notice, SettingsIgnored, stacklevel=2)
        return cls(services, entries)

    if not TYPE_CHECKING:  # so that type checkers report a misspelt name

        def __getattr__(self, name: str) -> Any:
            """A method that another distribution adds, an entry in the group ``holdfast.methods``."""
            from functools import partial

            if not name.startswith("_"):
                with suppress(PluginNotFound):
                    return partial(discovery.method(name), self)
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def config(self) -> Config:
        return self.services.config

    @property
    def store(self) -> Store:
        return self.services.store

    # sessions

    @classmethod
    def session_type(cls) -> type[Session]:
        """Its sessions' class, imported at the first use."""
        from holdfast.session import Session

        return Session

    def session(self, session_id: str = "default") -> Session:
        """The session with that id, rebuilt from its journal, or a new session without a journal.

        Has no other effects. To start a conversation, see :meth:`begin`.
        A secret in the id is masked. The session uses the masked id everywhere, including file names.
        Raises: ValueError for an id that is blank, holds control characters or is not a string; Corrupt when its
        journal is damaged; Refused and PluginError from the gate.
        """
        must_be(str, session_id, "session_id")
        if not session_id.strip() or clean(session_id) != session_id or not set(session_id).isdisjoint("\n\t"):
            raise BadValue("session_id", "is blank or has control characters", next_step="Name it, like `fix-login`.")
        session_id = self.services.gate.identifier(session_id)
        if not self._sessions:
            import atexit

            atexit.register(self._at_exit)
        if session_id not in self._sessions:
            self._sessions[session_id] = self.session_type()(self.services, session_id)
        return self._sessions[session_id]

    def sessions(self) -> list[str]:
        """Ids of all sessions with a journal, sorted."""
        return sorted(filter(None, map(journal.session_id_of, journal.session_files(self.services.state))))

    def unsafe(self) -> list[Marker]:
        """Sessions whose last flush failed, each with the reason and the next step."""
        from holdfast.journal import safety

        return safety.all_unsafe(self.services.state)

    def plugin_statuses(self) -> list[discovery.Status]:
        """Every installed or enabled plugin and backend, sorted, with its status and the reason."""
        return discovery.statuses(self.services.plugins.statuses, self._found, self.config.storage.backend)

    # closing

    def close(self) -> None:
        """Release the store, whose use then raises Unavailable. Open sessions do not end but stay in their journals."""
        if not self._closed:
            self._closed = True
            if self._sessions:
                import atexit

                atexit.unregister(self._at_exit)
            self.services.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _at_exit(self) -> None:
        self.services.hurried = True  # a program that is exiting does not wait for a model
        for session in self._sessions.values():
            try:
                if session.unflushed:
                    session.end()
            except HoldfastError as error:
                logger.error("session %s is UNSAFE at exit: %s", session.id, error.message)  # noqa: TRY400


def _register_backend(config: Config, manager: PluginManager, entries: Iterable[discovery.Found]) -> None:
    entry = discovery.choose(entries, discovery.BACKENDS, config.storage.backend)
    module = discovery.import_object(entry)
    if config.storage.options:
        discovery.check_storage(module, config.storage.options, entries)
    manager.register_backend(module, entry)
