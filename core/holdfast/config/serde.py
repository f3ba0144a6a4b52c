"""External data as values and back, with errors that name the file and every bad key."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args, get_origin

import attrs

from holdfast.config.fields import ABOUT, REST
from holdfast.errors import BadValue, ConfigError, Corrupt, HoldfastError
from holdfast.text.humanize import nearest

if TYPE_CHECKING:
    from holdfast.config.values import Config
    from holdfast.models import Fact, Payload, Receipt

__all__ = [
    "config_from", "fact_out", "flushed_payload", "moment", "payload_from", "receipt_from", "stamp", "structure",
    "unstructure",
]  # fmt: skip

#: Names of keys in the settings that hold a secret.
_KEY_NAMES = frozenset(
    ("key", "apikey", "api_key", "token", "apitoken", "api_token", "auth_token", "access_token", "secret", "password")
)
#: A type -> its name in messages.
_KINDS: Mapping[type, str] = {
    str: "a string", bool: "true or false", int: "a whole number", float: "a number", list: "a list", dict: "a table",
}  # fmt: skip

T = TypeVar("T")


def structure(
    value: object,
    cls: type[T],
    *,
    what: str,
    error: type[HoldfastError] = ConfigError,
    next_step: str = "",
) -> T:
    """``value`` as a ``cls``. Values are never coerced ("5" is not 5). Raises: ``error``, naming ``what`` and every bad
    key with its path: ``flush.policy: must be one of lenient, strict, not 'x'``."""
    wrong: list[str] = []
    made: T = _read(value, cls, "", wrong)
    if wrong:
        shown = "; ".join(wrong[:8]) + (f"; and {len(wrong) - 8} more" if len(wrong) > 8 else "")
        step = next_step or f"Correct {'it' if len(wrong) == 1 else 'these'}, then try again."
        raise error(f"{what} is not valid: {shown}.", next_step=step)
    return made


def unstructure(value: Any) -> Any:
    """A value as plain dicts, lists, strings and numbers, ready for JSON or TOML."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, datetime):
        return stamp(value)
    if hasattr(value, "as_written"):
        return unstructure(value.as_written())
    if attrs.has(type(value)):
        return {one.name: unstructure(getattr(value, one.name)) for one in attrs.fields(type(value)) if one.init}
    if isinstance(value, Mapping):
        return {unstructure(key): unstructure(one) for key, one in value.items()}
    if isinstance(value, Collection) and not isinstance(value, str):
        return [unstructure(one) for one in value]
    return value


def config_from(data: Mapping[str, object], source: str) -> Config:
    """The configuration from a parsed table. Raises: ConfigError, for a secret in it without the value."""
    from holdfast.config.values import config_type

    plugins = data.get("plugins")
    tables = {f"plugins.{name}": table for name, table in plugins.items()} if isinstance(plugins, Mapping) else {}
    for path, table in {"storage": data.get("storage"), **tables}.items():
        for key in table if isinstance(table, Mapping) else ():
            if key.lower().replace("-", "_") in _KEY_NAMES:
                raise ConfigError(
                    f"{path}.{key}: a key does not belong in the settings, because others can read the file.",
                    next_step="Remove it, and set the key with `holdfast auth set` or in the environment.",
                )
    return structure(data, config_type(), what=source)


def payload_from(data: object, source: str = "The payload") -> Payload:
    """A payload from parsed JSON. Absent keys stay None; callers must not pass ``derived``.

    Raises: ConfigError naming each bad key.
    """
    from holdfast.models import Payload

    if not isinstance(data, Mapping):
        raise ConfigError(f"{source} is not a JSON object.", next_step='Start it with {"objective": "..."}.')
    return structure({k: v for k, v in data.items() if k not in ("derived", "sources")}, Payload, what=source)


def flushed_payload(record: Mapping[str, Any]) -> Payload:
    """The complete payload of a flush as the journal recorded it, with its ``derived`` and ``sources``.

    Raises: ConfigError when it cannot be read.
    """
    made = payload_from(record["payload"])
    return made.evolve(derived=record["derived"], sources=record.get("sources", ()))


def receipt_from(data: object) -> Receipt:
    """A receipt from a journal record. Raises: Corrupt."""
    from holdfast.models import Receipt

    step = "Run `holdfast doctor`: it names the journal."
    return structure(data, Receipt, what="A stored receipt", error=Corrupt, next_step=step)


def fact_out(fact: Fact) -> dict[str, object]:
    """A fact in its published form: id, content, category, confidence, createdAt, source."""
    return {"createdAt" if key == "created_at" else key: value for key, value in unstructure(fact).items()}


