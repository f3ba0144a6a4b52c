"""Lists plugins and backends with their state, even when the store itself cannot be opened."""

from __future__ import annotations

from holdfast.config import resolved, statefolder
from holdfast.errors import NotTrusted, PluginError, StorageError
from holdfast.plugin import discovery
from holdfast.plugin.discovery import Status, statuses
from holdfast.plugin.manager import PluginManager, PluginSettings


def inventory(root: str) -> list[Status]:
    """Every installed or enabled plugin and backend, sorted by kind, name and distribution. Raises: ConfigError."""
    from holdfast import Holdfast

    try:
        with Holdfast.open(root) as memory:
            return memory.plugin_statuses()
    except (NotTrusted, PluginError, StorageError) as error:
        return _without_store(root, error)


def _without_store(root: str, error: NotTrusted | PluginError | StorageError) -> list[Status]:
    config = resolved.load(root)
    found = discovery.scan()
    manager = PluginManager()
    enabled = [
        PluginSettings(name, config.plugin(name).deadline_s, config.plugin(name).settings)
        for name in config.enabled_plugins
    ]
    state = statefolder.path(root, config.layout.preset)
    manager.load(enabled, found, root=root, state=state)
    return statuses(manager.statuses, found, config.storage.backend, error=error)
