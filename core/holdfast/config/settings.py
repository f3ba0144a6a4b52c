"""The user's settings as tables: their file, and the environment. Without attrs, because agents' hooks read them."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

from holdfast.errors import ConfigError
from holdfast.fs import userdir
from holdfast.text import untrusted

#: Each layout preset's private folder, under the project.
STATE_FOLDERS = {"default": ".holdfast/state", "timmy": ".holdfast/state", "opencode": ".opencode/state"}


def state_folder(root: str, preset: str) -> str:
    return os.path.join(root, *STATE_FOLDERS.get(preset, STATE_FOLDERS["default"]).split("/"))


def overrides() -> dict[str, str]:
    """``HOLDFAST_SECTION__KEY=value`` variables, as ``section.key`` -> text. ``HOLDFAST_ZONE`` is the top-level key."""
    names = (n for n in sorted(os.environ) if n == "HOLDFAST_ZONE" or (n.startswith("HOLDFAST_") and "__" in n))
    return {name.removeprefix("HOLDFAST_").lower().replace("__", "."): os.environ[name] for name in names}


def apply_overrides(data: dict[str, Any]) -> None:
    """Put the environment's values into ``data``. Raises: ConfigError for a key inside a value."""
    for path, text in overrides().items():
        put(data, path.split("."), toml_value(text))


def preset(data: Mapping[str, Any], default: str = "default") -> str:
    """The layout's preset in settings that may be invalid."""
    layout = data.get("layout")
    return str(layout.get("preset", default)) if isinstance(layout, Mapping) else default


def user_raw() -> tuple[dict[str, Any], str]:
    """The user's own settings for all projects as written, and their file's path. Raises: ConfigError."""
    path = userdir.path(userdir.CONFIG_FILE)
    try:
        with open(path, "rb") as file:
            data = file.read()
    except FileNotFoundError:
        return {}, path
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}.", next_step="Check that it is a file.") from error
    return parsed(data, path), path


def parsed(data: bytes, name: str) -> dict[str, Any]:
    """A settings file's table. Raises: ConfigError."""
    try:
        text = data.decode("utf-8")
        # A file of comments, as `holdfast init` writes it, needs no parser.
        return {} if all(not line or line[0] == "#" for line in text.split("\n")) else untrusted.from_toml(text)
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{name} is not UTF-8: byte {error.start} cannot be read.", next_step="Convert it to UTF-8."
        ) from error
    except ValueError as error:
        raise ConfigError(f"{name} is not valid TOML: {error}.", next_step="Correct that line.") from error


def put(data: dict[str, Any], keys: Sequence[str], value: object) -> None:
    """Set a key of nested tables. Raises: ConfigError for a key inside a value."""
    for key in keys[:-1]:
        data = data.setdefault(key, {})
        if not isinstance(data, dict):
            raise ConfigError(
                f"{'.'.join(keys)} names a key inside a value.", next_step="`holdfast config` lists the keys."
            )
    data[keys[-1]] = value


def toml_value(text: str) -> object:
    """A TOML value when ``text`` is one (``3``, ``true``, ``["a"]``), otherwise ``text`` itself."""
    try:
        table = untrusted.from_toml(f"value = {text}")
    except ValueError:
        return text
    return table["value"] if set(table) == {"value"} else text
