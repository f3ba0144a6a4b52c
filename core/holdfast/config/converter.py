"""Read values from plain data by the fields of their attrs classes, and write them back.

This does not use cattrs, which takes six times as long to import as starting Python: every command that reads a
receipt, a handoff or a setting would wait for it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, cast, get_args, get_origin, get_type_hints

import attrs

from holdfast.errors import BadValue, HoldfastError
from holdfast.text.times import moment, stamp

T = TypeVar("T")

#: Metadata of a field that receives all keys of a table that have no field.
REST = "rest"
#: Metadata of a field: a function that raises ValueError for an unusable value.
CHECK = "check"
#: A type -> its name in messages.
_KINDS: Mapping[type, str] = {
    str: "a string",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    list: "a list",
    dict: "a table",
}


class Invalid(Exception):
    """A value that does not fit. ``problems`` has a line per mistake, each with its path:
    ``flush.policy: must be one of lenient, strict, not 'x'``."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


def structure(value: object, cls: type[T]) -> T:
    """``value`` as a ``cls``. Values are never coerced ("5" is not 5). Raises: Invalid."""
    problems: list[str] = []
    made: T = _read(value, cls, "", problems)
    if problems:
        raise Invalid(problems)
    return made


def unstructure(value: object) -> Any:
    """A value as plain dicts, lists, strings and numbers, ready for JSON or TOML."""
    if isinstance(value, Enum):
        return value.value
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, datetime):
        return stamp(value)
    if attrs.has(type(value)):
        if _is_decision(type(value)):
            return _written_decision(value)
        return {
            one.name: unstructure(getattr(value, one.name))
            for one in attrs.fields(cast("Any", type(value)))
            if one.init
        }
    if isinstance(value, Mapping):
        return {unstructure(key): unstructure(one) for key, one in value.items()}
    if isinstance(value, Collection):
        return [unstructure(one) for one in value]
    return value


def _is_decision(cls: type) -> bool:
    """Whether it is the class of decisions about curated memory, which people may write as `none`."""
    from holdfast.models.curated import CuratedDecision

    return cls is CuratedDecision


def _written_decision(value: Any) -> object:
    """As people write it: `none`, and an entry that replaces nothing as a string."""
    if value.is_none:
        return "none"
    lines = (("memory", value.memory), ("user", value.user))
    return {
        name: [unstructure(one) if one.replaces else one.text for one in entries] for name, entries in lines if entries
    }


def _read(value: object, kind: Any, path: str, problems: list[str]) -> Any:
    """``value`` as a ``kind``. A mistake in it is added to ``problems``; the result is then None."""
    origin, args = get_origin(kind), get_args(kind)
    try:
        if origin is UnionType:
            [inner] = [one for one in args if one is not NoneType]
            return None if value is None else _read(value, inner, path, problems)
        if origin is tuple:
            return tuple(_items(value, args[0], path, problems))
        if origin in (Mapping, dict):
            return {key: _read(one, args[1], _at(path, key), problems) for key, one in _table(value).items()}
        if attrs.has(kind):
            return _made(value, kind, path, problems)
        return _single(value, kind)
    except (HoldfastError, ValueError, TypeError, AttributeError) as error:
        problems.append(_problem(error, path))
        return None


def _at(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _table(value: object) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise TypeError(f"expected a table, got {_named(value)}")
    return value


def _named(value: object) -> str:
    return _KINDS.get(type(value), type(value).__name__)


def _items(value: object, kind: Any, path: str, problems: list[str]) -> Iterator[Any]:
    """The items of a list. A value whose first field is ``text`` may be given as a string."""
    if kind is str:
        if not isinstance(value, list | tuple) or not all(isinstance(one, str) for one in value):
            raise TypeError("expected a list of strings")
        yield from value
        return
    takes_text = attrs.has(kind) and attrs.fields(kind)[0].name == "text"
    if not isinstance(value, list | tuple):
        raise TypeError("expected a list of strings or tables" if takes_text else "expected a list")
    for number, one in enumerate(value):
        given = {"text": one} if takes_text and isinstance(one, str) else one
        yield _read(given, kind, f"{path}[{number}]", problems)


def _single(value: Any, kind: Any) -> object:
    if kind in (Any, object):
        return value
    if kind is datetime:
        return moment(value)
    if issubclass(kind, Enum):
        return kind(value)
    if isinstance(value, bool) is not (kind is bool) or not isinstance(value, (int, float) if kind is float else kind):
        raise TypeError(f"expected {_KINDS[kind]}, got {_named(value)}")
    return value


#: The types of a class's fields by name.
_kinds = cache(get_type_hints)


def _made(value: object, cls: Any, path: str, problems: list[str]) -> object:
    """A table as a ``cls``, with every mistake in it."""
    if isinstance(value, str) and _is_decision(cls):
        if value.strip().casefold() != "none":
            raise ValueError('expected "none" or {"memory": [...], "user": [...]}')
        return cls()
    given = _table(value)
    fields = {one.name: one for one in attrs.fields(cls) if one.init}
    rest = next((name for name, one in fields.items() if REST in one.metadata), "")
    known = {key: one for key, one in fields.items() if key != rest}
    before = len(problems)
    made = {key: _field(given[key], one, cls, _at(path, key), problems) for key, one in known.items() if key in given}
    others = {key: one for key, one in given.items() if key not in known}
    if rest:
        made[rest] = others
    else:
        problems += [f"{_at(path, key)}: unknown key{_meant(key, list(known))}" for key in sorted(others)]
    problems += [
        f"{_at(path, key)}: missing" for key, one in known.items() if one.default is attrs.NOTHING and key not in given
    ]
    return cls(**made) if len(problems) == before else None


def _field(value: object, field: attrs.Attribute[Any], cls: type, path: str, problems: list[str]) -> object:
    kind, before = _kinds(cls)[field.name], len(problems)
    if field.converter is not None and isinstance(kind, type) and issubclass(kind, Enum):
        return value  # the class converts it, and lists the choices if it cannot
    made = _read(value, kind, path, problems)
    if CHECK in field.metadata and len(problems) == before:
        try:
            field.metadata[CHECK](made)
        except ValueError as error:
            problems.append(_problem(error, path))
    return made


def _problem(error: Exception, path: str) -> str:
    if isinstance(error, BadValue):
        problem = error.message.removesuffix(".")
        if error.next_step.startswith("Use one of"):
            problem += f" (use{error.next_step[3:].removesuffix('.')})"
        return f"{path}: {problem}" if path and not error.field.startswith(path) else problem
    if isinstance(error, HoldfastError):
        return str(error)
    text = str(error.args[0]) if error.args else type(error).__name__
    return f"{path}: {text}" if path else text


def _meant(key: str, known: list[str]) -> str:
    from holdfast.plugin.options import nearest

    near = nearest(key, known)
    return f" (did you mean `{near}`?)" if near else ""
