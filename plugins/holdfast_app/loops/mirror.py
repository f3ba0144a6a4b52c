"""Keep a session in step with a loop's own message list: ``session.mirror``.

The session gets messages it lacks, and after a compaction drops the messages that the list dropped. Messages are
matched by their stored content, because lists have no ids and positions change when the list shrinks.
"""

from __future__ import annotations

import dataclasses
import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any

from holdfast.errors import FlushRefused
from holdfast.journal import capture
from holdfast_app.message_formats import messages as plain
from holdfast_app.message_formats.leaves import says
from holdfast_app.message_formats.reading import Reading

if TYPE_CHECKING:
    from holdfast.models import Message
    from holdfast.session.session import Session
    from holdfast_app.base import Services

    #: Role, tool and text.
    Key = tuple[str, str, str]


def parse(rows: Iterable[object]) -> list[Message]:
    """The messages in ``rows``: dicts of the Chat Completions, the Messages or the Responses interface, or an SDK's own
    objects. Its messages contain every string in a row. A string over the documented size becomes an excerpt with
    its digest.

    The loop's instructions (roles ``system`` and ``developer`` before anything else) are left out. Raises: FlushRefused
    for a row that cannot be kept.
    """
    reading = Reading()
    for number, row in enumerate(rows):
        try:
            table = _table(row)
            if not says(table.get("id")):
                table.pop("id", None)  # equal ids would merge two messages
            if not plain.take(table, number, reading):
                raise _refused(number, "has an unknown form")
        except RecursionError as error:
            raise _refused(number, "is nested too deeply, or holds itself") from error
        except TypeError as error:
            raise _refused(number, f"holds a value that JSON cannot represent ({error})") from error
    return reading.kept


def _refused(number: int, why: str) -> FlushRefused:
    return FlushRefused(
        f"Message {number} of the context {why}, so it cannot be kept. Nothing was dropped.",
        next_step='Pass rows like {"role": "user", "content": "..."}.',
        target="journal",
    )


class Mirror:
    """One session and its message list. Threads may share it."""

    def __init__(self, services: Services, session: Session) -> None:
        self._services = services
        self._session = session
        self._carried: Counter[Key] = (
            Counter()
        )  # in the list but not in the session: messages that a compaction made or pinned
        self._stored: dict[Key, Key] = {}  # original form -> stored form, for the messages in the list
        self._lock = threading.Lock()

    def keep(self, rows: Iterable[object]) -> list[Message]:
        """Journal the messages of ``rows``, the whole list, that the session lacks; returns them as stored. Cheap to
        call after each turn. Raises: FlushRefused for a row of no known form; Refused, PluginError; Unavailable."""
        return self.add(parse(rows))

    def add(self, said: Sequence[Message]) -> list[Message]:
        """:meth:`keep` for parsed rows."""
        with self._lock:
            held = Counter(_key(m) for m in self._session.messages) + self._carried
            new = []
            for m, key in zip(said, self._keys(said), strict=True):
                if held[key] > 0:
                    held[key] -= 1
                    continue
                at = m.at if m.at.timestamp() else None  # a row without a time uses the epoch
                new.append(self._session.add(m.role, m.text, at=at, tool=m.tool, failed=m.failed))
            return new

    def follow(self, left: Sequence[Message]) -> None:
        """Drop the messages before the span that ``left`` ends with. This passes the gate again, which is cheap when no
        messages arrived since. Raises: FlushRefused. Then all messages stay in the session."""
        with self._lock:
            held = [_key(m) for m in self._session.messages]
            keys = self._keys(left)
            kept = self._session.compact(keep_last=len(held) - _kept_from(held, keys))
            self._carried = Counter(keys) - Counter(_key(m) for m in kept)

    def _keys(self, said: Sequence[Message]) -> list[Key]:
        """The key that matches each message to its stored form: redacted, without this machine's paths."""
        known, self._stored = self._stored, {}
        for m in said:
            raw = _key(m)
            self._stored[raw] = known.get(raw) or self._as_stored(m)
        return [self._stored[_key(m)] for m in said]

    def _as_stored(self, message: Message) -> Key:
        record: Mapping[str, Any] = capture.message_record(
            self._services.gate, self._services.root, message.role, message.text, at=message.at, tool=message.tool
        )
        return message.role, record.get("tool", ""), record["text"].strip()


def _key(message: Message) -> Key:
    return message.role, message.tool, message.text.strip()


def _kept_from(held: Sequence[Key], keys: Sequence[Key]) -> int:
    """The start in ``held`` of the span that ``keys`` ends with. Messages missing from either list are skipped. A
    key pinned earlier in ``keys`` does not count, because all of ``held`` would stay for it."""
    known = set(held)
    start = len(held)
    for key in reversed([key for key in keys if key in known]):
        if start == len(held):
            start = len(held) - 1 - held[::-1].index(key)
        elif start and held[start - 1] == key:
            start -= 1
        else:
            break
    return start


def _table(row: object) -> dict[str, object]:
    """A message as a plain dict; empty for anything else."""
    value = _plain(row)
    return value if isinstance(value, dict) else {}


def _plain(value: object) -> object:
    """``value`` as JSON data, with the SDKs' models as dicts. Raises: TypeError for values that JSON cannot
    represent."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(one) for one in value]
    if callable(dump := getattr(value, "model_dump", None)):
        return _plain(dump())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {one.name: _plain(getattr(value, one.name)) for one in dataclasses.fields(value)}
    if isinstance(value, Enum):
        return _plain(value.value)
    if isinstance(value, bytes | bytearray):
        raise TypeError("bytes")
    if isinstance(value, Iterable):
        return [_plain(one) for one in value]
    if type(value).__str__ is not object.__str__:  # a time, a decimal number, an UUID
        return str(value)
    raise TypeError(type(value).__name__)
