"""Durable lists in private files, one checksummed line for each item, in order, and their line counts.

The queue holds items to publish, ship to a server or extract. A change replaces the file under its lock. A line that
cannot be read is kept byte for byte by every change.

The number of acknowledged lines is in ``NAME.mark`` next to ``NAME.jsonl``. It reveals removed lines and removed lists.
A mark is written after its list and not flushed, so after a power cut it can show too few lines. Before a list becomes
shorter, its mark is lowered durably. Code that changes a list holds its lock, :func:`holdfast.fs.private.lock`.
"""

import json
import os
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar

from holdfast.config.serde import structure, unstructure
from holdfast.errors import Corrupt
from holdfast.fs import durable, private, records, safeopen
from holdfast.text import untrusted
from holdfast_file import mark as marks
from holdfast_file.mark import Mark

#: Maximum size of a log that is cut to its newest half.
MAX_LOG_BYTES: Final = 1_000_000


def rows_of(path: str) -> Iterator[Any]:
    """The JSON values of a private file's lines. Unreadable lines are skipped. Raises: Unavailable."""
    with durable.reporting(path, "read"), suppress(FileNotFoundError), safeopen.reader(path) as file:
        for line in file:
            with suppress(ValueError):
                yield untrusted.from_json(line)


def path_of(path: str) -> str:
    return os.path.splitext(path)[0] + ".mark"


def append(path: str, data: bytes, *, flush: bool = True) -> None:
    """:func:`holdfast.fs.durable.append` for whole lines. Lines without an answer go to a new file with them, as their
    flush may have failed. The caller holds the lock. Raises: Unavailable."""
    before = marks.read(path_of(path))
    if marks.after(before, path) != b"":
        replace(path, (private.read(path) or b"") + data)
        return
    end = durable.append(path, data, flush=flush) + len(data)
    marks.note(path_of(path), Mark(end, marks.last_line(data), before.items + _count(data), before.short))


