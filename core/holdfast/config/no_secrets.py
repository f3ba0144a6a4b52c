"""Keep keys out of the settings, because others can read the file and it is committed to the repository."""

from __future__ import annotations

from holdfast.errors import ConfigError
from holdfast.plugin import options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_NAMES = frozenset(
    ("key", "apikey", "api_key", "token", "apitoken", "api_token", "auth_token", "access_token", "secret", "password")
)


def check(data: Mapping[str, object]) -> None:
    """Refuse a key in ``[storage]`` or a plugin's table. Raises: ConfigError, without the key's value."""
    storage, plugins = data.get("storage"), data.get("plugins")
    if isinstance(storage, dict):
        check_table("storage", storage, str(storage.get("backend", "NAME")))
    for name, table in plugins.items() if isinstance(plugins, dict) else ():
        if isinstance(table, dict) and _holds_key(table):
            check_table(f"plugins.{name}", table, options.key_name(name))


def check_table(path: str, table: Mapping[str, object], name: str) -> None:
    """Refuse a key in the table at ``path``, whose key belongs in the keyring under ``name``. Raises: ConfigError."""
    if key := _holds_key(table):
        raise ConfigError(
            f"{path}.{key}: a key does not belong in the settings, because others can read the file.",
            next_step=f"Remove it, and set the key with `holdfast auth set {name}` or in the environment.",
        )


def _holds_key(table: Mapping[str, object]) -> str:
    """The first setting that is named like a key, or ``""``."""
    return next((key for key in table if key.lower().replace("-", "_") in _NAMES), "")
