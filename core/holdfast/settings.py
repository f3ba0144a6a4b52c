"""Finding the project and reading its settings: files first, then the environment. No attrs on this path's top."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from holdfast.errors import ConfigError

if TYPE_CHECKING:
    from holdfast.config import Config

#: Where settings may stand, in the order in which they are looked for; the first that exists wins.
CONFIG_FILES = ("holdfast.toml", ".opencode/holdfast.toml", "pyproject.toml")
#: Plugins of this distribution that are on unless switched off. Others are off until a ``[plugins.NAME]`` table
#: names them: installed is not enabled.
DEFAULT_PLUGINS = ("anchors", "curated", "grounding", "offline", "redaction")
#: The private folder of each layout preset, under the project.
STATE_FOLDERS = {"default": ".holdfast/state", "timmy": ".holdfast/state", "opencode": ".opencode/state"}
#: Where new settings of a layout are written; nothing of ``opencode`` may lie outside of its folder (R230).
NEW_CONFIG_FILES = {"default": "holdfast.toml", "timmy": "holdfast.toml", "opencode": ".opencode/holdfast.toml"}
_MARKS = ("holdfast.toml", ".holdfast", ".opencode/holdfast.toml")


def find_root(start: str | None = None, env: Mapping[str, str] | None = None) -> str:
    """The project folder, absolute and without symbolic links: nothing below it may be one from here on.

    ``start`` when given (it must exist), else ``HOLDFAST_ROOT``, else the nearest folder at or above the working
    directory that holds holdfast.toml or ``.holdfast``, else the nearest that holds ``.git``, else the working
    directory. Raises: ConfigError when a folder that was named does not exist.
    """
    env = os.environ if env is None else env
    named = start or env.get("HOLDFAST_ROOT")
    if named:
        root = os.path.realpath(os.path.expanduser(named))
        if not os.path.isdir(root):
            raise ConfigError(f"The project folder {named!r} does not exist.", next_step="Create it, or name another.")
        return root
    here = os.path.realpath(os.getcwd())
    for marks in (_MARKS, (".git",)):
        folder = here
        while True:
            if any(os.path.exists(os.path.join(folder, mark)) for mark in marks):
                return folder
            parent = os.path.dirname(folder)
            if parent == folder:
                break
            folder = parent
    return here


def config_file(root: str) -> str | None:
    """The file that holds the settings, or None when the defaults apply."""
    for name in CONFIG_FILES:
        path = os.path.join(root, name)
        if os.path.lexists(path) and (name != "pyproject.toml" or _has_table(path)):
            return path
    return None


def _has_table(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return b"tool.holdfast" in file.read()
    except OSError:
        return False


def overrides(env: Mapping[str, str] | None = None) -> dict[str, str]:
    """``HOLDFAST_SECTION__KEY=value`` variables, as ``section.key`` -> text. ``HOLDFAST_ZONE`` is the top-level key."""
    env = os.environ if env is None else env
    found = {}
    for name in sorted(env):
        if name == "HOLDFAST_ZONE" or (name.startswith("HOLDFAST_") and "__" in name):
            found[name.removeprefix("HOLDFAST_").lower().replace("__", ".")] = env[name]
    return found


def load(root: str, env: Mapping[str, str] | None = None) -> Config:
    """The configuration of a project. Raises: ConfigError naming file and key."""
    from holdfast.serde import config_from

    data, source = raw(root)
    for path in apply_overrides(data, env):
        source = f"{source} with HOLDFAST_{path.upper().replace('.', '__')}"
    _preset_defaults(data)
    return config_from(data, source)


def apply_overrides(data: dict[str, Any], env: Mapping[str, str] | None = None) -> list[str]:
    """Put the environment's values into ``data``; returns the paths of the keys that it set."""
    found = overrides(env)
    for path, text in found.items():
        _put(data, path, text)
    return list(found)


def state_folder(data: Mapping[str, Any]) -> str:
    """The private folder that goes with the layout that ``data`` names."""
    return STATE_FOLDERS.get(_preset(data), STATE_FOLDERS["default"])


def new_config_file(data: Mapping[str, Any]) -> str:
    """Where a settings file that says ``data`` is made, relative to the project."""
    return NEW_CONFIG_FILES.get(_preset(data), NEW_CONFIG_FILES["default"])


def _preset(data: Mapping[str, Any]) -> str:
    layout = data.get("layout", {})
    return str(layout.get("preset", "default")) if isinstance(layout, Mapping) else "default"


def raw(root: str) -> tuple[dict[str, Any], str]:
    """The settings as written, and the name of their file. Raises: ConfigError."""
    path = config_file(root)
    if path is None:
        return {}, "The default configuration"
    import tomllib

    name = os.path.relpath(path, root).replace(os.sep, "/")
    try:
        with open(path, "rb") as file:
            data = tomllib.load(file)
    except OSError as error:
        raise ConfigError(f"{name} cannot be read: {error.strerror}.", next_step="Check that it is a file.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{name} is not valid TOML: {error}.", next_step="Correct that line.") from error
    if name == "pyproject.toml":
        data = data.get("tool", {}).get("holdfast", {})
        name = "[tool.holdfast] in pyproject.toml"
    return data, name


def _put(data: dict[str, Any], path: str, text: str) -> None:
    *parents, key = path.split(".")
    for parent in parents:
        data = data.setdefault(parent, {})
        if not isinstance(data, dict):
            raise ConfigError(f"HOLDFAST_{path.upper().replace('.', '__')} names a key inside a value.")
    data[key] = _value(text)


def _value(text: str) -> object:
    """A TOML value when the text is one (numbers, booleans, lists), else the text."""
    import tomllib

    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _preset_defaults(data: dict[str, Any]) -> None:
    """The store's folder and facts file follow from the layout unless ``[storage]`` says otherwise."""
    from holdfast.layout import PRESETS, Layout

    layout = data.get("layout", {})
    storage = data.setdefault("storage", {})
    if not isinstance(layout, dict) or not isinstance(storage, dict) or layout.get("preset", "default") not in PRESETS:
        return  # structuring names the mistake
    made = Layout(preset=layout.get("preset", "default"), roots=layout.get("roots", {}))
    storage.setdefault("path", made.base.path)
    storage.setdefault("facts", made.facts)
