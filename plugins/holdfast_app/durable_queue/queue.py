"""A durable queue in a private file, with one checksummed line for each item, in order.

It holds items to publish, ship to a server or extract. A change replaces the file under its lock, and
:mod:`holdfast_app.durable_queue.tally` counts its lines, so that removed lines are noticed. A line that cannot be read
is kept byte for byte by every change.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

from holdfast.config.serde import structure, unstructure
from holdfast.errors import Corrupt
from holdfast.fs import durable, private, records
from holdfast_app.durable_queue import tally


class HasId(Protocol):
    """An item, which is known by its id."""

    @property
    def id(self) -> str: ...


T = TypeVar("T", bound=HasId)
#: An unreadable line's id starts so.
DAMAGED: Final = "damaged-"


class Row(NamedTuple, Generic[T]):
    """A line as it is in the file, and its item."""

    line: bytes
    item: T


class DurableQueue(Generic[T]):
    """The queue at ``path``, with items of an attrs class ``kind``. ``what`` names one in errors, and ``damaged`` makes
    the item that represents an unreadable line. Every method may raise Unavailable."""

    def __init__(self, path: str, kind: type[T], *, what: str, damaged: Callable[[bytes], T]) -> None:
        self.path = path
        self._kind = kind
        self._what = what
        self._damaged = damaged

    def rows(self) -> list[Row[T]]:
        """The lines, in order; none when the file is missing."""
        return [Row(line, self._parsed(line)) for line in self._lines()]

    def items(self) -> list[T]:
        """The items, in order. An unreadable line is the item that represents it, never omitted."""
        return [row.item for row in self.rows()]

    def count(self) -> int:
        """The number of lines, without parsing them."""
        return len(self._lines())

    def change(self, change: Callable[[list[Row[T]]], Sequence[Row[T]]]) -> None:
        """Replace the rows by ``change(rows)``, durably and under the lock. Without a difference only rows whose writer
        got no answer are written."""
        private.make(os.path.dirname(self.path))
        with private.lock(self.path):
            before = self.rows()
            lines = [row.line for row in change(list(before))]
            if lines != [row.line for row in before] or tally.has_unanswered(self.path):
                tally.replace(self.path, b"".join(line if line.endswith(b"\n") else line + b"\n" for line in lines))

    def put(self, items: Iterable[T], *, replace: bool = False) -> None:
        """Append items, durable on return. One whose id waits already is not added again, or takes its place
        (``replace``)."""
        new = {item.id: self.row(item) for item in items}

        def change(rows: list[Row[T]]) -> list[Row[T]]:
            known = {row.item.id for row in rows}
            added = (row for row in new.values() if row.item.id not in known)
            return [*(new.get(row.item.id, row) if replace else row for row in rows), *added]

        self.change(change)

    def remove(self, ids: Collection[str]) -> None:
        """Remove items durably. A missing item is not an error."""
        self.update(lambda item: None if item.id in ids else item)

    def update(self, change: Callable[[T], T | None]) -> None:
        """Replace each item by ``change(item)``, like :meth:`change`. None removes an item."""

        def changed(row: Row[T]) -> list[Row[T]]:
            item = change(row.item)
            return [] if item is None else [row if item is row.item else self.row(item)]

        self.change(lambda rows: [new for row in rows for new in changed(row)])

    def sending(self, *, timeout_s: float) -> durable.Lock:
        """The lock for sending items. Raises: Unavailable when another process still sends after ``timeout_s``."""
        private.make(os.path.dirname(self.path))
        return durable.lock(f"{os.path.splitext(self.path)[0]}-sending.lock", timeout_s=timeout_s)

    @staticmethod
    def row(item: T) -> Row[T]:
        """``item`` as a new line."""
        return Row(records.encode(unstructure(item)), item)

    def _lines(self) -> list[bytes]:
        return (private.read(self.path) or b"").splitlines(keepends=True)

    def _parsed(self, line: bytes) -> T:
        try:
            return structure(records.decode(line.rstrip(b"\n")), self._kind, what=self._what, error=Corrupt)
        except Corrupt:
            return self._damaged(line)


def damaged_id(line: bytes) -> str:
    """An unreadable line's id, the same at each reading."""
    return f"{DAMAGED}{zlib.crc32(line.rstrip()):08x}"
