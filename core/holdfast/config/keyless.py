"""Keep keys out of the settings, because others can read the file and it is committed to the repository."""

from __future__ import annotations

from holdfast.errors import ConfigError
from holdfast.plugin import discovery

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_NAMES = frozenset(
    ("key", "apikey", "api_key", "token", "apitoken", "api_token", "auth_token", "access_token", "secret", "password")
)


def check(data: Mapping[str, object]) -> None:
    """Refuse a key in any table for which a distribution declares a ``stored-key``. Raises: ConfigError, without the
    key's value."""
    for path, name in discovery.declared("stored-key", own=False).items():
        table: object = data
        for part in path.split("."):
            table = table.get(part) if isinstance(table, dict) else None
        if isinstance(table, dict):
            check_table(path, table, name)


def check_table(path: str, table: Mapping[str, object], name: str) -> None:
    """Refuse a key in the table at ``path``, whose key belongs in the keyring under ``name``. Raises: ConfigError."""
    for key in table:
        if key.lower().replace("-", "_") in _NAMES:
            raise ConfigError(
                f"{path}.{key}: a key does not belong in the settings, because others can read the file.",
                next_step=f"Remove it, and set the key with `holdfast auth set {name}` or in the environment.",
            )
