"""Values as plain data and back without cattrs, whose import takes longer than starting Python.

:func:`built` knows texts, numbers, booleans, times, values of such fields, and lists and tables of all these. All else,
and every value that does not fit, is left to :mod:`holdfast.config.converter`, which names each mistake.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Mapping
from datetime import datetime
from enum import Enum
from typing import Any, TypeVar

from attrs import fields, has

from holdfast.models.curated import CuratedDecision
from holdfast.text.times import moment, stamp

T = TypeVar("T")


def plain(value: Any) -> Any:
    """A value as dicts, lists, strings and numbers, ready for JSON or TOML."""
    if isinstance(value, Enum):
        return value.value
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, datetime):
        return stamp(value)
    if isinstance(value, CuratedDecision):
        return _decision(value)
    if isinstance(value, Mapping):
        return {plain(key): plain(one) for key, one in value.items()}
    if isinstance(value, Collection):
        return [plain(one) for one in value]
    if has(type(value)):
        return {one.name: plain(getattr(value, one.name)) for one in fields(type(value)) if one.init}
    return value


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
    kinds = {one.name: _name(one.type) for one in fields(cls)}  # type: ignore[arg-type]
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
    if kind == "datetime":
        return moment(value)
    if kind.startswith("tuple[") and kind.endswith(", ...]") and isinstance(value, list):
        item = kind.removeprefix("tuple[").removesuffix(", ...]")
        return tuple(_field(one, item, cls) for one in value)
    if kind.startswith("Mapping[str, ") and kind != "Mapping[str, object]" and isinstance(value, dict):
        item = kind.removeprefix("Mapping[str, ").removesuffix("]")
        return {name: _field(one, item, cls) for name, one in value.items()}
    inner = getattr(sys.modules[cls.__module__], kind, None)
    if isinstance(inner, type) and has(inner):
        return _built(value, inner)
    raise TypeError
