"""One line of ``facts.jsonl``: a new fact, or a change to a fact, as JSON that a person can read and edit.

    {"id": "fact_0a1b2c3d", "content": "...", "category": "goal", "confidence": 0.9,
     "createdAt": "2026-01-31T12:00:00Z", "source": "", "evicts": ["fact_..."], "crc": "89abcdef"}
    {"op": "update", "id": ..., all keys of the fact as it is now, "crc": "..."}
    {"op": "delete", "id": "fact_0a1b2c3d", "crc": "..."}
    {"op": "gone", "ids": ["0123456789abcdef"], "crc": "..."}

(In the file this is one line.) ``evicts`` names the facts evicted to make room, so one write holds both. ``gone`` has
the tombstones of facts whose lines a rewrite dropped, because in a git merge absence does not mean removal.
``crc`` is the CRC-32 of the line before it. A line without ``crc``, typed by a person, is accepted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from json.encoder import encode_basestring as quoted
from math import isfinite
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from zlib import crc32

from holdfast.errors import Refused
from holdfast.facts.factrules import CATEGORIES
from holdfast.text import untrusted

if TYPE_CHECKING:
    from holdfast.models import Fact

_CRC = re.compile(rb', "crc": "([0-9a-f]{8})"\}\r?')
_END = b', "crc": "%08x"}'
_LINE = b"%b" + _END + b"\n"
_CRC_SIZE = len(b', "crc": "89abcdef"}\r')
_SEAL = _CRC_SIZE - 1
#: How each line begins that :func:`encode` writes.
BEGINNINGS: Final = (b'{"id": ', b'{"op": ')
_UPDATE = '"op": "update", '
_ENTRY = '{%s"id": %s, "content": %s, "category": %s, "confidence": %r, "createdAt": "%s", "source": %s'
_TWO_DIGITS: Final = tuple(f"{number:02}" for number in range(100))
_FACT_KEYS = frozenset({"id", "content", "category", "confidence", "createdAt", "source"})
_REQUIRED = _FACT_KEYS - {"source"}
_TEXTS = ("id", "content", "category", "createdAt", "source")
_ONLY_TEXT = {str}
_texts_of: Callable[[dict[str, Any]], tuple[str, ...]] = itemgetter(*_TEXTS)
#: Lines that :func:`decode_all` reads in one go.
_TOGETHER: Final = 250


class Operation(NamedTuple):
    """One line's effect. Facts are removed, then a fact may be added or changed in place. ``gone`` are tombstones."""

    fact: Fact | None = None
    update: bool = False
    leaves: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()


def encode(operation: Operation) -> bytes:
    """The line, with its newline. Raises: Refused when the fact cannot be kept as text; ValueError when its confidence
    is not a finite number."""
    fact, update, leaves, gone = operation
    if fact is not None:
        return encode_fact(fact, leaves, _UPDATE if update else "")
    said = f'"gone", "ids": [{", ".join(map(quoted, gone))}]' if gone else f'"delete", "id": {quoted(leaves[0])}'
    body = f'{{"op": {said}'.encode()
    return _LINE % (body, crc32(body))


def encode_fact(fact: Fact, leaves: Sequence[str] = (), op: str = "") -> bytes:
    """The line for a new fact, with its time in UTC, that evicts ``leaves``. Raises: as :func:`encode`."""
    if not isfinite(fact.confidence):
        raise ValueError("confidence is not a finite number")
    # Written manually, since json builds a new encoder at each call for text that is not ASCII.
    text = _ENTRY % (
        op,
        quoted(fact.id),
        quoted(fact.content),
        quoted(fact.category),
        float(fact.confidence),
        _moment(fact.created_at),
        quoted(fact.source),
    )
    if leaves:
        text += f', "evicts": [{", ".join(map(quoted, leaves))}]'
    try:
        body = text.encode()
    except UnicodeEncodeError as error:
        raise Refused("The fact holds a lone surrogate.", next_step="Remove it.") from error
    return _LINE % (body, crc32(body))


def _moment(at: datetime) -> str:
    """``at``, in UTC, like ``isoformat`` but with ``Z``, and faster, as its caches are cold right after a flush."""
    two, year, fraction = _TWO_DIGITS, at.year, at.microsecond
    text = (
        f"{two[year // 100]}{two[year % 100]}-{two[at.month]}-{two[at.day]}"
        f"T{two[at.hour]}:{two[at.minute]}:{two[at.second]}"
    )
    if fraction:
        return f"{text}.{two[fraction // 10_000]}{two[fraction // 100 % 100]}{two[fraction % 100]}Z"
    return text + "Z"


def _seal(body: bytes) -> bytes:
    return _END % crc32(body)


