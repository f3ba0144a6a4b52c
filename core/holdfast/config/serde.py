"""External data as values and back, with errors that name the file and every bad key."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast, get_args, get_origin

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

_origin: Callable[[Any], Any] = cache(get_origin)
_arguments: Callable[[Any], Any] = cache(get_args)
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
    problems: list[str] = []
    made = _read(value, cls, "", problems)
    if not problems:
        return cast("T", made)
    shown = "; ".join(problems[:8]) + (f"; and {len(problems) - 8} more" if len(problems) > 8 else "")
    step = next_step or f"Correct {'it' if len(problems) == 1 else 'these'}, then try again."
    raise error(f"{what} is not valid: {shown}.", next_step=step)


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

    step = "Run `holdfast doctor`: it names the journal."
    return structure(data, Receipt, what="A stored receipt", error=Corrupt, next_step=step)


def fact_out(fact: Fact) -> dict[str, object]:
    """A fact in its published form: id, content, category, confidence, createdAt, source."""
    return {"createdAt" if key == "created_at" else key: value for key, value in unstructure(fact).items()}


# reading


def _read(value: Any, kind: Any, path: str, problems: list[str]) -> Any:
    """``value`` as a ``kind``. Mistakes go to ``problems``, each with its path; the result then means nothing."""
    if kind in _KINDS:
        if isinstance(value, bool) is (kind is bool) and isinstance(value, (int, float) if kind is float else kind):
            return value
        return problems.append(f"{path}: expected {_KINDS[kind]}, got {_named(value)}".removeprefix(": "))
    if kind in (Any, object):
        return value
    origin, kinds = _origin(kind), _arguments(kind)
    if origin is UnionType and kinds[1:] == (NoneType,):
        return None if value is None else _read(value, kinds[0], path, problems)
    if origin is Literal:
        return value if value in kinds else problems.append(f"{path}: not {value!r}".removeprefix(": "))
    if origin in (tuple, list):
        if isinstance(value, list | tuple):
            return origin(_read(one, kinds[0], f"{path}[{n}]", problems) for n, one in enumerate(value))
        return problems.append(f"{path}: expected a list".removeprefix(": "))
    if origin in (dict, Mapping):
        if isinstance(value, Mapping):
            return {key: _read(one, kinds[1], _at(path, str(key)), problems) for key, one in value.items()}
        return problems.append(f"{path}: expected a table, got {_named(value)}".removeprefix(": "))
    try:
        if kind is datetime:
            return moment(value)
        return _object(value, kind, path, problems) if attrs.has(kind) else kind(value)
    except (HoldfastError, ValueError, TypeError) as error:
        return problems.append(_told(error, path))


def _object(value: Any, cls: Any, path: str, problems: list[str]) -> Any:
    """Read a table as a ``cls``. A string is a value whose first field is ``text``. Raises: as the class."""
    fields, rest = _fields(cls)
    if isinstance(value, str) and next(iter(fields)) == "text":
        return cls(text=value)
    if not isinstance(value, Mapping):
        raise TypeError(f"expected a table, got {_named(value)}")
    unknown = {key: item for key, item in value.items() if key not in fields}
    given = {key: item for key, item in value.items() if key in fields}
    if rest:
        given[rest], unknown = unknown | given.get(rest, {}), {}
    before = len(problems)
    for key, item in given.items():
        field, here = fields[key], _at(path, key)
        # Where the class itself converts the value, it lists the choices if it cannot.
        is_enum = isinstance(field.type, type) and issubclass(field.type, Enum)
        if not ("raw" in field.metadata or (field.converter and is_enum)):
            found = len(problems)
            given[key] = _read(item, field.type, here, problems)
            if ABOUT in field.metadata and found == len(problems):
                try:
                    field.metadata[ABOUT].check(item)
                except ValueError as error:
                    problems.append(_told(error, here))
    missing = (name for name, one in fields.items() if one.default is attrs.NOTHING and name not in given)
    problems += [f"{_at(path, name)}: missing" for name in missing]
    for key in sorted(unknown):
        near = nearest(key, list(fields))
        problems.append(f"{_at(path, key)}: unknown key" + (f" (did you mean `{near}`?)" if near else ""))
    return cls(**given) if len(problems) == before else None


@cache
def _fields(cls: Any) -> tuple[Mapping[str, attrs.Attribute[Any]], str]:
    """A class's fields, by name, and the name of the one that receives the other keys."""
    fields = {one.name: one for one in attrs.fields(attrs.resolve_types(cls)) if one.init}
    return fields, next((name for name, one in fields.items() if REST in one.metadata), "")


def _named(value: object) -> str:
    return _KINDS.get(type(value), type(value).__name__)


def _told(error: Exception, path: str) -> str:
    """An error that a class raised, as a mistake at ``path``."""
    if isinstance(error, BadValue):
        text = error.message.removesuffix(".")
        if error.next_step.startswith("Use one of"):
            text += f" (use{error.next_step[3:].removesuffix('.')})"
        return f"{path}: {text}" if path and not error.field.startswith(path) else text
    if isinstance(error, HoldfastError):
        return str(error).removesuffix(".")
    return f"{path}: {error}" if path else str(error)


def _at(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def stamp(moment: datetime) -> str:
    """ISO-8601 with offset; UTC is written ``Z``. Microseconds are kept."""
    return moment.isoformat().replace("+00:00", "Z")


def moment(text: str) -> datetime:
    """The reverse of :func:`stamp`; a time without offset counts as UTC. Raises: ValueError."""
    value = datetime.fromisoformat(text)
    return value if value.tzinfo else value.replace(tzinfo=UTC)
