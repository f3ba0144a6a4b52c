"""JSON and TOML that anybody may have written: nesting that is too deep is a ValueError like any other bad syntax."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TOO_DEEP = "nested too deeply"
#: Tables within tables that TOML may have.
_TABLES = 100
#: A dotted key of that many parts. The parser's memory grows with the square of its length: 40 GB for 100,000 parts.
_LONG_KEY = rf"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){{{_TABLES}}}"""


def from_json(data: str | bytes) -> Any:
    """The value that JSON text stands for. Raises: ValueError."""
    import json

    try:
        return json.loads(data)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None


def from_toml(text: str) -> dict[str, Any]:
    """The table that TOML text stands for. Raises: ValueError, most often tomllib.TOMLDecodeError."""
    import re
    import tomllib

    if re.search(_LONG_KEY, text):
        raise tomllib.TOMLDecodeError(_TOO_DEEP)
    try:
        parsed = tomllib.loads(text)
    except RecursionError:
        raise tomllib.TOMLDecodeError(_TOO_DEEP) from None
    level: list[Any] = [parsed]
    for _ in range(_TABLES):  # dotted keys in inline tables multiply their depths
        inner = (v for item in level for v in (item.values() if isinstance(item, dict) else item))
        level = [v for v in inner if isinstance(v, (dict, list))]
        if not level:
            return parsed
    raise tomllib.TOMLDecodeError(_TOO_DEEP)
