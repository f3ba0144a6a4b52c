"""Converters and checks that several models share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from holdfast.errors import BadValue


def strings(value: Iterable[str]) -> tuple[str, ...]:
    if isinstance(value, str):
        raise TypeError("expected a list of strings, got one string")
    return tuple(value)


def of_type(value: object) -> str:
    return f"cannot be of type {type(value).__name__}"


def must_be_text(_: object, attribute: attrs.Attribute[str], value: object) -> None:
    if not isinstance(value, str):
        raise BadValue(attribute.name, of_type(value), next_step="Give a string.")


def text_or_none(_: object, attribute: attrs.Attribute[str | None], value: object) -> None:
    if value is not None:
        must_be_text(_, attribute, value)  # type: ignore[arg-type]


def bool_or_none(_: object, attribute: attrs.Attribute[bool | None], value: object) -> None:
    if value is not None and not isinstance(value, bool):
        raise BadValue(attribute.name, of_type(value), next_step="Give True, False or nothing.")


def items(value: object, name: str) -> list[Any]:
    """Items from a caller's list. Raises: BadValue for a single string, a mapping, or a value without items."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise BadValue(name, f"must be a list and {of_type(value)}", next_step=f"Give a list, `{name}=[...]`.")
    return list(value)


def tuple_or_same(value: Iterable[str] | None) -> tuple[str, ...] | None:
    """A tuple where possible; :func:`must_be_texts` knows the field and checks the rest."""
    if value is None or isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        return value  # type: ignore[return-value]
    return tuple(value)


def must_be_texts(_: object, attribute: attrs.Attribute[tuple[str, ...] | None], value: object) -> None:
    if value is None:
        return
    for number, item in enumerate(items(value, attribute.name)):
        if not isinstance(item, str):
            raise BadValue(f"{attribute.name}[{number}]", of_type(item), next_step="Give strings.")


def made(cls: type[Any], value: object, path: str) -> Any:
    """``value``, a mapping of field names, as a ``cls``. Raises: BadValue with the field's path."""
    if isinstance(value, cls):
        return value
    if not isinstance(value, Mapping):
        raise BadValue(path, of_type(value), next_step=f"Give a mapping or a {cls.__name__}.")
    known = {a.name: a for a in attrs.fields(cls)}
    for key in value:
        if key not in known:
            raise BadValue(f"{path}.{key}", "is not a known field", next_step=f"Fields are: {', '.join(known)}.")
    for name, attribute in known.items():
        if attribute.default is attrs.NOTHING and name not in value:
            raise BadValue(f"{path}.{name}", "is missing", next_step=f"Fields are: {', '.join(known)}.")
    try:
        return cls(**value)
    except BadValue as error:
        problem = error.message.removeprefix(error.field).strip().removesuffix(".")
        raise BadValue(f"{path}.{error.field}", problem, next_step=error.next_step) from error
