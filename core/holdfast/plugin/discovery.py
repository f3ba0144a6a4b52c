"""Find plugins and backends through entry points: all are listed, only enabled ones are imported.

The scan reads each installed distribution's ``entry_points.txt`` directly. ``importlib.metadata`` gives the same result
(a test compares them) but costs three times as much as a hook's other start-up work, because it imports an e-mail
parser, and this module runs at every agent event. Distributions inside zip files are not found.
"""

import os
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from holdfast.errors import ConfigError, PluginLoadFailed, PluginNotFound
from holdfast.plugin import ToStderr
from holdfast_memory import DISTRIBUTION

PLUGINS = "holdfast.plugins"
BACKENDS = "holdfast.backends"
#: A module with a CLI command; see :mod:`holdfast_cli.table`.
COMMANDS = "holdfast.commands"
#: A function that ``holdfast doctor`` calls. It returns or yields ``holdfast.api.Check`` values.
CHECKS = "holdfast.checks"
#: A method that another distribution adds to an opened project.
METHODS = "holdfast.methods"
#: The application's classes: of an opened project and of its settings. Only entries of :data:`OWN` count; see
#: docs/decisions/0014-the-application.md.
APPLICATION = "holdfast.application"
#: Plugins that are on without a settings table. Only entries of :data:`OWN` count, because installed does not mean
#: enabled.
DEFAULTS = "holdfast.defaults"
#: This module's distribution.
OWN = DISTRIBUTION


class Found(NamedTuple):
    """An installed entry point. ``value`` is ``module`` or ``module:attribute``."""

    group: str
    name: str
    value: str
    distribution: str
    version: str


class Status(NamedTuple):
    """A plugin's status: loaded, off, missing or failed, the ``reason``, and the ``step`` that ends it where repairing
    or disabling the plugin does not."""

    name: str
    group: str
    distribution: str
    version: str
    status: str
    reason: str
    hooks: tuple[str, ...] = ()
    step: str = ""


class PluginContext(NamedTuple):
    """The arguments for a plugin class: its name, its ``[plugins.NAME]`` settings, the project and the private
    folder."""

    name: str
    settings: Mapping[str, object]
    root: str
    state: str


def scan(path: Iterable[str] | None = None) -> tuple[Found, ...]:
    """Every installed entry point in holdfast's groups, by group, name and distribution, as it was at a process's first
    scan of that path. Imports none of them."""
    return _scanned(tuple(dict.fromkeys(sys.path if path is None else path)))


@lru_cache(maxsize=2)
def _scanned(folders: tuple[str, ...]) -> tuple[Found, ...]:
    entry_points: list[Found] = []
    seen: set[str] = set()
    for folder in folders:
        try:
            entries = sorted(e.name for e in os.scandir(folder or ".") if e.name.endswith((".dist-info", ".egg-info")))
        except OSError:
            continue
        for entry in entries:
            distribution, _, version = entry.rpartition(".")[0].partition("-")
            if distribution in seen:  # the first on the path wins, as for imports
                continue
            seen.add(distribution)
            try:
                with open(os.path.join(folder, entry, "entry_points.txt"), encoding="utf-8") as file:
                    entry_points += _parse(file.read(), distribution.replace("_", "-"), version)
            except (OSError, UnicodeDecodeError):
                continue
    return tuple(sorted(entry_points))


def _parse(text: str, distribution: str, version: str) -> Iterable[Found]:
    group = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            group = line.strip("[] ")
        elif "=" in line and not line.startswith(("#", ";")) and group.startswith("holdfast."):
            name, _, value = line.partition("=")
            yield Found(group, name.strip(), value.partition("[")[0].strip(), distribution, version)


def defaults() -> tuple[str, ...]:
    """Names of the plugins that are on without a settings table, sorted."""
    return tuple(f.name for f in scan() if f.group == DEFAULTS and f.distribution == OWN)


def declared(name: str) -> Any:
    """The application's class ``name``; None in the kernel alone. Raises: PluginLoadFailed."""
    named = (f for f in scan() if (f.group, f.name, f.distribution) == (APPLICATION, name, OWN))
    return next(map(import_object, named), None)


def method(name: str) -> Callable[..., Any]:
    """A method's function, added to an opened project by another distribution. Raises: PluginNotFound;
    PluginLoadFailed."""
    function: Any = import_object(choose([f for f in scan() if f.distribution != OWN], METHODS, name))
    return function  # type: ignore[no-any-return]


