"""Which plugins and backends there are, and what became of each, also when the store itself cannot be opened."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from holdfast import discovery, settings
from holdfast.discovery import BACKENDS, PLUGINS, Found, Status
from holdfast.dispatch import Dispatch, PluginSettings
from holdfast.errors import NotTrusted, PluginError, PluginNotFound, StorageError


def inventory(root: str) -> list[Status]:
    """Every installed or enabled plugin and backend, sorted by kind, name and distribution. Raises: ConfigError."""
    from holdfast.engine import Holdfast

    try:
        with Holdfast.open(root) as memory:
            return memory.plugin_statuses()
    except (NotTrusted, PluginError, StorageError) as error:
        return _without_store(root, error)


def statuses(
    loaded: Iterable[Status],
    found: Sequence[Found],
    backend: str,
    *,
    error: NotTrusted | PluginError | StorageError | None = None,
) -> list[Status]:
    """What became of each plugin and backend, sorted. ``loaded`` are the plugins that are enabled, ``backend`` the one
    that is configured, ``error`` why it cannot be used."""
    rows = list(loaded)
    enabled = {s.name for s in rows}
    for one in found:
        if one.group == PLUGINS and one.name not in enabled:
            rows.append(Status(one.name, PLUGINS, one.distribution, one.version, "off", "not enabled"))
        elif one.group == BACKENDS and one.name != backend:
            rows.append(Status(one.name, BACKENDS, one.distribution, one.version, "off", "not the configured backend"))
        elif one.group == BACKENDS:
            status, reason = ("failed", error.message) if error else ("loaded", "")
            hooks = () if error else ("storage_backend",)
            rows.append(Status(one.name, BACKENDS, one.distribution, one.version, status, reason, hooks))
    if error and not any(s.group == BACKENDS and s.name == backend for s in rows):
        status = "missing" if isinstance(error, PluginNotFound) else "failed"
        rows.append(Status(backend, BACKENDS, "", "", status, error.message))
    return sorted(rows, key=lambda s: (s.group, s.name, s.distribution))


def _without_store(root: str, error: NotTrusted | PluginError | StorageError) -> list[Status]:
    config = settings.load(root)
    found = discovery.scan()
    dispatch = Dispatch()
    enabled = [
        PluginSettings(name, config.plugin(name).deadline_s, config.plugin(name).settings)
        for name in config.enabled_plugins
    ]
    state = os.path.join(root, settings.STATE_FOLDERS[config.layout.preset])
    dispatch.load(enabled, found, root=root, state=state)
    return statuses(dispatch.statuses, found, config.storage.backend, error=error)
