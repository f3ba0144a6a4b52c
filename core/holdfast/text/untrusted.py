"""Parse untrusted JSON and TOML. Excessive nesting is a ValueError, like any other bad syntax.

So the returned values can be walked by recursion. They take a limited multiple of their text's memory, and can be
written as UTF-8, because lone surrogates, which JSON can spell, become U+FFFD.
"""

import re
from itertools import islice
from typing import Any

_TOO_DEEP = "nested too deeply"
_TOO_LARGE = "a number has more than 64 bits"
#: Nesting limits for lists and tables, far below the depth where walking them exceeds Python's recursion limit.
_TABLES = 100  # in TOML
_LEVELS = 200  # in JSON
#: Values that any JSON may hold. Longer ones have at least 16 characters for each, because six can take 250 bytes.
_VALUES = 1 << 20
#: What begins a value other than the first, or a whole string.
_MARK = r'[\[{,]|"[^"\\]*+(?:\\[\s\S][^"\\]*+)*+"?+'
#: A dotted key with that many parts. The parser's memory grows quadratically with the key's length, to 40 GB at 100,000
#: parts.
_LONG_KEY = rf"""(?<![\w-])(?:(?:[\w-]++|"(?:[^"\\\n]|\\.)*"|'[^'\n]*+')[ \t]*+\.[ \t]*+){{{_TABLES}}}"""
#: Strings and comments, which may hold any number of dots. Alternatives are not repeated possessively, because Python
#: before 3.11.5 matches such a repetition wrongly.
_TEXT = (
    r'"""(?:[^"\\]|\\[\s\S]|"(?!""))*(?:"{3,5}+|\Z)'
    r"|'''(?:[^']|'(?!''))*(?:'{3,5}+|\Z)"
    r'|"(?:[^"\\\n]|\\.)*"?'
    r"|'[^'\n]*+'?"
    r"|#[^\n]*+"
)


def from_json(data: str | bytes) -> Any:
    """Parse JSON. Raises: ValueError."""
    import json

    text = data if isinstance(data, str) else _decoded(data, json.detect_encoding(data))
    most = max(_VALUES, len(text) // 16)
    if sum(map(text.count, "[{,")) > most:
        values = (token for token in re.finditer(_MARK, text) if text[token.start()] != '"')
        if next(islice(values, most, None), None):
            raise ValueError("it has too many values for its length")
    try:
        value = json.loads(text)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    if text.count("[") + text.count("{") > _LEVELS and is_deeper(value):
        raise ValueError(_TOO_DEEP)
    if "\\ud" in text or "\\uD" in text:
        value = json.dumps(value, ensure_ascii=False)  # here the first value's memory is free again
        value = json.loads(_whole(value))
    return value


def table(data: str | bytes) -> dict[str, Any] | None:
    """The JSON object in ``data``; None for any other value, and for no JSON."""
    try:
        value = from_json(data)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _decoded(data: bytes, encoding: str) -> str:
    """Like ``json.loads``, which accepts lone surrogates as bytes. Raises: ValueError."""
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        return _whole(data.decode(encoding, "surrogatepass"))


def _whole(text: str) -> str:
    """``text`` with U+FFFD for each lone surrogate."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def from_toml(text: str) -> dict[str, Any]:
    """Parse TOML. Raises: ValueError."""
    import tomllib

    if text.count(".") >= _TABLES and any(m["key"] for m in re.finditer(f"(?P<key>{_LONG_KEY})|{_TEXT}", text)):
        raise ValueError(_TOO_DEEP)
    try:
        parsed = tomllib.loads(text)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    except ValueError as error:  # also for a number of thousands of digits
        raise (error if isinstance(error, tomllib.TOMLDecodeError) else ValueError(_TOO_LARGE)) from None
    if is_deeper(parsed, _TABLES):  # dotted keys in inline tables multiply their depths
        raise ValueError(_TOO_DEEP)
    if _has_long_number(parsed):  # in hexadecimal: Python reads it and refuses to print it
        raise ValueError(_TOO_LARGE)
    return parsed


def is_deeper(value: Any, most: int = _LEVELS) -> bool:
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
