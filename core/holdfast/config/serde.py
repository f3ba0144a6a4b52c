"""External data as values and back, with errors that name the file."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from holdfast.errors import ConfigError, Corrupt, HoldfastError
from holdfast.text import untrusted
from holdfast.text.times import moment, stamp

if TYPE_CHECKING:
    from holdfast.config.values import Config
    from holdfast.models import Fact, Payload, Receipt

__all__ = [
    "config_from",
    "fact_out",
    "flushed_payload",
    "moment",
    "payload_from",
    "payload_from_json",
    "receipt_from",
    "stamp",
    "structure",
    "to_json",
    "unstructure",
]

#: Names of keys in the settings that hold a secret.
_KEY_NAMES = frozenset(
    ("key", "apikey", "api_key", "token", "apitoken", "api_token", "auth_token", "access_token", "secret", "password")
)

T = TypeVar("T")


def structure(
    value: object,
    cls: type[T],
    *,
    what: str,
    error: type[HoldfastError] = ConfigError,
    next_step: str = "",
) -> T:
    """``value`` as a ``cls``. Raises: ``error``, naming ``what`` and every bad key with its path."""
    from holdfast.config import converter

    try:
        return converter.structure(value, cls)
    except converter.Invalid as caught:
        lines = caught.problems
        shown = "; ".join(lines[:8]) + (f"; and {len(lines) - 8} more" if len(lines) > 8 else "")
        step = next_step or f"Correct {'it' if len(lines) == 1 else 'these'}, then try again."
        raise error(f"{what} is not valid: {shown}.", next_step=step) from caught


def unstructure(value: Any) -> Any:
    """A value as plain dicts, lists, strings and numbers, ready for JSON or TOML."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, datetime):
        return stamp(value)
    if attrs.has(type(value)):
        from holdfast.models.curated import CuratedDecision

        if isinstance(value, CuratedDecision):
            return _decision(value)
        return {one.name: unstructure(getattr(value, one.name)) for one in attrs.fields(type(value)) if one.init}
    if isinstance(value, Mapping):
        return {unstructure(key): unstructure(one) for key, one in value.items()}
    if isinstance(value, Collection) and not isinstance(value, str):
        return [unstructure(one) for one in value]
    return value


def _decision(value: Any) -> object:
    """As people write it: `none`, and an entry that replaces nothing as a string."""
    if value.is_none:
        return "none"
    lines = (("memory", value.memory), ("user", value.user))
    return {
        name: [unstructure(one) if one.replaces else one.text for one in entries] for name, entries in lines if entries
    }


def to_json(value: object, *, indent: int | None = 2) -> str:
    """A value as JSON text; keys in order of definition, non-ASCII kept."""
    import json

    return json.dumps(unstructure(value), ensure_ascii=False, indent=indent)


def config_from(data: Mapping[str, object], source: str) -> Config:
    """The configuration from a parsed table. Raises: ConfigError."""
    from holdfast.config.values import config_type

    if not data:  # most projects; importing cattrs would slow each start
        return config_type()()
    _refuse_keys(data)
    return structure(data, config_type(), what=source)


def _refuse_keys(data: Mapping[str, object]) -> None:
    """Refuse a key in ``[storage]`` or a plugin's table. Raises: ConfigError, without the key's value."""
    plugins = data.get("plugins")
    tables = {f"plugins.{name}": table for name, table in plugins.items()} if isinstance(plugins, Mapping) else {}
    for path, table in {"storage": data.get("storage"), **tables}.items():
        for key in table if isinstance(table, Mapping) else ():
            if key.lower().replace("-", "_") in _KEY_NAMES:
                raise ConfigError(
                    f"{path}.{key}: a key does not belong in the settings, because others can read the file.",
                    next_step="Remove it, and set the key with `holdfast auth set` or in the environment.",
                )


def payload_from(data: object, source: str = "The payload") -> Payload:
    """A payload from parsed JSON. Absent keys stay None; callers must not pass ``derived``.

    Raises: ConfigError naming each bad key.
    """
    from holdfast.models import Payload

    if isinstance(data, Mapping):
        data = {k: v for k, v in data.items() if k not in ("derived", "sources")}
    if not isinstance(data, Mapping):
        raise ConfigError(f"{source} is not a JSON object.", next_step='Start it with {"objective": "..."}.')
    return structure(data, Payload, what=source)


def flushed_payload(record: Mapping[str, Any]) -> Payload:
    """The complete payload of a flush as the journal recorded it, with its ``derived`` and ``sources``.

    Raises: ConfigError when it cannot be read.
    """
    made = payload_from(record["payload"])
    return made.evolve(derived=record["derived"], sources=record.get("sources", ()))


def payload_from_json(text: str, source: str = "The payload") -> Payload:
    """A payload from JSON text. Raises: ConfigError with line and column when it is not JSON."""
    try:
        data = untrusted.from_json(text)
    except ValueError as error:
        raise ConfigError(f"{source} is not valid JSON: {error}.", next_step="Correct it and try again.") from error
    return payload_from(data, source)


def receipt_from(data: object) -> Receipt:
    """A receipt from a journal record. Raises: Corrupt."""
    from holdfast.models import Receipt

    return structure(data, Receipt, what="A stored receipt", error=Corrupt)


def fact_out(fact: Fact) -> dict[str, object]:
    """A fact in its published form: id, content, category, confidence, createdAt, source."""
    return {
        "id": fact.id,
        "content": fact.content,
        "category": str(fact.category),
        "confidence": fact.confidence,
        "createdAt": stamp(fact.created_at),
        "source": fact.source,
    }
