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

import json
import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple
from zlib import crc32

from holdfast import models
from holdfast.errors import Refused
from holdfast.storage import CATEGORIES, FactTable, tombstone
from holdfast.text import untrusted

_CRC = re.compile(rb', "crc": "([0-9a-f]{8})"\}\r?$')
#: How each line begins that :func:`encode` writes.
BEGINNINGS: Final = (b'{"id": ', b'{"op": ')
#: Limit of a line. The longest names 100,000 evicted facts.
MOST_BYTES: Final = 4 << 20
_TEXTS: Final = ("id", "content", "category", "createdAt", "source")


class Operation(NamedTuple):
    """One line's effect. Facts are removed, then a fact may be added or changed in place. ``gone`` are tombstones."""

    fact: models.Fact | None = None
    update: bool = False
    leaves: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()


class FactIndex(FactTable):
    """The facts after all applied lines. ``gone`` has the tombstones of removed ones, the oldest first.

    A line that came by a pull acts on no fact ``is_known`` here. Its change of one waits in ``changes``, by id.
    """

    def __init__(self, is_known: Callable[[models.Fact], bool] = lambda _: True) -> None:
        super().__init__()
        self.gone: dict[str, None] = {}
        self.changes: dict[str, models.Fact] = {}
        self._is_known = is_known

    def addition(self, fact: models.Fact, limit: int) -> models.AddResult:
        if len(self) >= limit:
            limit += sum(not self._is_known(stored) for stored in self)
        return super().addition(fact, limit)

    def _has_known(self, fact_id: str) -> bool:
        return fact_id in self and self._is_known(self.get(fact_id))

    def follow(self, operation: Operation) -> None:
        """Apply one line. Raises: ValueError when a new fact's id is taken."""
        fact, update, leaves, gone = operation
        self.gone.update(dict.fromkeys(gone))
        if fact and (update or leaves) and not self._is_known(fact):
            leaves = tuple(fact_id for fact_id in leaves if not self._has_known(fact_id))
            if update and self._has_known(fact.id) and fact.content != self.get(fact.id).content:
                self.changes[fact.id] = fact
                fact = None
        if fact and not update and fact.id in self and fact.id not in leaves:
            raise ValueError(f"its id {fact.id!r} is taken by an earlier line")
        for fact_id in leaves:
            self.gone[tombstone(fact_id)] = None
            self.changes.pop(fact_id, None)
            self.remove(fact_id)
        if fact:
            self.gone.pop(tombstone(fact.id), None)
            self.put(fact)


def index(lines: Iterable[bytes]) -> FactIndex:
    """The facts after all whole ``lines``. The store reports a torn or damaged one."""
    facts = FactIndex()
    for line in filter(bytes.strip, lines):
        with suppress(ValueError):
            facts.follow(decode(line))
    return facts


def encode(operation: Operation) -> bytes:
    """The line, with its newline. Raises: Refused when the fact cannot be kept as text."""
    fact, update, leaves, gone = operation
    record: dict[str, object] = {"op": "update"} if update else {}
    if fact is not None:
        record |= {"id": fact.id, "content": fact.content, "category": fact.category, "confidence": fact.confidence}
        record |= {"createdAt": fact.created_at.isoformat().replace("+00:00", "Z"), "source": fact.source}
        if leaves:
            record["evicts"] = leaves
    else:
        record = {"op": "gone", "ids": gone} if gone else {"op": "delete", "id": leaves[0]}
    try:
        body = json.dumps(record, ensure_ascii=False)[:-1].encode()
    except UnicodeEncodeError as error:
        raise Refused("The fact holds a lone surrogate.", next_step="Remove it.") from error
    if len(body) > MOST_BYTES:
        raise Refused(f"The fact needs more than {MOST_BYTES:,} bytes.", next_step="Store a shorter one.")
    return body + b', "crc": "%08x"}\n' % crc32(body)


def decode(line: bytes) -> Operation:
    """Read a line without its newline. Raises: ValueError with the reason."""
    if len(line) > MOST_BYTES + 100:
        raise ValueError(f"it has more than {MOST_BYTES:,} bytes")
    line = line.removeprefix(BOM_UTF8)  # an editor may put it before the first line
    crc = _CRC.search(line)
    if crc and crc32(line[: crc.start()]) != int(crc[1], 16):
        raise ValueError('its "crc" does not fit; if edited on purpose, remove "crc" from the line')
    try:
        record = untrusted.from_json(line)
    except UnicodeDecodeError as error:
        raise ValueError("it is not UTF-8 text") from error
    except ValueError as error:
        raise ValueError(f"it is not JSON ({error})") from error
    if crc is None and isinstance(record, dict) and "crc" in record:
        raise ValueError('its "crc" is not a checksum at its end; if edited on purpose, remove "crc" from the line')
    try:
        return _operation(record)
    except OverflowError as error:
        raise ValueError(f"it holds a value that cannot be kept ({error})") from error


def _operation(record: object) -> Operation:
    if not isinstance(record, dict):
        raise ValueError("it is not a JSON object")  # noqa: TRY004 - one kind of error for a bad line
    record.pop("crc", None)
    op = record.pop("op", "add")
    if op == "delete":
        if not isinstance(record.get("id"), str):
            raise ValueError("id is not a string")
        return Operation(leaves=(record["id"],))
    if op == "gone":
        return Operation(gone=_ids(record, "ids"))
    if op not in ("add", "update"):
        raise ValueError(f"its op {op!r} is not known")
    leaves = _ids(record, "evicts")
    return Operation(fact=_fact(record), update=op == "update", leaves=leaves)


def _ids(record: dict[str, Any], key: str) -> tuple[str, ...]:
    ids = record.pop(key, [])
    if not isinstance(ids, list) or not all(isinstance(i, str) for i in ids):
        raise ValueError(f"{key} is not a list of ids")
    return tuple(ids)


def _fact(record: dict[str, Any]) -> models.Fact:
    record.setdefault("source", "")
    if wrong := {*_TEXTS, "confidence"} ^ record.keys():
        raise ValueError(f"{', '.join(sorted(wrong))} is missing or not known")
    if not_text := [key for key in _TEXTS if not isinstance(record[key], str)]:
        raise ValueError(f"{', '.join(not_text)} is not a string")
    confidence = record["confidence"]
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0 <= confidence <= 1:
        raise ValueError("confidence is not a number from 0 to 1")
    if not record["id"] or record["category"] not in CATEGORIES:
        raise ValueError(f"id is empty, or category is not one of {', '.join(CATEGORIES)}")
    at = datetime.fromisoformat(record.pop("createdAt"))  # without a zone it is taken as UTC (reading A13)
    at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    return models.Fact(**record | {"confidence": float(confidence), "created_at": at})
