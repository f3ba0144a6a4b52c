"""Values as plain data and back without cattrs, whose import takes longer than starting Python.

:func:`built` knows strings, numbers, booleans, times, values of such fields, lists and tables of all these, and None.
All else, and every value that does not fit, is left to :mod:`holdfast.config.converter`, which names each mistake.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Mapping
from datetime import datetime
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeVar

from holdfast.config.section import Section
from holdfast.text.times import moment, stamp

if TYPE_CHECKING:
    from holdfast.models import CuratedDecision

T = TypeVar("T")


def plain(value: Any) -> Any:
    """A value as dicts, lists, strings and numbers, ready for JSON or TOML."""
    if isinstance(value, Enum):
        return value.value
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, datetime):
        return stamp(value)
    if (fields := fields_of(type(value))) is not None:
        from holdfast.models.curated import CuratedDecision

        return (
            _decision(value)
            if isinstance(value, CuratedDecision)
            else {name: plain(getattr(value, name)) for name in fields}
        )
    if isinstance(value, Mapping):
        return {plain(key): plain(one) for key, one in value.items()}
    if isinstance(value, Collection):
        return [plain(one) for one in value]
    return value


def fields_of(cls: type) -> Mapping[str, object] | None:
    """The fields of a value's class and their annotations; None for any other class. Does not import attrs, which
    settings do without."""
    if issubclass(cls, Section):
        return {key: cls.__annotations__[key] for key in cls.names()}
    made = getattr(cls, "__attrs_attrs__", None)
    return None if made is None else {one.name: one.type for one in made if one.init}


def _decision(value: CuratedDecision) -> object:
    """As people write it: `none`, and an entry that replaces nothing as a string."""
    if value.is_none:
        return "none"
    lines = (("memory", value.memory), ("user", value.user))
    return {name: [plain(one) if one.replaces else one.text for one in entries] for name, entries in lines if entries}


def built(value: object, cls: type[T]) -> T | None:
    """``value`` as a ``cls``, None when it is not a table of exactly such fields."""
    try:
        return _built(value, cls)
    except (KeyError, TypeError, ValueError):
        return None


def _built(value: object, cls: type[T]) -> T:
    if not isinstance(value, dict):
        raise TypeError
    kinds = {name: _name(kind) for name, kind in (fields_of(cls) or {}).items()}
    return cls(**{name: _field(given, kinds[name], cls) for name, given in value.items()})


def _name(kind: object) -> str:
    """An annotation as in the source. cattrs replaces those of the classes that it has built by types."""
    if isinstance(kind, str):
        return kind
    return kind.__name__ if type(kind) is type else re.sub(r"(?:\w+\.)+", "", str(kind))


def _field(value: Any, kind: str, cls: type) -> object:
    """A field of ``cls`` with the annotation ``kind``. Raises: TypeError when it does not fit or is not plain."""
    if type(value).__name__ == kind and kind in ("str", "int", "bool"):
        return value
    if kind == "float" and type(value) in (int, float):
        return value
    if kind.endswith(" | None"):
        return None if value is None else _field(value, kind.removesuffix(" | None"), cls)
    if kind == "dict[str, Any]" and type(value) is dict:
        return value
    if kind == "datetime":
        return moment(value)
    if kind.startswith("tuple[") and kind.endswith(", ...]") and isinstance(value, list):
        item = kind.removeprefix("tuple[").removesuffix(", ...]")
        return tuple(_field(one, item, cls) for one in value)
    if kind.startswith("Mapping[str, ") and kind != "Mapping[str, object]" and isinstance(value, dict):
        item = kind.removeprefix("Mapping[str, ").removesuffix("]")
        return {name: _field(one, item, cls) for name, one in value.items()}
    inner = getattr(sys.modules[cls.__module__], kind, None)
    if isinstance(inner, type) and fields_of(inner) is not None:
        return _built(value, inner)
    raise TypeError