def choose(entries: Iterable[Found], group: str, name: str) -> Found:
    """The only entry point with that name. Raises: PluginNotFound; PluginLoadFailed when two distributions offer it."""
    kind = group.rpartition(".")[2].removesuffix("s")
    installed = [f for f in entries if f.group == group]
    matches = [f for f in installed if f.name == name]
    if not matches:
        near = ", ".join(sorted({f.name for f in installed})) or "none"
        raise PluginNotFound(
            f"The {kind} {name!r} is not installed.",
            next_step=f"Install the distribution that provides it, or correct the name; installed: {near}.",
        )
    if len(matches) > 1:
        owners = " and ".join(f.distribution for f in matches)
        raise PluginLoadFailed(
            f"The {kind} name {name!r} is provided by several distributions: {owners}.",
            next_step="Uninstall all but one.",
        )
    return matches[0]


def statuses(loaded: Iterable[Status], entries: Iterable[Found], backend: str) -> list[Status]:
    """The status of every plugin and backend, sorted. ``loaded`` are the enabled plugins, ``backend`` is in use."""
    rows = list(loaded)
    enabled = {s.name for s in rows}
    for entry in entries:
        reason = "not enabled" if entry.group == PLUGINS else "not the configured backend"
        row = Status(entry.name, entry.group, entry.distribution, entry.version, "off", reason)
        if entry.group == BACKENDS and entry.name == backend:
            row = row._replace(status="loaded", reason="", hooks=("storage_backend",))
        if entry.group == BACKENDS or (entry.group == PLUGINS and entry.name not in enabled):
            rows.append(row)
    return sorted(rows, key=lambda s: (s.group, s.name, s.distribution))


def import_object(entry: Found) -> object:
    """Import an entry point's target. Raises: PluginLoadFailed."""
    import importlib

    module_name, _, attribute = entry.value.partition(":")
    try:
        with ToStderr():
            loaded: object = importlib.import_module(module_name)
        for part in filter(None, attribute.split(".")):
            loaded = getattr(loaded, part)
    except ModuleNotFoundError as error:
        raise PluginLoadFailed(
            f"{entry.name!r} ({entry.distribution}) needs {error.name!r}.",
            next_step=f"Install {error.name!r}, or {entry.distribution} again.",
        ) from error
    except (Exception, SystemExit) as error:  # sys.exit(0) in a plugin must not end a flush as if it had succeeded
        raise PluginLoadFailed(
            f"{entry.name!r} ({entry.distribution}) cannot be imported: {type(error).__name__}: {error}.",
            next_step=f"Repair {entry.distribution}, or switch it off in holdfast.toml.",
        ) from error
    return loaded


# A backend's module has ``known_options``, its keys of ``[storage]``, so that a misspelt key is an error. A plugin has
# ``known_settings``, its keys, and ``project_settings``, those that a project may set. Without them all are passed on.

#: The keys of ``[storage]`` and ``[plugins.NAME]`` that core reads itself.
STORAGE_KEYS = ("backend", "path", "facts", "spool")
PLUGIN_KEYS = ("enabled", "deadline_s")


def keys_of(plugin: object, attribute: str) -> tuple[str, ...] | None:
    """The keys that it declares, where a string is one key; None without a declaration."""
    declared = getattr(plugin, attribute, None)
    return (declared,) if isinstance(declared, str) else None if declared is None else tuple(declared)


def check_storage(backend: object, keys: Collection[str], entries: Iterable[Found]) -> None:
    """Check the keys of ``[storage]`` against those of ``backend``, a module. Keys of this distribution's other
    backends are ignored, because they stay in the file when the backend is changed. Raises: ConfigError."""
    declared = keys_of(backend, "known_options")
    if declared is None or all(key in declared for key in keys):
        return
    known = {*declared}
    for entry in entries:
        if entry.group == BACKENDS and entry.distribution == OWN:
            known.update(keys_of(import_object(entry), "known_options") or ())
    _check("storage", keys, known, (*STORAGE_KEYS, *declared))


def check_plugin(plugin: object, name: str, keys: Iterable[str]) -> None:
    """Check the keys of ``[plugins.NAME]``. Raises: ConfigError."""
    declared = keys_of(plugin, "known_settings")
    if declared is not None:
        _check(f"plugins.{name}", keys, declared, (*PLUGIN_KEYS, *declared))


def _check(table: str, keys: Iterable[str], known: Collection[str], shown: Iterable[str]) -> None:
    for key in keys:
        if key not in known:
            from holdfast.text.humanize import nearest

            path = "".join(c if c.isprintable() else "?" for c in f"{table}.{key}")
            near = nearest(key, list(shown))
            step = f"Did you mean `{near}`?" if near else f"Known keys: {', '.join(shown)}."
            raise ConfigError(f"{path} is unknown.", next_step=step)
