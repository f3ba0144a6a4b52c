"""The cattrs converter of values that are read from outside, and its errors as lines with paths.

The only user of cattrs. :mod:`holdfast.config.serde` imports it at the first value that is read, because agents' hooks
read none, and importing cattrs takes longer than starting Python.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from enum import Enum
from functools import cache
from typing import Any, TypeVar, get_args, get_origin

import attrs
import cattrs
from cattrs.errors import ClassValidationError, ForbiddenExtraKeysError, IterableValidationError
from cattrs.gen import make_dict_structure_fn

from holdfast.config.fields import ABOUT, REST
from holdfast.errors import BadValue, HoldfastError
from holdfast.models.curated import CuratedDecision
from holdfast.text.humanize import nearest
from holdfast.text.times import moment

T = TypeVar("T")
_Hook = Callable[[Any, Any], Any]

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
    try:
        return _converter().structure(value, cls)
    except (cattrs.BaseValidationError, HoldfastError, ValueError, TypeError) as error:
        raise Invalid(_problems(error, "")) from error


@cache
def _converter() -> cattrs.Converter:
    made = cattrs.Converter(forbid_extra_keys=True)
    for kind in (str, bool, int, float):
        made.register_structure_hook(kind, _exactly)
    made.register_structure_hook_func(lambda kind: kind is object, lambda value, _: value)
    made.register_structure_hook(datetime, lambda value, _: moment(value))
    made.register_structure_hook_factory(_is_tuple, _tuple)
    made.register_structure_hook_factory(attrs.has, _class)
    return made


def _exactly(value: object, kind: Any) -> object:
    if isinstance(value, bool) is not (kind is bool) or not isinstance(value, (int, float) if kind is float else kind):
        raise TypeError(f"expected {_KINDS[kind]}, got {_KINDS.get(type(value), type(value).__name__)}")
    return value


def _is_tuple(kind: Any) -> bool:
    origin: object = get_origin(kind)
    return origin is tuple


def _tuple(kind: Any, converter: cattrs.BaseConverter) -> _Hook:
    items: Any = list[get_args(kind)[0]]  # type: ignore[misc]
    read = converter.get_structure_hook(items)

    def hook(value: object, _: object) -> tuple[Any, ...]:
        if not isinstance(value, list | tuple):
            raise TypeError("expected a list")
        return tuple(read(value, items))

    return hook


def _class(cls: Any, converter: cattrs.BaseConverter) -> _Hook:
    """Read a table as a ``cls``. A string is a value whose first field is ``text``."""
    fields = [one for one in attrs.fields(attrs.resolve_types(cls)) if one.init]
    rest = next((one.name for one in fields if REST in one.metadata), "")
    known = {one.name for one in fields} - {rest}
    checked = {one.name: _checked(one, converter) for one in fields}
    read = make_dict_structure_fn(cls, converter, _cattrs_use_linecache=False, **checked)

    def hook(value: Any, _: object) -> object:
        if isinstance(value, str) and fields[0].name == "text":
            return cls(text=value)
        if isinstance(value, str) and cls is CuratedDecision:
            if value.strip().casefold() != "none":
                raise ValueError('expected "none" or {"memory": [...], "user": [...]}')
            return cls()
        if not isinstance(value, Mapping):
            raise TypeError(f"expected a table, got {_KINDS.get(type(value), type(value).__name__)}")
        if rest:
            value = {key: one for key, one in value.items() if key in known} | {
                rest: {key: one for key, one in value.items() if key not in known}
            }
        return read(value, cls)

    return hook


def _checked(field: attrs.Attribute[Any], converter: cattrs.BaseConverter) -> Any:
    """Read a field. Its type is resolved only for a value, because few tables of the settings are set."""

    def hook(value: object, kind: Any) -> object:
        if field.converter is not None and isinstance(kind, type) and issubclass(kind, Enum):
            return value  # the class converts it, and lists the choices if it cannot
        made: object = converter.structure(value, kind)
        if ABOUT in field.metadata:
            field.metadata[ABOUT].check(made)
        return made

    return cattrs.override(struct_hook=hook)


def _problems(error: BaseException, path: str) -> list[str]:
    """One line per mistake, each with its path."""
    if isinstance(error, ClassValidationError | IterableValidationError):
        noted, rest = error.group_exceptions()
        keys = [getattr(note, "name", getattr(note, "index", "")) for _, note in noted]
        lines = [line for (one, _), key in zip(noted, keys, strict=True) for line in _problems(one, _at(path, key))]
        return lines + [line for one in rest for line in _problems(one, path)]
    if isinstance(error, ForbiddenExtraKeysError):
        known = [one.name for one in attrs.fields(error.cl) if one.init]
        near = {key: nearest(key, known) for key in sorted(error.extra_fields)}
        meant = {key: f" (did you mean `{name}`?)" if name else "" for key, name in near.items()}
        return [f"{_at(path, key)}: unknown key{meant[key]}" for key in near]
    if isinstance(error, BadValue):
        problem = error.message.removesuffix(".")
        if error.next_step.startswith("Use one of"):
            problem += f" (use{error.next_step[3:].removesuffix('.')})"
        return [f"{path}: {problem}" if path and not error.field.startswith(path) else problem]
    if isinstance(error, HoldfastError):
        return [str(error).removesuffix(".")]
    text = str(error.args[0]) if error.args else type(error).__name__
    if isinstance(error, KeyError):
        return [f"{path or text}: missing"]
    return [f"{path}: {text}" if path else text]


def _at(path: str, key: str | int) -> str:
    return f"{path}[{key}]" if isinstance(key, int) else f"{path}.{key}" if path else key
