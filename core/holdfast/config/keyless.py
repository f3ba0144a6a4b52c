"""Keep keys out of the settings, because others can read the file and it is committed to the repository."""

from __future__ import annotations

from holdfast.errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_NAMES = frozenset(
    ("key", "apikey", "api_key", "token", "apitoken", "api_token", "auth_token", "access_token", "secret", "password")
)
#: Tables that name a server that needs a key, and the name under which that key is stored.
_TABLES = {
    "storage": "gitea",
    "plugins.anthropic": "anthropic",
    "plugins.gitea_trail": "gitea",
    "plugins.openai": "openai",
}


def check(data: Mapping[str, object]) -> None:
    """Refuse settings that contain a key. Raises: ConfigError, without the key's value."""
    for path, name in _TABLES.items():
        table: object = data
        for part in path.split("."):
            table = table.get(part) if isinstance(table, dict) else None
        if isinstance(table, dict):
            check_table(path, table, name)


def check_table(path: str, table: Mapping[str, object], name: str) -> None:
    """The same for the table at ``path``, whose key is stored under ``name``. Raises: ConfigError."""
    for key in table:
        if key.lower().replace("-", "_") in _NAMES:
            raise ConfigError(
                f"{path}.{key}: a key does not belong in the settings, because others can read the file.",
                next_step=f"Remove it, and set the key with `holdfast auth set {name}` or in the environment.",
            )
