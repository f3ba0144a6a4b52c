"""Parse untrusted JSON and TOML. Excessive nesting is a ValueError, like any other bad syntax.

So the returned values can be walked by recursion.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TOO_DEEP = "nested too deeply"
_TOO_LARGE = "a number has more than 64 bits"
#: Nesting limits for lists and tables, far below the depth where walking them exceeds Python's recursion limit.
_TABLES = 100  # in TOML
_LEVELS = 200  # in JSON
#: A dotted key with that many parts. The parser's memory grows with the square of the key's length: 40 GB for 100,000
#: parts.
_LONG_KEY = rf"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){{{_TABLES}}}"""


def from_json(data: str | bytes) -> Any:
    """Parse JSON. Raises: ValueError."""
    import json

    try:
        value = json.loads(data)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    opening = data.count("[") + data.count("{") if isinstance(data, str) else data.count(b"[") + data.count(b"{")
    if opening > _LEVELS and _is_deeper(value, _LEVELS):
        raise ValueError(_TOO_DEEP)
    return value


def from_toml(text: str) -> dict[str, Any]:
    """Parse TOML. Raises: ValueError, usually tomllib.TOMLDecodeError."""
    import re
    import tomllib

    if re.search(_LONG_KEY, text):
        raise tomllib.TOMLDecodeError(_TOO_DEEP)
    try:
        parsed = tomllib.loads(text)
    except RecursionError:
        raise tomllib.TOMLDecodeError(_TOO_DEEP) from None
    except tomllib.TOMLDecodeError:
        raise
    except ValueError:  # a number of thousands of digits
        raise tomllib.TOMLDecodeError(_TOO_LARGE) from None
    if _is_deeper(parsed, _TABLES):  # dotted keys in inline tables multiply their depths
        raise tomllib.TOMLDecodeError(_TOO_DEEP)
    if _has_long_number(parsed):  # in hexadecimal: Python reads it and refuses to print it
        raise tomllib.TOMLDecodeError(_TOO_LARGE)
    return parsed


def _is_deeper(value: Any, most: int) -> bool:
    """Whether lists and tables are nested more than ``most`` deep. Does not recurse."""
    level = [value] if isinstance(value, (dict, list)) else []
    for _ in range(most):
        inner = (v for item in level for v in (item.values() if isinstance(item, dict) else item))
        level = [v for v in inner if isinstance(v, (dict, list))]
        if not level:
            return False
    return True


def _has_long_number(value: Any) -> bool:
    """Whether any integer in lists and tables exceeds the 64 bits that TOML guarantees."""
    if isinstance(value, (dict, list)):
        return any(map(_has_long_number, value.values() if isinstance(value, dict) else value))
    return isinstance(value, int) and value.bit_length() > 63
