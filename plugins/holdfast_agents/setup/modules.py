"""Finds Claude Code plugins whose modules hook ``session.compact``, so that compaction need not ask PreCompact.

The files are read as text, bounded in number and size, and never run. A plugin is a folder with ``hooks/hooks.json``
that lists ``modules``. It may be in Claude Code's own folder, in a marketplace that its settings name, or in the
project. Source: observed with 2.1.332. A plugin given with ``--plugin-dir`` leaves no trace in the settings, and an
event name that a module composes is not found.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from holdfast.text import untrusted
from holdfast_agents import settingsfile
from holdfast_agents.folders import folder

EVENT: Final = b"session.compact"
_MANIFEST: Final = (".claude-plugin", "plugin.json")
_SETTINGS: Final = ("settings.json", "settings.local.json")
_CODE: Final = (".js", ".mjs", ".cjs", ".ts", ".mts", ".cts")
_LEFT_OUT: Final = frozenset({"node_modules", ".git"})
_FOLDERS, _DEPTH, _FILES = 4_000, 8, 200


class Found(NamedTuple):
    """``enabled`` is None when no settings file mentions the plugin."""

    name: str
    path: str
    enabled: bool | None


def compacting(root: str) -> list[Found]:
    """The plugins, each once, sorted by name."""
    home = folder("CLAUDE_CONFIG_DIR", ".claude")
    projects = os.path.join(root, ".claude")
    settings = [_json(place, name) for place in (home, projects) for name in _SETTINGS]
    switches: dict[str, object] = {}
    for table in settings:  # the project's override the user's, and local ones override both
        switches |= _table(table.get("enabledPlugins"))
    enabled: dict[str, bool] = {}
    for key, on in switches.items():
        name = key.partition("@")[0]
        enabled[name] = enabled.get(name, False) or on is True
    found: dict[str, Found] = {}
    budget = iter(range(_FOLDERS))
    for start in dict.fromkeys(map(os.path.realpath, _starts(home, projects, settings))):
        for path in _plugins(start, budget):
            name = str(_json(path, *_MANIFEST).get("name") or os.path.basename(path))
            if name not in found and _hooks_compaction(path):
                found[name] = Found(name, path, enabled.get(name))
    return sorted(found.values())


def _starts(home: str, projects: str, settings: list[dict[str, Any]]) -> Iterator[str]:
    """Folders that may hold plugins, the installed ones first."""
    plugins = os.path.join(home, "plugins")
    for installed in _table(_json(plugins, "installed_plugins.json").get("plugins")).values():
        for one in installed if isinstance(installed, list) else [installed]:
            yield from _path(one, "installPath")
    yield plugins
    yield os.path.join(projects, "plugins")
    for one in _json(plugins, "known_marketplaces.json").values():
        yield from _path(one, "installLocation")
    for table in settings:
        for one in _table(table.get("extraKnownMarketplaces")).values():
            yield from _path(_table(one).get("source"), "path")


def _plugins(start: str, budget: Iterator[int]) -> Iterator[str]:
    """The folders at or below ``start`` with a list of hooks. Links are not followed."""
    top = start.count(os.sep)
    for path, folders, _ in os.walk(start):
        if next(budget, None) is None:
            return
        folders[:] = sorted(set(folders) - _LEFT_OUT) if path.count(os.sep) - top < _DEPTH else []
        if "hooks" in folders and os.path.isfile(os.path.join(path, "hooks", "hooks.json")):
            yield path


def _hooks_compaction(path: str) -> bool:
    """Whether the plugin has modules, and any of its code names the event."""
    if not _json(path, "hooks", "hooks.json").get("modules"):
        return False
    read = 0
    for place, folders, names in os.walk(path):
        folders[:] = sorted(set(folders) - _LEFT_OUT)
        for name in sorted(name for name in names if name.endswith(_CODE)):
            read += 1
            if read > _FILES:
                return False
            try:
                if EVENT in settingsfile.read(os.path.join(place, name)):
                    return True
            except OSError:
                continue
    return False


def _json(*parts: str) -> dict[str, Any]:
    """An object in a file. Empty when it is missing, too large or holds something else."""
    try:
        return _table(untrusted.from_json(settingsfile.read(os.path.join(*parts))))
    except (OSError, ValueError):
        return {}


def _table(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _path(value: object, key: str) -> Iterator[str]:
    path = _table(value).get(key)
    if isinstance(path, str) and os.path.isabs(path) and "\0" not in path:
        yield path
