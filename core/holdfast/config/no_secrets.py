"""Keep keys out of the settings, because others can read the file and it is committed to the repository."""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.errors import ConfigError

_NAMES = frozenset(
    ("key", "apikey", "api_key", "token", "apitoken", "api_token", "auth_token", "access_token", "secret", "password")
)


def check(data: Mapping[str, object]) -> None:
    """Refuse a key in ``[storage]`` or a plugin's table. Raises: ConfigError, without the key's value."""
    plugins = data.get("plugins")
    tables = {f"plugins.{name}": table for name, table in plugins.items()} if isinstance(plugins, Mapping) else {}
    for path, table in {"storage": data.get("storage"), **tables}.items():
        for key in table if isinstance(table, Mapping) else ():
            if key.lower().replace("-", "_") in _NAMES:
                raise ConfigError(
                    f"{path}.{key}: a key does not belong in the settings, because others can read the file.",
                    next_step="Remove it, and set the key with `holdfast auth set` or in the environment.",
                )
