"""Finds Claude Code plugins whose modules hook ``session.compact``, so that compaction need not ask PreCompact.

The files are read as text, bounded in number and size, and never run. A plugin is a folder with ``hooks/hooks.json``
that lists ``modules``. It may be in Claude Code's own folder, its skills, a marketplace that its settings name, or in
the project. holdfast's own module is left out. Source: observed with 2.1.332. A plugin given with ``--plugin-dir``
leaves no trace in the settings, and an event name that a module composes is not found.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final, NamedTuple

from holdfast_agents.clientfiles import claude_folder, read_or_empty, table
from holdfast_agents.setup import program
from holdfast_agents.setup.claude_code import SCRIPT, module

EVENT: Final = b"session.compact"
_CODE: Final = (".js", ".mjs", ".cjs", ".ts", ".mts", ".cts")
_LEFT_OUT: Final = frozenset({"node_modules", ".git"})
#: Limits for the folders below each start, and for a plugin's files.
_FOLDERS, _FILES = 4_000, 200


class Module(NamedTuple):
    """A plugin with such a module. ``enabled`` is None when no settings file mentions it."""

    name: str
    path: str
    enabled: bool | None


def compacting(root: str) -> list[Module]:
    """The plugins, each once, sorted by name."""
    home, project = claude_folder(), os.path.join(root, ".claude")
    names = ("settings.json", "settings.local.json")
    settings = [table(os.path.join(place, name)) for place in (home, project) for name in names]
    switches: dict[str, object] = {}
    for one in settings:  # the project's override the user's, and local ones override both
        switches |= _members(one.get("enabledPlugins"))
    enabled: dict[str, bool] = {}
    for key, on in switches.items():
        name = key.partition("@")[0]
        enabled[name] = enabled.get(name, False) or on is True
    modules: dict[str, Module] = {}
    own = [one.body.encode() for words in program.KNOWN for one in (module(words), module(words, SCRIPT))]
    for start in dict.fromkeys(map(os.path.realpath, _starts(home, project, settings))):
        for path, _ in islice(_walk(start), _FOLDERS):
            if _hooks_compaction(path, own):
                manifest = table(os.path.join(path, ".claude-plugin", "plugin.json"))
                name = str(manifest.get("name") or os.path.basename(path))
                modules.setdefault(name, Module(name, path, enabled.get(name)))
    return sorted(modules.values())


def _starts(home: str, project: str, settings: list[dict[str, Any]]) -> Iterator[str]:
    """Folders that may hold plugins, the installed ones first."""
    plugins = os.path.join(home, "plugins")
    installed = _members(table(os.path.join(plugins, "installed_plugins.json")).get("plugins")).values()
    entries = [entry for value in installed for entry in (value if isinstance(value, list) else [value])]
    marketplaces = table(os.path.join(plugins, "known_marketplaces.json")).values()
    named = [entry for one in settings for entry in _members(one.get("extraKnownMarketplaces")).values()]
    for path in (
        *(_members(entry).get("installPath") for entry in entries),
        *(os.path.join(place, name) for place in (home, project) for name in ("skills", "plugins")),
        *(_members(entry).get("installLocation") for entry in marketplaces),
        *(_members(_members(entry).get("source")).get("path") for entry in named),
    ):
        if isinstance(path, str) and os.path.isabs(path) and "\0" not in path:
            yield path


def _walk(start: str) -> Iterator[tuple[str, list[str]]]:
    """The folders at or below ``start`` with their files. Links are not followed."""
    for path, folders, names in os.walk(start):
        folders[:] = sorted(set(folders) - _LEFT_OUT)
        yield path, sorted(names)


def _hooks_compaction(path: str, own: list[bytes]) -> bool:
    """Whether the folder is a plugin with modules, and any of its code names the event."""
    if not table(os.path.join(path, "hooks", "hooks.json")).get("modules"):
        return False
    files = (os.path.join(folder, name) for folder, names in _walk(path) for name in names if name.endswith(_CODE))
    return any(EVENT in text and text not in own for text in map(read_or_empty, islice(files, _FILES)))


def _members(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
