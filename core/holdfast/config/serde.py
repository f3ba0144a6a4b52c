"""External data as values and back, with errors that name the file and every bad key.

The only user of cattrs. Its import takes longer than starting Python, so holdfast's own records are read without it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, TypeVar, cast, get_args, get_origin

import attrs

from holdfast.config.fields import ABOUT, REST
from holdfast.config.values import Config
from holdfast.errors import BadValue, ConfigError, Corrupt, HoldfastError
from holdfast.text.humanize import nearest

if TYPE_CHECKING:
    import cattrs

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
_Hook = Callable[[Any, Any], Any]


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
    with suppress(HoldfastError, KeyError, TypeError, ValueError):
        return cast("T", _reader(kind)(value))
    import cattrs  # for settings and payloads, and to name each mistake

    try:
        return _converter().structure(value, cls)
    except (cattrs.BaseValidationError, HoldfastError, ValueError, TypeError) as caught:
        lines = list(_problems(caught, ""))
        shown = "; ".join(lines[:8]) + (f"; and {len(lines) - 8} more" if len(lines) > 8 else "")
        step = next_step or f"Correct {'it' if len(lines) == 1 else 'these'}, then try again."
        raise error(f"{what} is not valid: {shown}.", next_step=step) from caught


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

    if not data:  # most projects; importing cattrs would slow each start
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


@cache
def _reader(kind: Any) -> Callable[[Any], Any]:
    """Read a ``kind``, a type of settings or records, without cattrs. The function raises HoldfastError, KeyError,
    TypeError or ValueError for a mistake. Raises: TypeError for another type."""
    origin, kinds = get_origin(kind), get_args(kind)
    if kind in _KINDS:
        return lambda value: value if type(value) is kind else _exactly(value, kind)
    if kind in (Any, object):
        return lambda value: value
    if kind is datetime:
        return moment
    if origin is UnionType and kinds[1:] == (NoneType,):
        inner = _reader(kinds[0])
        return lambda value: None if value is None else inner(value)
    if origin is tuple:
        inner = _reader(kinds[0])
        return lambda value: tuple(map(inner, _instance((list, tuple), value)))
    if origin in (dict, Mapping):
        inner, outer = _reader(kinds[1]), _reader(kinds[0])
        return lambda value: {outer(key): inner(one) for key, one in _instance(dict, value).items()}
    if attrs.has(kind):
        return lambda value: kind(**{key: _member(kind, key)(one) for key, one in _table(kind, value).items()})
    raise TypeError(kind)


def _instance(kind: Any, value: Any) -> Any:
    """``value``, which must be a ``kind``. Raises: TypeError."""
    if not isinstance(value, kind):
        raise TypeError(type(value))
    return value


@cache
def _member(cls: Any, name: str) -> Callable[[Any], Any]:
    """A reader for a field. Few of the settings are set, so each is made for its first value."""
    field = _fields(cls)[name]
    kind: Any = field.type
    return (lambda value: value) if _is_raw(field) else _reader(kind)


@cache
def _fields(cls: Any) -> Mapping[str, attrs.Attribute[Any]]:
    """A class's fields that its constructor takes, with their types resolved, by name."""
    return {one.name: one for one in attrs.fields(attrs.resolve_types(cls)) if one.init}


def _is_raw(field: attrs.Attribute[Any]) -> bool:
    """Whether the class converts the value itself, and lists the choices if it cannot."""
    is_enum = isinstance(field.type, type) and issubclass(field.type, Enum)
    return "raw" in field.metadata or (is_enum and field.converter is not None)


def _table(cls: Any, value: Any) -> Mapping[str, Any]:
    """A table with unknown keys moved into the field of ``cls`` for them, if it has one. Raises: TypeError."""
    table: Mapping[str, Any] = value if type(value) is dict else _instance(Mapping, value)
    rest = _rest(cls)
    if not rest:
        return table
    known = _fields(cls).keys() - {rest}
    others = {key: item for key, item in table.items() if key not in known}
    return {key: item for key, item in table.items() if key in known} | {rest: others}


@cache
def _rest(cls: Any) -> str:
    return next((name for name, one in _fields(cls).items() if REST in one.metadata), "")


