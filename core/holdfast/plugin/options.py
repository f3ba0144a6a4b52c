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


def check_storage(backend: object, given: Collection[str], found: Iterable[discovery.Found]) -> None:
    """Check the keys of ``[storage]`` against those of ``backend``, a module. Keys of this distribution's other
    backends are ignored, because they stay in the file when the backend is changed. Raises: ConfigError."""
    declared = getattr(backend, "known_options", None)
    if declared is None or all(key in declared for key in given):
        return
    known = {*declared}
    for one in found:
        if one.group == discovery.BACKENDS and one.distribution == discovery.OWN:
            try:
                known.update(getattr(discovery.import_object(one), "known_options", ()))
            except PluginError:
                continue
    _check("storage", given, known, (*STORAGE, *declared))


def check_named(backend: str, given: Collection[str]) -> None:
    """:func:`check_storage` for a backend not chosen by the user. Only this distribution's backends are imported.

    Raises: ConfigError.
    """
    found = discovery.scan()
    for one in found:
        if (one.group, one.name, one.distribution) == (discovery.BACKENDS, backend, discovery.OWN):
            check_storage(discovery.import_object(one), given, found)


def check_plugin(plugin: object, name: str, given: Iterable[str]) -> None:
    """Check the keys of ``[plugins.NAME]``. Raises: ConfigError."""
    declared = getattr(plugin, "known_settings", None)
    if declared is not None:
        _check(f"plugins.{name}", given, declared, (*PLUGIN, *declared))


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


def _check(table: str, given: Iterable[str], known: Collection[str], shown: Iterable[str]) -> None:
    for key in given:
        if key not in known:
            from holdfast.text.humanize import nearest

            path = "".join(c if c.isprintable() else "?" for c in f"{table}.{key}")
            near = nearest(key, list(shown))
            step = f"Did you mean `{near}`?" if near else f"Known keys: {', '.join(shown)}."
            raise ConfigError(f"{path} is unknown.", next_step=step)
