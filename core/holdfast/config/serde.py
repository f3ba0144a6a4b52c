"""External data as values and back, with errors that name the file and every bad key."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from enum import Enum
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
    lines: list[str] = []
    made = _read(value, cls, "", lines)
    if lines:
        shown = "; ".join(lines[:8]) + (f"; and {len(lines) - 8} more" if len(lines) > 8 else "")
        step = next_step or f"Correct {'it' if len(lines) == 1 else 'these'}, then try again."
        raise error(f"{what} is not valid: {shown}.", next_step=step)
    return made  # type: ignore[no-any-return]


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

    if not data:  # most projects
        return config_type()()
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

    return structure(data, Receipt, what="A stored receipt", error=Corrupt)


def fact_out(fact: Fact) -> dict[str, object]:
    """A fact in its published form: id, content, category, confidence, createdAt, source."""
    return {"createdAt" if key == "created_at" else key: value for key, value in unstructure(fact).items()}


# reading


def _read(value: object, kind: Any, path: str, problems: list[str]) -> Any:
    """``value`` as a ``kind``. Adds a line to ``problems`` for each mistake, with its path. Kinds are
    those of the stored classes: plain values, times, choices, lists, tables and other such classes."""
    origin, args = get_origin(kind), get_args(kind)
    try:
        if type(None) in args:
            return None if value is None else _read(value, args[0], path, problems)
        if origin in (list, tuple):
            if not isinstance(value, list | tuple):
                raise TypeError("expected a list")
            return origin(_read(one, args[0], f"{path}[{n}]", problems) for n, one in enumerate(value))
        if attrs.has(kind):
            return _table(value, kind, path, problems)
        if origin in (dict, Mapping):
            return {key: _read(one, args[1], _at(path, key), problems) for key, one in _mapping(value).items()}
        if origin is Literal:
            if value not in args:
                raise ValueError(f"must be one of {', '.join(args)}, not {value!r}")
        elif kind in _KINDS:
            same = isinstance(value, bool) is (kind is bool)
            if not same or not isinstance(value, (int, float) if kind is float else kind):
                raise TypeError(f"expected {_KINDS[kind]}, got {_kind_of(value)}")
        elif kind is datetime:
            return moment(value)  # type: ignore[arg-type]  # it raises TypeError
        elif isinstance(kind, type) and issubclass(kind, Enum):
            return kind(value)
        elif kind not in (Any, object):
            raise TypeError(f"values of type {kind} cannot be read")
    except (HoldfastError, ValueError, TypeError) as error:
        problems.append(_problem(error, path))
    return value


def _table(value: Any, cls: Any, path: str, problems: list[str]) -> Any:
    """A table as a ``cls``. A string is a value whose first field is ``text``. Raises: as the class."""
    fields = [one for one in attrs.fields(attrs.resolve_types(cls)) if one.init]
    if isinstance(value, str) and fields[0].name == "text":
        return cls(text=value)
    found: dict[str, Any] = {}
    unknown, before = dict(_mapping(value)), len(problems)
    for one in fields:
        if one.name in unknown:
            found[one.name] = _field(unknown.pop(one.name), one, _at(path, one.name), problems)
        elif one.default is attrs.NOTHING:
            problems.append(f"{_at(path, one.name)}: missing")
    rest = next((one.name for one in fields if REST in one.metadata), "")
    if rest:
        found[rest] = unknown
    else:
        for key in sorted(unknown):
            near = nearest(key, [one.name for one in fields])
            problems.append(f"{_at(path, key)}: unknown key" + (f" (did you mean `{near}`?)" if near else ""))
    return cls(**found) if len(problems) == before else None


def _field(value: object, field: attrs.Attribute[Any], path: str, problems: list[str]) -> Any:
    is_choice = field.converter and isinstance(field.type, type) and issubclass(field.type, Enum)
    if is_choice or "raw" in field.metadata:
        return value  # the class converts it, and lists the choices if it cannot
    before = len(problems)
    made = _read(value, field.type, path, problems)
    if ABOUT in field.metadata and len(problems) == before:
        try:
            field.metadata[ABOUT].check(made)
        except (HoldfastError, ValueError, TypeError) as error:
            problems.append(_problem(error, path))
    return made


def _mapping(value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise TypeError(f"expected a table, got {_kind_of(value)}")
    return value


def _kind_of(value: object) -> str:
    return _KINDS.get(type(value), type(value).__name__)


def _problem(error: Exception, path: str) -> str:
    """A mistake's line, with its path."""
    if isinstance(error, BadValue):
        problem = error.message.removesuffix(".")
        if error.next_step.startswith("Use one of"):
            problem += f" (use{error.next_step[3:].removesuffix('.')})"
        return f"{path}: {problem}" if path and not error.field.startswith(path) else problem
    if isinstance(error, HoldfastError):
        return str(error).removesuffix(".")
    text = str(error.args[0]) if error.args else type(error).__name__
    return f"{path}: {text}" if path else text


def _at(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


# times


def stamp(moment: datetime) -> str:
    """ISO-8601 with offset; UTC is written ``Z``. Microseconds are kept."""
    return moment.isoformat().replace("+00:00", "Z")


def moment(text: str) -> datetime:
    """The reverse of :func:`stamp`; a time without offset counts as UTC. Raises: ValueError."""
    value = datetime.fromisoformat(text)
    return value if value.tzinfo else value.replace(tzinfo=UTC)
