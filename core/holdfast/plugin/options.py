"""What backends and plugins declare about their settings, in attributes.

A backend's module has ``known_options``, the keys that it reads from ``[storage]``, so that a misspelt key is an error
instead of being ignored. A plugin (a module, class or object) has ``known_settings``, the keys of its
``[plugins.NAME]`` table, and ``project_settings``, those that a project may set. Without ``known_options`` or
``known_settings`` all keys are passed on.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from holdfast.errors import ConfigError, PluginError
from holdfast.plugin import discovery

#: The keys of ``[storage]`` and ``[plugins.NAME]`` that core reads itself.
STORAGE = ("backend", "path", "facts", "spool")
PLUGIN = ("enabled", "deadline_s")


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word most similar to ``word``, or ``""``."""
    import difflib

    return next(iter(difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)), "")


def check_storage(backend: object, given: Collection[str], found: Iterable[discovery.Found]) -> None:
    """Check the keys of ``[storage]`` against those of ``backend``, a module. Keys of this distribution's other
    backends are ignored, because they stay in the file when the backend is changed. Raises: ConfigError."""
    declared = getattr(backend, "known_options", None)
    if declared is None or all(key in declared for key in given):
        return
    known = {*declared, *own_options(found)}
    for key in given:
        if key not in known:
            raise _unknown(f"storage.{key}", key, (*STORAGE, *declared))


def own_options(found: Iterable[discovery.Found]) -> set[str]:
    """The keys that this distribution's backends read from ``[storage]``."""
    known: set[str] = set()
    for one in found:
        if one.group == discovery.BACKENDS and one.distribution == discovery.OWN:
            try:
                known.update(getattr(discovery.import_object(one), "known_options", ()))
            except PluginError:
                continue
    return known


def check_named(backend: str, given: Collection[str]) -> None:
    """:func:`check_storage` for a backend not chosen by the user. Only this distribution's backends are imported.

    Raises: ConfigError.
    """
    if (module := _own_object(discovery.BACKENDS, backend)) is not None:
        check_storage(module, given, discovery.scan())


def check_plugin(plugin: object, name: str, given: Iterable[str]) -> None:
    """Check the keys of ``[plugins.NAME]``. Raises: ConfigError."""
    declared = getattr(plugin, "known_settings", None)
    if declared is None:
        return
    for key in given:
        if key not in declared:
            raise _unknown(f"plugins.{name}.{key}", key, (*PLUGIN, *declared))


def allows(plugin: object, key: str, value: object, own: object) -> bool:
    """Whether a project may set ``key`` of this plugin's table to ``value``, by the plugin's own declaration.

    Its ``project_settings`` maps the keys that a project may set to None, for any value, or to a function of the value
    and the user's own value (None when there is none). Without the attribute no key may be set. A function that raises
    counts as refusal.
    """
    declared = getattr(plugin, "project_settings", None)
    try:
        if not declared or key not in declared:
            return False
        check = declared[key]
        return check is None or bool(check(value, own))
    except Exception:  # noqa: BLE001 - the value comes from a stranger and the function from a plugin
        return False


def keeps_in_project(backend: str) -> bool:
    """Whether it is a backend of this distribution that writes only in the layout preset's folder: its module has a
    true ``keeps_in_project``."""
    return bool(getattr(_own_object(discovery.BACKENDS, backend), "keeps_in_project", False))


def dreams_by_default(plugin: str) -> bool:
    """Whether it is a plugin that is on without a table, and dreams. Such a plugin sends nothing."""
    return plugin in discovery.defaults() and hasattr(_own_object(discovery.PLUGINS, plugin), "on_dream")


def key_name(plugin: str) -> str:
    """The name under which ``holdfast auth`` stores a plugin's key: its ``key_name``, otherwise the plugin's name."""
    return str(getattr(_own_object(discovery.PLUGINS, plugin), "key_name", plugin))


def _own_object(group: str, name: str) -> object:
    """The plugin or backend of that name in this distribution, or None. Nothing of another distribution is imported."""
    for one in discovery.scan():
        if (one.group, one.name, one.distribution) == (group, name, discovery.OWN):
            return discovery.import_object(one)
    return None


def _unknown(path: str, key: str, known: Iterable[str]) -> ConfigError:
    shown = "".join(c if c.isprintable() else "?" for c in path)
    near = nearest(key, known)
    step = f"Did you mean `{near}`?" if near else f"Known keys: {', '.join(known)}."
    return ConfigError(f"{shown} is unknown.", next_step=step)
