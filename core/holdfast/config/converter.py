"""The cattrs converter of values that are read from outside, and its errors as lines with paths.

The only user of cattrs. :mod:`holdfast.config.serde` imports this module at the first value that needs it, because
importing cattrs takes as long as starting Python, and many commands read no such value.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import attrs
import cattrs
from cattrs.errors import (
    AttributeValidationNote,
    ClassValidationError,
    ForbiddenExtraKeysError,
    IterableValidationError,
)

from holdfast.config import flat
from holdfast.config.section import Section
from holdfast.config.values import PluginConfig, StorageConfig
from holdfast.errors import BadValue, HoldfastError
from holdfast.models import CuratedDecision, CuratedEntry
from holdfast.text.times import moment

T = TypeVar("T")

#: The errors of :func:`structure` for a value that does not fit; :func:`problems` describes each.
INVALID = (cattrs.BaseValidationError, ValueError, TypeError, KeyError, AttributeError)
#: A type -> its name in messages.
_KINDS: Mapping[type, str] = {
    str: "a string",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    list: "a list",
    dict: "a table",
}


def structure(value: object, cls: type[T]) -> T:
    """``value`` as a ``cls``. Raises: any error in :data:`INVALID`."""
    return _converter().structure(value, cls)


def _exactly(*kinds: type) -> Any:
    wanted = " or ".join(_KINDS[kind] for kind in kinds if kind is not int or float not in kinds)

    def structure(value: object, _: object) -> object:
        if isinstance(value, bool) is not (bool in kinds) or not isinstance(value, kinds):
            raise TypeError(f"expected {wanted}, got {_named(value)}")
        return value

    return structure


def _named(value: object) -> str:
    return _KINDS.get(type(value), type(value).__name__)


def _texts(value: object, _: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(v, str) for v in value):
        raise TypeError("expected a list of strings")
    return tuple(value)


def _mapping(value: object, _: object) -> dict[str, object]:
    if not isinstance(value, Mapping):
        raise TypeError(f"expected a table, got {_named(value)}")
    return dict(value)


def _curated(value: object, _: object) -> CuratedDecision:
    if isinstance(value, str):
        if value.strip().casefold() != "none":
            raise ValueError('expected "none" or {"memory": [...], "user": [...]}')
        return CuratedDecision()
    table = _mapping(value, None)
    unknown = set(table) - {"memory", "user"}
    if unknown:
        raise ValueError(f"unknown keys: {', '.join(sorted(unknown))}")
    return CuratedDecision(
        **{k: [_entry(e) for e in v] if isinstance(v, list) else _texts(v, None) for k, v in table.items()}
    )


def _entry(value: object) -> CuratedEntry:
    if isinstance(value, str):
        return CuratedEntry(text=value)
    return _converter().structure(value, CuratedEntry)


def _is_list_of_entries(kind: Any) -> bool:
    """Whether it is a tuple whose values may each be given as a plain string."""
    args = get_args(kind)
    if get_origin(kind) is not tuple or len(args) != 2 or args[1] is not Ellipsis or not attrs.has(args[0]):
        return False
    return bool(attrs.fields(args[0])[0].name == "text")


def _entries(value: object, kind: Any) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise TypeError("expected a list of strings or tables")
    cls = get_args(kind)[0]
    return tuple(cls(text=v) if isinstance(v, str) else _converter().structure(v, cls) for v in value)


#: A section -> its key for a mapping of all other keys of its table.
_REST: Mapping[type[Section], str] = {StorageConfig: "options", PluginConfig: "settings"}


def _section(value: object, cls: type[Section]) -> Section:
    """A table of settings, with every mistake in it."""
    table = _mapping(value, None)
    kinds = {key: kind for key, kind in get_type_hints(cls).items() if key in cls.names()}
    made: dict[str, Any] = {}
    wrong: list[Exception] = []
    if rest := _REST.get(cls):
        del kinds[rest]
        made[rest] = {key: one for key, one in table.items() if key not in kinds}
        table = {key: one for key, one in table.items() if key in kinds}
    for key in [key for key in table if key in kinds]:
        try:
            made[key] = _converter().structure(table[key], kinds[key])
            cls(**{key: made[key]})
        except Exception as error:  # noqa: BLE001 - reported with all the others, each with its path
            error.add_note(AttributeValidationNote(key, key, kinds[key]))
            wrong.append(error)
    if unknown := set(table) - set(kinds):
        wrong.append(ForbiddenExtraKeysError(None, cls, unknown))
    if wrong:
        raise ClassValidationError("the settings", wrong, cls)
    return cls(**made)


@cache
def _converter() -> cattrs.Converter:
    converter = cattrs.Converter(forbid_extra_keys=True)
    converter.register_structure_hook(str, _exactly(str))
    converter.register_structure_hook(bool, _exactly(bool))
    converter.register_structure_hook(int, _exactly(int))
    converter.register_structure_hook(float, _exactly(int, float))
    converter.register_structure_hook(datetime, lambda v, _: moment(v))
    converter.register_structure_hook_func(lambda t: t == tuple[str, ...], _texts)
    converter.register_structure_hook_func(lambda t: t == Mapping[str, object], _mapping)
    converter.register_structure_hook_func(_is_list_of_entries, _entries)
    converter.register_structure_hook(CuratedDecision, _curated)
    converter.register_structure_hook_func(lambda t: isinstance(t, type) and issubclass(t, Section), _section)
    return converter


def problems(error: BaseException, path: str = "") -> list[str]:
    """One line per mistake, each with its path: ``flush.policy: must be one of lenient, strict, not 'x'``."""
    if isinstance(error, ClassValidationError | IterableValidationError):
        lines: list[str] = []
        noted, rest = error.group_exceptions()
        for inner, note in noted:
            key = note.name if hasattr(note, "name") else note.index
            dot = "." if path else ""
            lines += problems(inner, f"{path}[{key}]" if isinstance(key, int) else f"{path}{dot}{key}")
        for inner in rest:
            lines += problems(inner, path)
        return lines
    if isinstance(error, ForbiddenExtraKeysError):
        known = list(flat.fields_of(error.cl) or ())
        keys = sorted(error.extra_fields)
        return [f"{path + '.' if path else ''}{key}: unknown key{_meant(key, known)}" for key in keys]
    if isinstance(error, BadValue):
        problem = error.message.removesuffix(".")
        if error.next_step.startswith("Use one of"):
            problem += f" (use{error.next_step[3:].removesuffix('.')})"
        return [f"{path}: {problem}" if path and not error.field.startswith(path) else problem]
    if isinstance(error, HoldfastError):
        return [str(error)]
    text = str(error.args[0]) if error.args else type(error).__name__
    if isinstance(error, KeyError):
        return [f"{path or text}: missing"]
    return [f"{path}: {text}" if path else text]


def _meant(key: str, known: list[str]) -> str:
    from holdfast.plugin.options import nearest

    near = nearest(key, known)
    return f" (did you mean `{near}`?)" if near else ""
