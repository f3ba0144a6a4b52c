"""The settings of ``[plugins.curated]``."""

from collections.abc import Mapping
from typing import NamedTuple


class Limits(NamedTuple):
    """The plugin's settings. ``max_chars`` limits one item, without its ``- ``."""

    bullets: bool = True
    max_items: int = 200
    max_chars: int = 500


def of(settings: Mapping[str, object]) -> Limits:
    """A table's settings. Raises: ConfigError for an unknown or invalid setting."""
    for name, value in settings.items():
        default = Limits._field_defaults.get(name)
        # type() rather than isinstance: true is not a number of items.
        if default is None or type(value) is not type(default) or (type(value) is int and value < 1):
            from holdfast.errors import ConfigError

            raise ConfigError(
                f"plugins.curated.{name} cannot be {value!r}.",
                next_step="Settings are: bullets (true or false), max_items and max_chars (whole numbers from 1).",
            )
    return Limits(**settings)  # type: ignore[arg-type]