@cache
def _converter() -> cattrs.Converter:
    import cattrs

    made = cattrs.Converter(forbid_extra_keys=True)
    for kind in (str, bool, int, float):
        made.register_structure_hook(kind, _exactly)
    made.register_structure_hook_func(lambda kind: kind is object, lambda value, _: value)
    made.register_structure_hook(datetime, lambda value, _: moment(value))
    made.register_structure_hook_factory(_is_tuple, _tuple)
    made.register_structure_hook_factory(attrs.has, _class)
    return made


def _exactly(value: object, kind: Any) -> object:
    if isinstance(value, bool) is not (kind is bool) or not isinstance(value, (int, float) if kind is float else kind):
        raise TypeError(f"expected {_KINDS[kind]}, got {_KINDS.get(type(value), type(value).__name__)}")
    return value


def _is_tuple(kind: Any) -> bool:
    origin: object = get_origin(kind)
    return origin is tuple


def _tuple(kind: Any, converter: cattrs.BaseConverter) -> _Hook:
    items: Any = list[get_args(kind)[0]]  # type: ignore[misc]
    read = converter.get_structure_hook(items)

    def hook(value: object, _: object) -> tuple[Any, ...]:
        if not isinstance(value, list | tuple):
            raise TypeError("expected a list")
        return tuple(read(value, items))

    return hook


def _class(cls: Any, converter: cattrs.BaseConverter) -> _Hook:
    """Read a table as a ``cls``. A string is a value whose first field is ``text``."""
    from cattrs.gen import make_dict_structure_fn

    fields = _fields(cls)
    checked = {name: _checked(one, converter) for name, one in fields.items()}
    read = make_dict_structure_fn(cls, converter, _cattrs_use_linecache=False, **checked)

    def hook(value: Any, _: object) -> object:
        if isinstance(value, str) and next(iter(fields)) == "text":
            return cls(text=value)
        if not isinstance(value, Mapping):
            raise TypeError(f"expected a table, got {_KINDS.get(type(value), type(value).__name__)}")
        return read(_table(cls, value), cls)

    return hook


def _checked(field: attrs.Attribute[Any], converter: cattrs.BaseConverter) -> Any:
    """Read a field. Its type is resolved only for a value, because few tables of the settings are set."""
    import cattrs

    def hook(value: object, kind: Any) -> object:
        if _is_raw(field):
            return value
        made: object = converter.structure(value, kind)
        if ABOUT in field.metadata:
            field.metadata[ABOUT].check(made)
        return made

    return cattrs.override(struct_hook=hook)


def _problems(error: BaseException, path: str) -> Iterator[str]:
    """One line per mistake, each with its path."""
    from cattrs.errors import ClassValidationError, ForbiddenExtraKeysError, IterableValidationError

    if isinstance(error, ClassValidationError | IterableValidationError):
        noted, rest = error.group_exceptions()
        for one, note in noted:
            key: str | int = getattr(note, "name", getattr(note, "index", ""))
            yield from _problems(one, f"{path}[{key}]" if isinstance(key, int) else _at(path, key))
        for one in rest:
            yield from _problems(one, path)
    elif isinstance(error, ForbiddenExtraKeysError):
        known = [one.name for one in attrs.fields(error.cl) if one.init]
        for key in sorted(error.extra_fields):
            near = nearest(key, known)
            yield f"{_at(path, key)}: unknown key" + (f" (did you mean `{near}`?)" if near else "")
    elif isinstance(error, BadValue):
        problem = error.message.removesuffix(".")
        if error.next_step.startswith("Use one of"):
            problem += f" (use{error.next_step[3:].removesuffix('.')})"
        yield f"{path}: {problem}" if path and not error.field.startswith(path) else problem
    elif isinstance(error, HoldfastError):
        yield str(error).removesuffix(".")
    else:
        text = str(error.args[0]) if error.args else type(error).__name__
        if isinstance(error, KeyError):
            yield f"{path or text}: missing"
        else:
            yield f"{path}: {text}" if path else text


def _at(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def stamp(moment: datetime) -> str:
    """ISO-8601 with offset; UTC is written ``Z``. Microseconds are kept."""
    return moment.isoformat().replace("+00:00", "Z")


def moment(text: str) -> datetime:
    """The reverse of :func:`stamp`; a time without offset counts as UTC. Raises: ValueError."""
    value = datetime.fromisoformat(text)
    return value if value.tzinfo else value.replace(tzinfo=UTC)
