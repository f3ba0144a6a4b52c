"""External data as values and back, with errors that name the file and every bad key."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from enum import Enum
from functools import cache, partial
from types import NoneType, UnionType
from typing import Any, Literal, TypeAlias, TypeVar, get_args, get_origin

import attrs

from holdfast import models
from holdfast.config.fields import ABOUT, REST
from holdfast.config.values import Config, config_type
from holdfast.errors import BadValue, ConfigError, Corrupt, HoldfastError
from holdfast.text.humanize import nearest

#: Names of keys in the settings that hold a secret.
_KEY_NAMES = frozenset(
    ("key", "apikey", "api_key", "token", "apitoken", "api_token", "auth_token", "access_token", "secret", "password")
)
#: A type -> its name in messages.
_KINDS: Mapping[type, str] = {
    str: "a string", bool: "true or false", int: "a whole number", float: "a number", list: "a list", dict: "a table",
}  # fmt: skip
_ALSO: Mapping[type, Any] = {float: (int, float), list: (list, tuple), dict: Mapping}

T = TypeVar("T")
#: What reads a type gets a value, its path, and the list of mistakes, to which it adds those in the value's parts.
_Reader: TypeAlias = Callable[[Any, str, list[str]], Any]


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
    kind: Any = cls
    mistakes: list[str] = []
    made: T = _tried(_reader(kind), value, "", mistakes)
    if mistakes:
        shown = "; ".join(mistakes[:8]) + (f"; and {len(mistakes) - 8} more" if len(mistakes) > 8 else "")
        step = next_step or f"Correct {'it' if len(mistakes) == 1 else 'these'}, then try again."
        raise error(f"{what} is not valid: {shown}.", next_step=step)
    return made


def unstructure(value: Any) -> Any:
    """A value as plain dicts, lists, strings and numbers, ready for JSON or TOML."""
    if type(value) in (str, int, float, bool, NoneType):
        return value
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, datetime):
        return stamp(value)
    if hasattr(value, "as_written"):
        return unstructure(value.as_written())
    if attrs.has(kind := type(value)):
        return {field.name: unstructure(getattr(value, field.name)) for field in attrs.fields(kind) if field.init}
    if isinstance(value, Mapping):
        return {unstructure(key): unstructure(entry) for key, entry in value.items()}
    if isinstance(value, Collection) and not isinstance(value, str):
        return [unstructure(entry) for entry in value]
    return value


def config_from(data: Mapping[str, object], source: str) -> Config:
    """The configuration from a parsed table. Raises: ConfigError, for a secret in it without the value."""
    plugins = data.get("plugins")
    tables = {f"plugins.{name}": table for name, table in plugins.items()} if isinstance(plugins, Mapping) else {}
    for path, table in {"storage": data.get("storage"), **tables}.items():
        for key in table if isinstance(table, Mapping) else ():
            if key.lower().replace("-", "_") in _KEY_NAMES:
                raise ConfigError(
                    f"{path}.{key}: a key does not belong in the settings, because others can read the file.",
                    next_step="Remove it, and set the key with `holdfast auth set` or in the environment.",
                )
    config = structure(data, config_type(), what=source)
    storage: Any = data.get("storage", {})
    follow: dict[str, Any] = {
        "path": config.layout.base.path,
        "facts": config.layout.facts,
    }  # unless ``[storage]`` sets them
    unset = {key: value for key, value in follow.items() if key not in storage}
    return attrs.evolve(config, storage=attrs.evolve(config.storage, **unset))


def payload_from(data: object, source: str = "The payload") -> models.Payload:
    """A payload from parsed JSON. Absent keys stay None; callers must not pass ``derived``.

    Raises: ConfigError naming each bad key.
    """
    if not isinstance(data, Mapping):
        raise ConfigError(f"{source} is not a JSON object.", next_step='Start it with {"objective": "..."}.')
    return structure({k: v for k, v in data.items() if k not in ("derived", "sources")}, models.Payload, what=source)


def flushed_payload(record: Mapping[str, Any]) -> models.Payload:
    """The complete payload of a flush as the journal recorded it, with its ``derived`` and ``sources``.

    Raises: ConfigError when it cannot be read.
    """
    return payload_from(record["payload"]).evolve(derived=record["derived"], sources=record.get("sources", ()))


def receipt_from(data: object) -> models.Receipt:
    """A receipt from a journal record. Raises: Corrupt."""
    step = "Run `holdfast doctor`: it names the journal."
    return structure(data, models.Receipt, what="A stored receipt", error=Corrupt, next_step=step)


def fact_out(fact: models.Fact) -> dict[str, object]:
    """A fact in its published form: id, content, category, confidence, createdAt, source."""
    return {"createdAt" if key == "created_at" else key: value for key, value in unstructure(fact).items()}


# reading


@cache
def _reader(kind: Any) -> _Reader:
    """What reads a ``kind``, a type of settings or records. It raises HoldfastError, TypeError or ValueError for a
    mistake in the value itself. Raises: TypeError for another type."""
    origin, kinds = get_origin(kind), get_args(kind)
    if kind in (Any, object):
        return lambda value, *_: value
    if kind in _KINDS:
        return lambda value, *_: value if type(value) is kind else _exactly(value, kind)
    if kind is datetime:
        return lambda value, *_: moment(value)
    if origin is Literal:
        return lambda value, *_: kinds[kinds.index(value)]
    if attrs.has(kind):
        return partial(_instance, kind)
    if origin is UnionType and kinds[1:] == (NoneType,):
        inner = _reader(kinds[0])
        return lambda value, path, mistakes: None if value is None else inner(value, path, mistakes)
    if origin in (tuple, list):
        inner = _reader(kinds[0])
        return lambda value, path, mistakes: origin(
            [_tried(inner, entry, f"{path}[{at}]", mistakes) for at, entry in enumerate(_exactly(value, list))]
        )
    if origin in (dict, Mapping):
        inner = _reader(kinds[1])
        return lambda value, path, mistakes: {
            key: _tried(inner, entry, _at(path, key), mistakes) for key, entry in _exactly(value, dict).items()
        }
    raise TypeError(kind)


def _exactly(value: Any, kind: Any) -> Any:
    """``value``, which must be a ``kind``. Raises: TypeError."""
    is_bool = isinstance(value, bool)
    if type(value) is not kind and (is_bool is not (kind is bool) or not isinstance(value, _ALSO.get(kind, kind))):
        raise TypeError(f"expected {_KINDS[kind]}, got {_KINDS.get(type(value), type(value).__name__)}")
    return value


def _instance(cls: Any, value: Any, path: str, mistakes: list[str]) -> Any:
    """A table as a ``cls``, or a string as a value whose first field is ``text``. None with a mistake in it."""
    fields, before = _fields(cls), len(mistakes)
    if isinstance(value, str) and next(iter(fields)) == "text":
        return cls(text=value)
    table, rest = dict(_exactly(value, dict)), _rest(cls)
    if rest:
        table[rest] = {key: table.pop(key) for key in list(table) if key == rest or key not in fields}
    made: dict[str, Any] = {}
    for name, field in fields.items():
        if name in table:
            made[name] = _tried(_member(cls, name), table[name], _at(path, name), mistakes)
        elif field.default is attrs.NOTHING:
            mistakes.append(f"{_at(path, name)}: missing")
    for key in sorted(table.keys() - fields):
        near = nearest(key, list(fields))
        mistakes.append(f"{_at(path, key)}: unknown key" + (f" (did you mean `{near}`?)" if near else ""))
    return cls(**made) if len(mistakes) == before else None


def _tried(read: _Reader, value: Any, path: str, mistakes: list[str]) -> Any:
    """The value as read, or None, with the mistakes in it added to ``mistakes``."""
    try:
        return read(value, path, mistakes)
    except BadValue as error:
        problem = error.message.removesuffix(".")
        if error.next_step.startswith("Use one of"):
            problem += f" (use{error.next_step[3:].removesuffix('.')})"
        mistakes.append(f"{path}: {problem}" if path and not error.field.startswith(path) else problem)
    except HoldfastError as error:
        mistakes.append(str(error).removesuffix("."))
    except (TypeError, ValueError) as error:
        mistakes.append(f"{path}: {error}" if path else str(error))
    return None


@cache
def _member(cls: Any, name: str) -> _Reader:
    """What reads a field. Few of the settings are set, so each is made for its first value."""
    field = _fields(cls)[name]
    kind: Any = field.type
    is_enum = isinstance(kind, type) and issubclass(kind, Enum)
    if "raw" in field.metadata or (is_enum and field.converter is not None):
        return lambda value, *_: value  # the class converts it, and lists the choices if it cannot
    read = _reader(kind)
    if ABOUT not in field.metadata:
        return read

    def checked(value: Any, path: str, mistakes: list[str]) -> Any:
        made = read(value, path, mistakes)
        field.metadata[ABOUT].check(made)
        return made

    return checked


@cache
def _fields(cls: Any) -> Mapping[str, attrs.Attribute[Any]]:
    """A class's fields that its constructor takes, with their types resolved, by name."""
    return {field.name: field for field in attrs.fields(attrs.resolve_types(cls)) if field.init}


@cache
def _rest(cls: Any) -> str:
    return next((name for name, field in _fields(cls).items() if REST in field.metadata), "")


def _at(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def stamp(moment: datetime) -> str:
    """ISO-8601 with offset; UTC is written ``Z``. Microseconds are kept."""
    return moment.isoformat().replace("+00:00", "Z")


def moment(text: str) -> datetime:
    """The reverse of :func:`stamp`; a time without offset counts as UTC. Raises: ValueError."""
    value = datetime.fromisoformat(text)
    return value if value.tzinfo else value.replace(tzinfo=UTC)
