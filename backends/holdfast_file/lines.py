"""One line of ``facts.jsonl``: a fact that entered, or a change to one, as JSON that a person can read and edit.

    {"id": "fact_0a1b2c3d", "content": "...", "category": "goal", "confidence": 0.9,
     "createdAt": "2026-01-31T12:00:00Z", "source": "", "evicts": ["fact_..."], "crc": "89abcdef"}
    {"op": "update", "id": ..., all keys of the fact as it is now, "crc": "..."}
    {"op": "delete", "id": "fact_0a1b2c3d", "crc": "..."}

(Here on two lines, there on one.) ``evicts`` names the facts that leave as this one enters, so that both are one
write. ``crc`` is the CRC-32 of the line up to it; a line without one, typed by hand, is taken as it is.
"""

from __future__ import annotations

import json
import math
import re
import zlib
from datetime import UTC, datetime
from typing import NamedTuple

from holdfast.errors import Refused
from holdfast.models import Fact

_CRC = re.compile(rb', "crc": "([0-9a-f]{8})"\}\r?')
_CRC_SIZE = len(b', "crc": "89abcdef"}\r')
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
_FACT_KEYS = frozenset({"id", "content", "category", "confidence", "createdAt", "source"})
_REQUIRED = _FACT_KEYS - {"source"}


class Operation(NamedTuple):
    """What one line does: facts leave, then perhaps one enters or is changed in its place."""

    fact: Fact | None = None
    update: bool = False
    leaves: tuple[str, ...] = ()


def encode(operation: Operation) -> bytes:
    """The line, with its newline. Raises: Refused when the fact cannot be kept as text."""
    fact = operation.fact
    record: dict[str, object] = {}
    if fact is None:
        record = {"op": "delete", "id": operation.leaves[0]}
    else:
        if operation.update:
            record["op"] = "update"
        record.update(
            id=fact.id,
            content=fact.content,
            category=fact.category,
            confidence=fact.confidence,
            createdAt=fact.created_at.isoformat().replace("+00:00", "Z"),
            source=fact.source,
        )
        if operation.leaves:
            record["evicts"] = list(operation.leaves)
    try:
        body = _ENCODER.encode(record).encode("utf-8")[:-1]
    except UnicodeEncodeError as error:
        raise Refused("The fact holds a lone surrogate.", next_step="Remove it.") from error
    return body + b', "crc": "%08x"}\n' % zlib.crc32(body)


def decode(line: bytes) -> Operation:
    """Read a line without its newline. Raises: ValueError saying what is wrong with it."""
    start = len(line) - _CRC_SIZE + (not line.endswith(b"\r"))
    crc = _CRC.fullmatch(line, start) if start > 0 else None
    if crc and zlib.crc32(line[: crc.start()]) != int(crc[1], 16):
        raise ValueError('its "crc" does not fit; if it was edited on purpose, remove "crc" from the line')
    try:
        record = json.loads(line)
    except UnicodeDecodeError as error:
        raise ValueError("it is not UTF-8 text") from error
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    except ValueError as error:
        raise ValueError(f"it is not JSON ({error})") from error
    if not isinstance(record, dict):
        raise ValueError("it is not a JSON object")  # noqa: TRY004 - one kind of error for a bad line
    record.pop("crc", None)
    op = record.pop("op", "add")
    if op == "delete":
        return Operation(leaves=(_text(record, "id"),))
    if op not in ("add", "update"):
        raise ValueError(f"its op {op!r} is not known")
    leaves = record.pop("evicts", [])
    if not isinstance(leaves, list) or not all(isinstance(i, str) for i in leaves):
        raise ValueError("evicts is not a list of ids")
    try:
        fact = _fact(record)
        if b"\\u" in line:
            encode(Operation(fact=fact))  # JSON can spell a lone surrogate, UTF-8 cannot
    except (OverflowError, Refused) as error:
        raise ValueError(f"it holds what cannot be kept ({error})") from error
    return Operation(fact=fact, update=op == "update", leaves=tuple(leaves))


def _fact(record: dict[str, object]) -> Fact:
    if not record.keys() >= _REQUIRED:
        raise ValueError(f"{', '.join(sorted(_REQUIRED - record.keys()))} is missing")
    if not record.keys() <= _FACT_KEYS:
        raise ValueError(f"{', '.join(sorted(record.keys() - _FACT_KEYS))} is not known")
    confidence = record["confidence"]
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not math.isfinite(confidence):
        raise ValueError("confidence is not a number")
    if not _text(record, "id"):
        raise ValueError("id is empty")
    return Fact(
        id=_text(record, "id"),
        content=_text(record, "content"),
        category=_text(record, "category"),
        confidence=float(confidence),
        created_at=utc(datetime.fromisoformat(_text(record, "createdAt"))),
        source=_text(record, "source") if "source" in record else "",
    )


def _text(record: dict[str, object], key: str) -> str:
    value = record.get(key)
    if not isinstance(value, str):
        raise ValueError(f"{key} is not a text")  # noqa: TRY004 - one kind of error for a bad line
    return value


def utc(at: datetime) -> datetime:
    """The same instant in UTC; a time without a zone is taken as UTC. Source: reading A13."""
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
