"""Edits one place of a JSON document and no other byte. People's settings keep their order, indentation and line ends,
and removing an addition restores the original text.

Paths are tuples of keys and indexes. Each function takes a document that :func:`read` accepts, and returns another.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import NamedTuple, NoReturn

from holdfast.errors import ConfigError

Path = Sequence[str | int]

_SPACE = re.compile(r"[ \t\r\n]*")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_FIRST_MEMBER = re.compile(r'\s*\{\s*\n([ \t]+)"')
_TRAILING_COMMA = re.compile(r",\s*[\]}]")
_SCALAR = re.compile(r"[^\s,\]}]+")


class Item(NamedTuple):
    """An object's member, or an array's element. ``start`` is where its key or value starts."""

    key: str | None
    start: int
    value: Node


class Node(NamedTuple):
    """A value's position in the document. ``opening`` is ``{``, ``[`` or empty for a scalar."""

    start: int
    end: int
    opening: str
    items: tuple[Item, ...]


def read(text: str, name: str) -> dict[str, object]:
    """The object in ``text``. Raises: ConfigError with line and column for anything but plain JSON (a comment, a
    trailing comma), for a duplicate key, and for a value that is not an object."""
    try:
        value = json.loads(text, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        place = error.pos
        if text.startswith("/", place) or _before(text, place) == "/":
            _refuse(text, place, name, "has a comment")
        comma = _TRAILING_COMMA.search(text, len(text[:place].rstrip()) - 1)
        if comma and comma.start() <= place:  # newer interpreters point at it, older ones after it
            _refuse(text, comma.start(), name, "has a trailing comma")
        _refuse(text, place, name, f"is not valid JSON: {error.msg}")
    except (ValueError, RecursionError) as error:
        _refuse(text, 0, name, f"is not valid JSON: {error}")
    if not isinstance(value, dict):
        _refuse(text, 0, name, "is not a JSON object")
    try:
        _check_keys(_parse(text), text, name)
    except RecursionError:
        _refuse(text, 0, name, "is nested too deeply")
    return value


def put(text: str, path: Path, value: object, name: str) -> str:
    """Set a member to ``value``, creating objects on the path. Raises: ConfigError when another type is in the way."""
    node, left = _walk(text, path, name)
    if not left:
        return text[: node.start] + _render(value, _pad(text, node.start), _unit(text), text) + text[node.end :]
    for key in reversed(left[1:]):
        value = {str(key): value}
    _expect(node, "{", text, path[: len(path) - len(left)], name)
    return _insert(text, node, str(left[0]), value)


def append(text: str, path: Path, value: object, name: str) -> str:
    """Append ``value`` to an array, creating it if missing. Raises: ConfigError like :func:`put`."""
    node, left = _walk(text, path, name)
    if left:
        return put(text, path, [value], name)
    _expect(node, "[", text, path, name)
    return _insert(text, node, None, value)


def remove(text: str, path: Path, name: str) -> str:
    """Remove a member or an element. A missing one is not an error."""
    *parents, last = path
    node, left = _walk(text, parents, name)
    at = _find(node, last)
    if left or at is None:
        return text
    items = node.items
    if len(items) == 1:
        return text[: node.start + 1] + text[node.end - 1 :]
    if at:
        return text[: items[at - 1].value.end] + text[items[at].value.end :]
    return text[: items[0].start] + text[items[1].start :]


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a JSON value")


def _before(text: str, place: int) -> str:
    return text[:place].rstrip()[-1:]


def _refuse(text: str, place: int, name: str, problem: str) -> NoReturn:
    line, column = text.count("\n", 0, place) + 1, place - text.rfind("\n", 0, place)
    raise ConfigError(
        f"{name} {problem} (line {line}, column {column}). It was not changed.",
        next_step="Correct it, or run the same command with `--print` and add its output yourself.",
    )


def _expect(node: Node, opening: str, text: str, path: Path, name: str) -> None:
    if node.opening != opening:
        what = "an object" if opening == "{" else "a list"
        shown = f"{'.'.join(map(str, path))} is" if path else "is"
        _refuse(text, node.start, name, f"{shown} not {what}".removeprefix(" "))


def _check_keys(node: Node, text: str, name: str) -> None:
    seen: set[str] = set()
    for item in node.items:
        if item.key is not None and item.key in seen:
            _refuse(text, item.start, name, f"has the key {item.key!r} twice")
        seen.add(item.key or "")
        _check_keys(item.value, text, name)


# Positions of values. The JSON is known to be valid here.


def _parse(text: str, at: int = 0) -> Node:
    start = _skip(text, at)
    opening = text[start]
    if opening not in "{[":
        return Node(start, _end(_STRING if opening == '"' else _SCALAR, text, start), "", ())
    items: list[Item] = []
    at = _skip(text, start + 1)
    while text[at] not in "}]":
        key, begin = None, at
        if opening == "{":
            end = _end(_STRING, text, at)
            key, at = json.loads(text[at:end]), _skip(text, end) + 1  # after the colon
        value = _parse(text, at)
        items.append(Item(key, begin, value))
        at = _skip(text, value.end)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return Node(start, at + 1, opening, tuple(items))


def _skip(text: str, at: int) -> int:
    return _end(_SPACE, text, at)


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at


def _walk(text: str, path: Path, name: str) -> tuple[Node, Path]:
    """The node that the path names, or the last existing node with the remaining path."""
    node = _parse(text)
    for depth, part in enumerate(path):
        _expect(node, "{" if isinstance(part, str) else "[", text, path[:depth], name)
        at = _find(node, part)
        if at is None:
            return node, path[depth:]
        node = node.items[at].value
    return node, ()


def _find(node: Node, part: str | int) -> int | None:
    """Position of the item with a key or an index."""
    names = [item.key if isinstance(part, str) else at for at, item in enumerate(node.items)]
    return names.index(part) if part in names else None


# putting in


def _insert(text: str, node: Node, key: str | None, value: object) -> str:
    head = "" if key is None else json.dumps(key, ensure_ascii=False) + ": "
    if not node.items:
        outer, unit, line = _pad(text, node.start), _unit(text), _line_end(text)
        body = f"{line}{outer}{unit}{head}{_render(value, outer + unit, unit, text)}{line}{outer}"
        return text[: node.start + 1] + body + text[node.end - 1 :]
    first, last = node.items[0], node.items[-1]
    gap = text[node.start + 1 : first.start]
    if "\n" in gap:
        pad = gap[gap.rfind("\n") + 1 :]
        body = f",{_line_end(text)}{pad}{head}{_render(value, pad, _unit(text), text)}"
    else:  # everything on one line, so this too
        body = f", {head}{json.dumps(value, ensure_ascii=False)}"
    return text[: last.value.end] + body + text[last.value.end :]


def _render(value: object, pad: str, unit: str, text: str) -> str:
    return json.dumps(value, ensure_ascii=False, indent=unit).replace("\n", _line_end(text) + pad)


def _pad(text: str, at: int) -> str:
    """Indentation of the line that contains ``at``."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    """One indentation step, taken from the first member if that starts a line."""
    found = _FIRST_MEMBER.match(text)
    return found[1] if found else "  "


def _line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
