"""External data as values and back, with errors that name the file and every bad key.

Reads classes of attrs without a library, whose import takes longer than starting Python.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import UTC, datetime
from enum import Enum
from functools import cache, partial
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, TypeVar, Union, get_args, get_origin

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
    try:
        made: T = _read(value, cls)
        return made
    except (_Wrong, HoldfastError, ValueError, TypeError) as caught:
        found = caught.found if isinstance(caught, _Wrong) else [_problem(caught, "")]
        lines = [f"{path}: {text}" if path else text for path, text in found]
        shown = "; ".join(lines[:8]) + (f"; and {len(lines) - 8} more" if len(lines) > 8 else "")
        step = next_step or f"Correct {'it' if len(lines) == 1 else 'these'}, then try again."
        raise error(f"{what} is not valid: {shown}.", next_step=step) from caught


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


class _Wrong(Exception):
    """What is wrong with a value, each mistake with the key's path in it."""

    def __init__(self, found: list[tuple[str, str]]) -> None:
        super().__init__("; ".join(f"{path}: {text}" if path else text for path, text in found))
        self.found = found


def _read(value: Any, kind: Any) -> Any:
    """``value`` as a ``kind``. Raises: _Wrong; HoldfastError, TypeError, ValueError for the value itself."""
    if kind in (Any, object):
        return value
    if kind in (str, bool, int, float):
        return _exactly(value, kind)
    if kind is datetime:
        return moment(value)
    origin, of = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return None if value is None else _read(value, next(one for one in of if one is not NoneType))
    if origin in (tuple, list):
        if not isinstance(value, list | tuple):
            raise TypeError("expected a list")
        return origin(_each((f"[{at}]", partial(_read, one, of[0])) for at, one in enumerate(value)).values())
    if origin in (dict, Mapping):
        return _each((str(key), partial(_read, one, of[1])) for key, one in _table(value).items())
    return _class(value, kind) if attrs.has(kind) else kind(value)


def _each(items: Iterable[tuple[str, Callable[[], Any]]]) -> dict[str, Any]:
    """Each value as read, by its key. Raises: _Wrong."""
    made, wrong = {}, []
    for key, read in items:
        try:
            made[key] = read()
        except _Wrong as error:
            wrong += [(_at(key, path), text) for path, text in error.found]
        except (HoldfastError, ValueError, TypeError) as error:
            wrong.append(_problem(error, key))
    if wrong:
        raise _Wrong(wrong)
    return made


def _exactly(value: object, kind: Any) -> object:
    if isinstance(value, bool) is not (kind is bool) or not isinstance(value, (int, float) if kind is float else kind):
        raise TypeError(f"expected {_KINDS[kind]}, got {_KINDS.get(type(value), type(value).__name__)}")
    return value


def _table(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise TypeError(f"expected a table, got {_KINDS.get(type(value), type(value).__name__)}")
    return value


@cache
def _fields(cls: Any) -> tuple[dict[str, attrs.Attribute[Any]], str]:
    """A class's fields by name, and the name of the one for all other keys."""
    fields = {one.name: one for one in attrs.fields(attrs.resolve_types(cls)) if one.init}
    return fields, next((name for name, one in fields.items() if REST in one.metadata), "")


def _class(value: Any, cls: Any) -> object:
    """A table as a ``cls``. A string is a value whose first field is ``text``."""
    fields, rest = _fields(cls)
    if isinstance(value, str) and next(iter(fields)) == "text":
        return cls(text=value)
    table = {key: one for key, one in _table(value).items() if key in fields and key != rest}
    unknown = {key: one for key, one in value.items() if key not in table}
    wrong: list[tuple[str, str]] = []
    try:
        made = _each((key, partial(_field, one, fields[key])) for key, one in table.items())
    except _Wrong as error:
        wrong += error.found
    missing = (name for name, one in fields.items() if one.default is attrs.NOTHING and name not in {*table, rest})
    wrong += [(name, "missing") for name in missing]
    if not rest:
        for key in sorted(map(str, unknown)):
            near = nearest(key, [*fields])
            wrong.append((key, "unknown key" + (f" (did you mean `{near}`?)" if near else "")))
    if wrong:
        raise _Wrong(wrong)
    return cls(**made, **({rest: unknown} if rest else {}))


def _field(value: object, field: attrs.Attribute[Any]) -> object:
    kind = field.type
    if "raw" in field.metadata or (field.converter and isinstance(kind, type) and issubclass(kind, Enum)):
        return value  # the class converts it, and lists the choices if it cannot
    made: object = _read(value, kind)
    if ABOUT in field.metadata:
        field.metadata[ABOUT].check(made)
    return made


def _problem(error: BaseException, path: str) -> tuple[str, str]:
    """A mistake in the value at ``path``."""
    if isinstance(error, BadValue):
        text = error.message.removesuffix(".")
        if error.next_step.startswith("Use one of"):
            text += f" (use{error.next_step[3:].removesuffix('.')})"
        return ("" if error.field.startswith(path) else path), text
    if isinstance(error, HoldfastError):
        return "", str(error).removesuffix(".")
    return path, str(error.args[0]) if error.args else type(error).__name__


def _at(key: str, path: str) -> str:
    """The path of what is at ``path`` in the value with this key."""
    return f"{key}{path}" if path.startswith("[") else f"{key}.{path}" if path else key


def stamp(moment: datetime) -> str:
    """ISO-8601 with offset; UTC is written ``Z``. Microseconds are kept."""
    return moment.isoformat().replace("+00:00", "Z")


def moment(text: str) -> datetime:
    """The reverse of :func:`stamp`; a time without offset counts as UTC. Raises: ValueError."""
    value = datetime.fromisoformat(text)
    return value if value.tzinfo else value.replace(tzinfo=UTC)
