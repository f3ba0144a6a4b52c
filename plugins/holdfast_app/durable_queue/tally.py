"""The number of acknowledged lines of a private list: ``NAME.mark`` next to ``NAME.jsonl``.

It reveals removed lines and removed lists.

A mark is written after its list and not flushed, so after a power cut it can show too few lines. Before a list becomes
shorter, its mark is lowered durably. Code that changes a list holds its lock, :func:`holdfast.fs.private.lock`.
"""

from __future__ import annotations

import os
import zlib
from typing import NamedTuple

from holdfast.fs import durable, private, safeopen

_LONGEST = 1 << 16  # size of the file's end that a quick check reads
_FORM = b"%012d %08x %012d %012d"


class Mark(NamedTuple):
    """A list's size in bytes, its last line's CRC-32, and its number of lines. ``short`` is the number of lines already
    missing before."""

    size: int = 0
    last: int = 0
    lines: int = 0
    short: int = 0


def path_of(path: str) -> str:
    return os.path.splitext(path)[0] + ".mark"


def append(path: str, data: bytes, *, flush: bool = True) -> None:
    """:func:`holdfast.fs.durable.append` for whole lines. Lines without an answer go to a new file with them, as their
    flush may have failed. The caller holds the lock. Raises: Unavailable."""
    before = read(path)
    if _goes_on(path, before) != b"":
        replace(path, (private.read(path) or b"") + data)
        return
    start = durable.append(path, data, flush=flush)
    mark = Mark(start + len(data), _last(data), before.lines + _count(data), before.short)
    durable.write_sealed(path_of(path), _FORM % mark)  # if that fails, the old mark shows fewer lines


def replace(path: str, data: bytes) -> None:
    """Replace the list with ``data``; an empty list has no file. The caller holds the lock. Raises: Unavailable."""
    before = read(path)
    whole = private.read(path) or b""
    short, lines = _short(before, whole), _count(data)
    if lines < before.lines:
        durable.replace(path_of(path), durable.sealed(_FORM % Mark(short=short)))
    if data:
        durable.replace(path, data)
    else:
        durable.remove(path)
    if lines or short:
        durable.write_sealed(path_of(path), _FORM % Mark(len(data), _last(data), lines, short))
    else:
        durable.remove(path_of(path))


def has_unanswered(path: str) -> bool:
    """Whether the list has lines whose writer got no answer, and which may not be durable."""
    return bool(_goes_on(path, read(path)))


def missing(path: str) -> int:
    """The number of acknowledged lines that are missing. Reads only a few bytes if none are. Raises: Unavailable."""
    mark = read(path)
    if _goes_on(path, mark) is not None:
        return mark.short
    with private.lock(path):  # otherwise another process may be rewriting it right now
        return _short(read(path), private.read(path) or b"")


def accept(path: str) -> None:
    """Accept the list as it is, so that nothing counts as missing from here on. Raises: Unavailable."""
    with private.lock(path):
        whole = private.read(path) or b""
        durable.replace(path_of(path), durable.sealed(_FORM % Mark(len(whole), _last(whole), _count(whole))))


def read(path: str) -> Mark:
    """The mark for the list at ``path``; zeros when it is missing or damaged."""
    return Mark(*durable.read_sealed(path_of(path), 10, 16, 10, 10))


def _goes_on(path: str, mark: Mark) -> bytes | None:
    """The bytes after the marked line if it is in its place, otherwise None."""
    start = max(0, mark.size - _LONGEST)
    try:
        with safeopen.reader(path) as file:
            file.seek(start)
            before, after = file.read(mark.size - start), file.read()
    except OSError:
        return None if mark.size else b""
    return after if len(before) == mark.size - start and _last(before) == mark.last else None


def _short(mark: Mark, whole: bytes) -> int:
    if len(whole) >= mark.size and _last(whole[: mark.size][-_LONGEST:]) == mark.last:
        return mark.short
    return mark.short + max(0, mark.lines - _count(whole))


def _count(data: bytes) -> int:
    return sum(1 for line in data.split(b"\n") if line.strip())


def _last(data: bytes) -> int:
    """The CRC-32 of the last line, or of its part within the bytes read."""
    data = data[-_LONGEST:].rstrip(b"\n")
    return zlib.crc32(data[data.rfind(b"\n") + 1 :]) if data else 0