def log(path: str, lines: Iterable[str], *, flush: bool = True, most_bytes: int | None = None) -> None:
    """Append lines under the list's lock. Over ``most_bytes`` it is first halved. Raises: Unavailable."""
    private.make(os.path.dirname(path))
    with private.lock(path):
        if most_bytes is not None and len(whole := private.read(path) or b"") > most_bytes:
            replace(path, whole[whole.find(b"\n", len(whole) // 2) + 1 :])
        # A line that a crash truncated must not corrupt the first new one.
        append(path, "\n".join(["", *lines, ""]).encode(), flush=flush)


def replace(path: str, data: bytes) -> None:
    """Replace the list with ``data``; an empty list has no file. The caller holds the lock. Raises: Unavailable."""
    before = marks.read(path_of(path))
    short, lines = _short(before, private.read(path) or b""), _count(data)
    if lines < before.items:
        marks.put(path_of(path), Mark(short=short))
    if data:
        durable.replace(path, data)
    else:
        durable.remove(path)
    if lines or short:
        marks.note(path_of(path), Mark(len(data), marks.last_line(data), lines, short))
    else:
        durable.remove(path_of(path))


def missing(path: str) -> int:
    """The number of acknowledged lines that are missing. Reads only a few bytes if none are. Raises: Unavailable."""
    mark = marks.read(path_of(path))
    if marks.after(mark, path) is not None:
        return mark.short
    with private.lock(path):  # otherwise another process may be rewriting it right now
        return _short(marks.read(path_of(path)), private.read(path) or b"")


def accept(path: str) -> None:
    """Accept the list as it is, so that nothing counts as missing from here on. Raises: Unavailable."""
    with private.lock(path):
        whole = private.read(path) or b""
        marks.put(path_of(path), Mark(len(whole), marks.last_line(whole), _count(whole)))


def _short(mark: Mark, whole: bytes) -> int:
    return mark.short if mark.fits(whole) else mark.short + max(0, mark.items - _count(whole))


def _count(data: bytes) -> int:
    return sum(1 for line in data.split(b"\n") if line.strip())


V = TypeVar("V")


class Log(Generic[V]):
    """Objects of an attrs class ``kind`` as lines of JSON without empty members, oldest first. One longer than
    ``most_bytes`` is cut to its newest half. Every method may raise Unavailable."""

    def __init__(self, path: str, kind: type[V], *, most_bytes: int | None = None) -> None:
        self._path, self._kind, self._most_bytes = path, kind, most_bytes

    def add(self, *values: V, flush: bool = True) -> None:
        """Append objects, durably with ``flush``."""
        rows = ({key: value for key, value in unstructure(v).items() if value not in ("", [], None)} for v in values)
        log(self._path, (json.dumps(row, ensure_ascii=False) for row in rows), flush=flush, most_bytes=self._most_bytes)

    def entries(self, rows: Iterable[object] | None = None) -> Iterator[V]:
        """The objects in the file, or in ``rows``. Unreadable ones (truncated by a crash) are skipped."""
        for row in rows_of(self._path) if rows is None else rows:
            with suppress(Corrupt):
                yield structure(row, self._kind, what="A line of the log", error=Corrupt)


class HasId(Protocol):
    """An item, which is known by its id."""

    @property
    def id(self) -> str: ...


T = TypeVar("T", bound=HasId)
#: An unreadable line's id starts so.
DAMAGED: Final = "damaged-"


class Row(NamedTuple, Generic[T]):
    line: bytes
    item: T | None


class DurableQueue(Generic[T]):
    """The queue at ``path``, with items of an attrs class ``kind``. ``damaged`` makes the item, if any, that represents
    an unreadable line. Every method may raise Unavailable."""

    def __init__(self, path: str, kind: type[T], *, damaged: Callable[[bytes], T | None]) -> None:
        self.path, self._kind, self._damaged = path, kind, damaged

    def rows(self) -> list[Row[T]]:
        """The lines, in order; none when the file is missing."""
        lines = (private.read(self.path) or b"").splitlines(keepends=True)
        return [Row(line, self._parsed(line)) for line in lines]

    def items(self) -> list[T]:
        """The items, in order. An unreadable line is the item that represents it."""
        return [row.item for row in self.rows() if row.item]

    def change(self, change: Callable[[list[Row[T]]], Sequence[Row[T]]]) -> None:
        """Replace the rows by ``change(rows)``, durably and under the lock. Without a difference only rows whose writer
        got no answer are written."""
        private.make(os.path.dirname(self.path))
        with private.lock(self.path):
            before = self.rows()
            lines = [row.line for row in change(list(before))]
            if lines != [row.line for row in before] or marks.after(marks.read(path_of(self.path)), self.path):
                replace(self.path, b"".join(line if line.endswith(b"\n") else line + b"\n" for line in lines))

    def put(self, items: Iterable[T], *, renew: bool = False) -> None:
        """Append items, durable on return. A waiting id is not added again, or is replaced (``renew``)."""
        new = {item.id: self.row(item) for item in items}

        def change(rows: list[Row[T]]) -> list[Row[T]]:
            known = {row.item.id for row in rows if row.item}
            added = (row for key, row in new.items() if key not in known)
            return [*(new.get(row.item.id, row) if renew and row.item else row for row in rows), *added]

        self.change(change)

    def remove(self, ids: Collection[str]) -> None:
        """Remove items durably. A missing item is not an error."""
        self.update(lambda item: None if item.id in ids else item)

    def update(self, change: Callable[[T], T | None]) -> None:
        """Replace each item by ``change(item)``, like :meth:`change`. None removes an item."""

        def changed(row: Row[T]) -> list[Row[T]]:
            item = change(row.item) if row.item else None
            return [row] if item is row.item else [self.row(item)] if item else []

        self.change(lambda rows: [new for row in rows for new in changed(row)])

    def sending(self, *, timeout_s: float) -> durable.Lock:
        """The lock for sending items. Raises: Unavailable when another process still sends after ``timeout_s``."""
        private.make(os.path.dirname(self.path))
        return durable.lock(f"{os.path.splitext(self.path)[0]}-sending.lock", timeout_s=timeout_s)

    @staticmethod
    def row(item: T) -> Row[T]:
        return Row(records.encode(unstructure(item)), item)

    def _parsed(self, line: bytes) -> T | None:
        with suppress(Corrupt):
            return structure(records.decode(line.rstrip(b"\n")), self._kind, what="A line of the queue", error=Corrupt)
        return self._damaged(line)


def damaged_id(line: bytes) -> str:
    """An unreadable line's id, the same at each reading."""
    return f"{DAMAGED}{zlib.crc32(line.rstrip()):08x}"