# reading


def _read(value: object, kind: Any, path: str, wrong: list[str]) -> Any:
    """``value`` as a ``kind``. Its mistakes are added to ``wrong``, each with its path."""
    try:
        return _made(value, kind, path, wrong)
    except BadValue as error:
        problem = error.message.removesuffix(".")
        if error.next_step.startswith("Use one of"):
            problem += f" (use{error.next_step[3:].removesuffix('.')})"
        wrong.append(problem if error.field.startswith(path) else f"{path}: {problem}")
    except HoldfastError as error:
        wrong.append(str(error).removesuffix("."))
    except (ValueError, TypeError) as error:
        wrong.append(f"{path}: {error}" if path else str(error))


def _made(value: Any, kind: Any, path: str, wrong: list[str]) -> Any:
    if kind in (str, bool, int, float):
        fits = isinstance(value, int | float if kind is float else kind)
        if not fits or isinstance(value, bool) is not (kind is bool):
            raise TypeError(f"expected {_KINDS[kind]}, got {_named(value)}")
        return value
    origin, args = _parts(kind)
    if origin in (object, Any):
        return value
    if origin is UnionType:
        return None if value is None else _made(value, next(one for one in args if one is not NoneType), path, wrong)
    if origin is Literal:
        if value not in args:
            raise ValueError(f"must be one of {', '.join(args)}")
        return value
    if attrs.has(origin):
        return _table(value, origin, path, wrong)
    if origin in (tuple, list):
        if not isinstance(value, list | tuple):
            raise TypeError("expected a list")
        return origin(_read(one, args[0], f"{path}[{number}]", wrong) for number, one in enumerate(value))
    if issubclass(origin, Mapping):
        return {key: _read(one, args[1], _at(path, key), wrong) for key, one in _mapping(value).items()}
    if origin is datetime:
        return moment(value)
    assert issubclass(origin, Enum)
    return origin(value)


@cache
def _parts(kind: Any) -> tuple[Any, tuple[Any, ...]]:
    """A type, and the types in its brackets."""
    return get_origin(kind) or kind, get_args(kind)


def _table(value: object, cls: Any, path: str, wrong: list[str]) -> Any:
    """A table as a ``cls``. A string is a value whose first field is ``text``."""
    fields = _fields(cls)
    if isinstance(value, str) and next(iter(fields)) == "text":
        return cls(text=value)
    rest = next((name for name, one in fields.items() if REST in one.metadata), "")
    table, mistakes = _mapping(value), len(wrong)
    given: dict[str, Any] = {rest: {}} if rest else {}
    for key, item in table.items():
        if key in fields and key != rest:
            given[key] = _field(item, fields[key], _at(path, key), wrong)
        elif rest:
            given[rest][key] = item
        else:
            near = nearest(key, list(fields))
            wrong.append(f"{_at(path, key)}: unknown key" + (f" (did you mean `{near}`?)" if near else ""))
    missing = (name for name, one in fields.items() if one.default is attrs.NOTHING and name not in given)
    wrong += (f"{_at(path, name)}: missing" for name in missing)
    return cls(**given) if len(wrong) == mistakes else None


def _field(value: object, field: attrs.Attribute[Any], path: str, wrong: list[str]) -> object:
    if "raw" in field.metadata or (field.converter and isinstance(field.type, type) and issubclass(field.type, Enum)):
        return value  # the class converts it, and lists the choices if it cannot
    mistakes = len(wrong)
    made: object = _read(value, field.type, path, wrong)
    if ABOUT in field.metadata and len(wrong) == mistakes:
        try:
            field.metadata[ABOUT].check(made)
        except ValueError as error:
            wrong.append(f"{path}: {error}")
    return made


@cache
def _fields(cls: Any) -> dict[str, attrs.Attribute[Any]]:
    """A class's fields that a table may have, with their types."""
    return {one.name: one for one in attrs.fields(attrs.resolve_types(cls)) if one.init}


def _mapping(value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise TypeError(f"expected a table, got {_named(value)}")
    return value


def _named(value: object) -> str:
    return _KINDS.get(type(value), type(value).__name__)


def _at(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def stamp(moment: datetime) -> str:
    """ISO-8601 with offset; UTC is written ``Z``. Microseconds are kept."""
    return moment.isoformat().replace("+00:00", "Z")


def moment(text: str) -> datetime:
    """The reverse of :func:`stamp`; a time without offset counts as UTC. Raises: ValueError."""
    value = datetime.fromisoformat(text)
    return value if value.tzinfo else value.replace(tzinfo=UTC)
