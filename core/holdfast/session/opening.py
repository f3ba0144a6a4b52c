"""Opens a project: its settings, its private folder, the enabled plugins and the store."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import datetime
from operator import itemgetter
from typing import TYPE_CHECKING

from holdfast.config import resolved, settings, statefolder
from holdfast.config.provenance import Provenance
from holdfast.errors import BadValue, Refused, StorageError
from holdfast.fs import private, tracked
from holdfast.plugin import discovery, options
from holdfast.plugin.manager import PluginManager, PluginSettings
from holdfast.session.services import Services
from holdfast.session.store import Store
from holdfast.storage import Capability

if TYPE_CHECKING:
    from holdfast.config.values import Config


def opened(
    root: str | os.PathLike[str] | None,
    *,
    config: Config | None,
    clock: Callable[[], datetime] | None,
    plugins: Iterable[tuple[str, object]],
    lenient: bool,
    kind: type[Services],
) -> tuple[Services, tuple[discovery.Found, ...]]:
    """Services, of the class ``kind``, for the project at ``root``, and the installed plugins. See
    :meth:`holdfast.Holdfast.open`."""
    if not isinstance(root, str | os.PathLike | None) or "\0" in str(root):
        raise BadValue("root", f"cannot be {root!r}", next_step="Give a folder, as a string or a path.")
    folder = settings.find_root(os.fspath(root) if root is not None else None)
    settled, notices = (config, ()) if config is not None else resolved.settled(folder, lenient=lenient)
    state = statefolder.path(folder, settled.layout.preset)
    private.check(state)
    tracked.check(folder, state)
    found = tuple(discovery.scan())
    manager = PluginManager()
    _register_backend(settled, manager, found)
    enabled = [(name, settled.plugin(name)) for name in settled.enabled_plugins]
    manager.load(
        [PluginSettings(name, one.deadline_s, one.settings) for name, one in enabled], found, root=folder, state=state
    )
    for name, plugin in sorted(plugins, key=itemgetter(0), reverse=True):  # the last registered is called first
        manager.register(plugin, name)
    backend = manager.storage_backend(settled.storage, folder)
    files = Capability.LOCAL_FILES in backend.capabilities
    path, facts = settled.storage.path, settled.storage.facts
    provenance = Provenance(
        folder,
        state,
        remote=Capability.REMOTE in backend.capabilities,
        folder=path if files else "",
        facts=f"{path}/{facts}" if files else "",
    )
    services = kind(
        root=folder,
        state=state,
        config=settled,
        plugins=manager,
        store=Store(backend, settled.layout, state, provenance),
        clock=clock or _system_clock,
        notices=notices,
    )
    with suppress(StorageError, Refused):  # what was not recorded stays withheld, and the first use reports the error
        services.store.begin()
    return services, found


def _register_backend(config: Config, manager: PluginManager, found: Iterable[discovery.Found]) -> None:
    entry = discovery.choose(found, discovery.BACKENDS, config.storage.backend)
    module = discovery.import_object(entry)
    if config.storage.options:
        options.check_storage(module, config.storage.options, found)
    manager.register_backend(module, entry)


def _system_clock() -> datetime:
    return datetime.now().astimezone()
