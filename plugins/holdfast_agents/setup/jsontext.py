"""Edits one place of a JSON document and no other byte. People's settings keep their order, indentation and line ends,
and removing an addition restores the original text.

Paths are tuples of keys and indexes. Each function takes a document that :func:`read` accepts, and returns another.
"""

import json
import re
from collections.abc import Sequence
from typing import NamedTuple, NoReturn

from holdfast.errors import ConfigError

Path = Sequence[str | int]

_SPACE = re.compile(r"[ \t\r\n]*")
_FIRST_MEMBER = re.compile(r'\s*\{\s*\n([ \t]+)"')
_DECODER = json.JSONDecoder()


class Item(NamedTuple):
    """An object's member or an array's element: its key or index, its position, and those of its value."""

    key: str | int
    begin: int
    start: int
    end: int


def read(text: str, name: str) -> dict[str, object]:
    """The object in ``text``. Raises: ConfigError with line and column for anything but plain JSON, and for a value
    that is not an object."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        _refuse(text, error.pos, name, f"is not plain JSON without comments and trailing commas: {error.msg}")
    except (ValueError, RecursionError) as error:
        _refuse(text, 0, name, f"is not valid JSON: {error}")
    if not isinstance(value, dict):
        _refuse(text, 0, name, "is not a JSON object")
    return value


def put(text: str, path: Path, value: object, name: str) -> str:
    """Set a member to ``value``, creating objects on the path. Raises: ConfigError when another type is in the way."""
    start, left = _walk(text, path, name)
    if not left:
        return text[:start] + _render(value, _pad(text, start), text) + text[_end(text, start) :]
    for key in reversed(left[1:]):
        value = {str(key): value}
    _expect(text, start, "{", path[: len(path) - len(left)], name)
    return _insert(text, start, f"{json.dumps(left[0], ensure_ascii=False)}: ", value)


def append(text: str, path: Path, value: object, name: str) -> str:
    """Append ``value`` to an array, creating it if missing. Raises: ConfigError like :func:`put`."""
    start, left = _walk(text, path, name)
    if left:
        return put(text, path, [value], name)
    _expect(text, start, "[", path, name)
    return _insert(text, start, "", value)


def remove(text: str, path: Path, name: str) -> str:
    """Remove a member or an element. A missing one is not an error."""
    start, left = _walk(text, path[:-1], name)
    items = [] if left else _items(text, start)
    at = next((number for number, item in enumerate(items) if item.key == path[-1]), None)
    if at is None:
        return text
    if len(items) == 1:
        return text[: start + 1] + text[_end(text, start) - 1 :]
    if at:
        return text[: items[at - 1].end] + text[items[at].end :]
    return text[: items[0].begin] + text[items[1].begin :]


def _refuse(text: str, place: int, name: str, problem: str) -> NoReturn:
    line, column = text.count("\n", 0, place) + 1, place - text.rfind("\n", 0, place)
    raise ConfigError(
        f"{name} {problem} (line {line}, column {column}). It was not changed.",
        next_step="Correct it, or run the same command with `--print` and add its output yourself.",
    )


def _expect(text: str, start: int, opening: str, path: Path, name: str) -> None:
    if text[start] != opening:
        what = "an object" if opening == "{" else "a list"
        shown = f"{'.'.join(map(str, path))} is" if path else "is"
        _refuse(text, start, name, f"{shown} not {what}")


# Positions. The JSON is known to be valid here.


def _skip(text: str, at: int) -> int:
    blanks = _SPACE.match(text, at)
    return blanks.end() if blanks else at


def _end(text: str, start: int) -> int:
    return _DECODER.raw_decode(text, start)[1]


def _items(text: str, start: int) -> list[Item]:
    """The members or elements of the value at ``start``. A scalar has none."""
    items: list[Item] = []
    at = _skip(text, start + 1)
    while text[start] in "{[" and text[at] not in "}]":
        key, begin = len(items), at
        if text[start] == "{":
            key, end = _DECODER.raw_decode(text, at)
            at = _skip(text, _skip(text, end) + 1)  # after the colon
        items.append(Item(key, begin, at, _end(text, at)))
        at = _skip(text, items[-1].end)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return items


def _walk(text: str, path: Path, name: str) -> tuple[int, Path]:
    """The path's value by position, or the last existing value with the remaining path; a repeated key's last."""
    start = _skip(text, 0)
    for depth, part in enumerate(path):
        _expect(text, start, "{" if isinstance(part, str) else "[", path[:depth], name)
        below = next((item.start for item in reversed(_items(text, start)) if item.key == part), None)
        if below is None:
            return start, path[depth:]
        start = below
    return start, ()


def _insert(text: str, start: int, head: str, value: object) -> str:
    items = _items(text, start)
    line = "\r\n" if "\r\n" in text else "\n"
    if not items:
        outer = _pad(text, start)
        body = f"{line}{outer}{_unit(text)}{head}{_render(value, outer + _unit(text), text)}{line}{outer}"
        return text[: start + 1] + body + text[_end(text, start) - 1 :]
    gap = text[start + 1 : items[0].begin]
    if "\n" in gap:
        pad = gap[gap.rfind("\n") + 1 :]
        body = f",{line}{pad}{head}{_render(value, pad, text)}"
    else:  # everything on one line, so this too
        body = f", {head}{json.dumps(value, ensure_ascii=False)}"
    return text[: items[-1].end] + body + text[items[-1].end :]


def _render(value: object, pad: str, text: str) -> str:
    line = "\r\n" if "\r\n" in text else "\n"
    return json.dumps(value, ensure_ascii=False, indent=_unit(text)).replace("\n", line + pad)


def _pad(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    """One indentation step, taken from the first member if that starts a line."""
    first = _FIRST_MEMBER.match(text)
    return first[1] if first else "  "
