"""Builds values with plain fields from JSON or TOML tables without cattrs, whose import takes longer than starting
Python.

The fields are texts, numbers, booleans, times, such values themselves, and lists and tables of all these. Everything
else, and every value that does not fit, is left to :mod:`holdfast.config.converter`, which names each mistake.
"""

from __future__ import annotations

import re
import sys
from typing import Any, TypeVar

from attrs import fields, has

from holdfast.text.times import moment

T = TypeVar("T")


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
