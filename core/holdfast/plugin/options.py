"""Setting names declared by backends and plugins, so that a misspelt key is an error instead of being ignored.

A backend's module has ``known_options``, the keys that it reads from ``[storage]``. A plugin (a module, class or
object) has ``known_settings``, the keys of its ``[plugins.NAME]`` table. Without the attribute, all keys are passed on.
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
    known = {*declared}
    for one in found:
        if one.group == discovery.BACKENDS and one.distribution == discovery.OWN:
            try:
                known.update(getattr(discovery.import_object(one), "known_options", ()))
            except PluginError:
                continue
    for key in given:
        if key not in known:
            raise _unknown(f"storage.{key}", key, (*STORAGE, *declared))


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
    if declared is None:
        return
    for key in given:
        if key not in declared:
            raise _unknown(f"plugins.{name}.{key}", key, (*PLUGIN, *declared))


def _unknown(path: str, key: str, known: Iterable[str]) -> ConfigError:
    shown = "".join(c if c.isprintable() else "?" for c in path)
    near = nearest(key, known)
    step = f"Did you mean `{near}`?" if near else f"Known keys: {', '.join(known)}."
    return ConfigError(f"{shown} is unknown.", next_step=step)