def decode_all(lines: Sequence[bytes]) -> Iterator[Operation | None]:
    """Like :func:`decode` for each line in turn, but faster. None for a blank line. Raises: as that, at the line."""
    for start in range(0, len(lines), _TOGETHER):
        part = lines[start : start + _TOGETHER]
        yield from _plain(part) or (decode(line) if line.strip() else None for line in part)


def _plain(lines: Sequence[bytes]) -> list[Operation] | None:
    """The operations, read as one array, when every line has the common form of :func:`encode`. Otherwise None, and
    :func:`decode` finds the fault, if there is one."""
    for line in lines:
        if not line.startswith((b'{"id": ', b'{"op": ')) or b"\\u" in line:
            return None
        if line[-_SEAL:] != _seal(line[:-_SEAL]):
            return None
    try:
        # JSON strings contain no raw line break, so a line cannot reach into the next one.
        records = untrusted.from_json("[" + b",\n".join(lines).decode("utf-8") + "]")
        return [_operation(record) for record in records] if len(records) == len(lines) else None
    except (ValueError, OverflowError):
        return None


def decode(line: bytes) -> Operation:
    """Read a line without its newline. Raises: ValueError with the reason."""
    start = len(line) - _CRC_SIZE + (not line.endswith(b"\r"))
    crc = _CRC.fullmatch(line, start) if start > 0 else None
    if crc and crc32(line[: crc.start()]) != int(crc[1], 16):
        raise ValueError('its "crc" does not fit; if it was edited on purpose, remove "crc" from the line')
    try:
        record = untrusted.from_json(line)
    except UnicodeDecodeError as error:
        raise ValueError("it is not UTF-8 text") from error
    except ValueError as error:
        raise ValueError(f"it is not JSON ({error})") from error
    if crc is None and isinstance(record, dict) and "crc" in record:
        raise ValueError(
            'its "crc" is not a checksum at its end; if it was edited on purpose, remove "crc" from the line'
        )
    try:
        operation = _operation(record)
        if operation.fact and b"\\u" in line:
            encode(operation)  # JSON can spell a lone surrogate, UTF-8 cannot
    except (OverflowError, Refused) as error:
        raise ValueError(f"it holds a value that cannot be kept ({error})") from error
    return operation


def _operation(record: object) -> Operation:
    if not isinstance(record, dict):
        raise ValueError("it is not a JSON object")  # noqa: TRY004 - one kind of error for a bad line
    record.pop("crc", None)
    if record.keys() == _FACT_KEYS:
        return Operation(_fact(record))
    op = record.pop("op", "add")
    if op == "delete":
        return Operation(leaves=(_text(record, "id"),))
    if op == "gone":
        return Operation(gone=_ids(record, "ids"))
    if op not in ("add", "update"):
        raise ValueError(f"its op {op!r} is not known")
    leaves = _ids(record, "evicts")
    return Operation(fact=_fact(record), update=op == "update", leaves=leaves)


def _ids(record: dict[str, object], key: str) -> tuple[str, ...]:
    ids = record.pop(key, [])
    if not isinstance(ids, list) or not all(isinstance(i, str) for i in ids):
        raise ValueError(f"{key} is not a list of ids")
    return tuple(ids)


def _fact(record: dict[str, object]) -> Fact:
    from holdfast.models import Fact  # brings attrs, which a store without facts does without

    if record.keys() != _FACT_KEYS:
        if not record.keys() >= _REQUIRED:
            raise ValueError(f"{', '.join(sorted(_REQUIRED - record.keys()))} is missing")
        if not record.keys() <= _FACT_KEYS:
            raise ValueError(f"{', '.join(sorted(record.keys() - _FACT_KEYS))} is not known")
        record.setdefault("source", "")
    confidence = record["confidence"]
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0 <= confidence <= 1:
        raise ValueError("confidence is not a number from 0 to 1")
    texts = _texts_of(record)
    if set(map(type, texts)) != _ONLY_TEXT:
        raise ValueError(f"{next(key for key in _TEXTS if type(record[key]) is not str)} is not a string")
    fact_id, content, category, created_at, source = texts
    if not fact_id:
        raise ValueError("id is empty")
    if category not in CATEGORIES:
        raise ValueError(f"category is not one of {', '.join(CATEGORIES)}")
    return Fact(
        id=fact_id,
        content=content,
        category=category,
        confidence=float(confidence),
        created_at=utc(datetime.fromisoformat(created_at)),
        source=source,
    )


def _text(record: dict[str, object], key: str) -> str:
    value = record.get(key)
    if not isinstance(value, str):
        raise ValueError(f"{key} is not a string")  # noqa: TRY004 - one kind of error for a bad line
    return value


def utc(at: datetime) -> datetime:
    """The same instant in UTC; a time without a zone is taken as UTC. Source: reading A13."""
    if at.tzinfo is UTC:
        return at
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
