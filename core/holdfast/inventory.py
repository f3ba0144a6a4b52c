"""Which plugins and backends there are, and what became of each, also when the store itself cannot be opened."""

from __future__ import annotations

import os

from holdfast import discovery, settings
from holdfast.discovery import BACKENDS, PLUGINS, Status
from holdfast.dispatch import Dispatch, PluginSettings
from holdfast.errors import PluginError, PluginNotFound, StorageError


def inventory(root: str) -> list[Status]:
    """Every installed or enabled plugin and backend, sorted by kind, name and distribution. Raises: ConfigError."""
    from holdfast.engine import Holdfast

    try:
        with Holdfast.open(root) as memory:
            return memory.plugin_statuses()
    except (PluginError, StorageError) as error:
        return _without_store(root, error)


def _without_store(root: str, error: PluginError | StorageError) -> list[Status]:
    config = settings.load(root)
    found = discovery.scan()
    dispatch = Dispatch()
    enabled = [
        PluginSettings(name, config.plugin(name).deadline_s, config.plugin(name).settings)
        for name in config.enabled_plugins
    ]
    state = os.path.join(root, settings.STATE_FOLDERS[config.layout.preset])
    dispatch.load(enabled, found, root=root, state=state)
    loaded = {s.name for s in dispatch.statuses}
    rows = list(dispatch.statuses)
    wanted = config.storage.backend
    seen = False
    for one in found:
        if one.group == PLUGINS and one.name not in loaded:
            rows.append(Status(one.name, one.group, one.distribution, one.version, "off", "not enabled"))
        elif one.group == BACKENDS:
            broken = one.name == wanted
            seen = seen or broken
            rows.append(
                Status(
                    one.name,
                    one.group,
                    one.distribution,
                    one.version,
                    "failed" if broken else "off",
                    error.message if broken else "not the configured backend",
                )
            )
    if not seen:
        status = "missing" if isinstance(error, PluginNotFound) else "failed"
        rows.append(Status(wanted, BACKENDS, "", "", status, error.message))
    return sorted(rows, key=lambda s: (s.group, s.name, s.distribution))
