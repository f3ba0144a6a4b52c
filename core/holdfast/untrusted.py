"""JSON and TOML that anybody may have written: nesting that is too deep is a ValueError like any other bad syntax."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TOO_DEEP = "nested too deeply"


def from_json(data: str | bytes) -> Any:
    """The value that JSON text stands for. Raises: ValueError."""
    import json

    try:
        return json.loads(data)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None


def from_toml(text: str) -> dict[str, Any]:
    """The table that TOML text stands for. Raises: ValueError, most often tomllib.TOMLDecodeError."""
    import tomllib

    try:
        return tomllib.loads(text)
    except RecursionError:
        raise tomllib.TOMLDecodeError(_TOO_DEEP) from None
