"""Journals of ended sessions, packed, so that nothing which lists ``state/sessions`` grows with age.

``state/past/NNNNN.jsonl`` holds journals unchanged, each after a line with its name, size and checksum. ``index``
repeats these lines with their offsets. If it is missing or damaged, the packs are scanned instead. A journal in
``state/sessions`` takes precedence. It leaves that folder only after its copy here is durable, and returns to it
before it is changed, so a process may be killed between any two writes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from typing import BinaryIO, Final, NamedTuple
from zlib import crc32

from holdfast.errors import Corrupt
from holdfast.fs import durable, paths, private, safeopen

FOLDER: Final = "past"
INDEX: Final = "index"
SUFFIX: Final = ".jsonl"
#: A pack of this size gets no more journals. A purge rewrites whole packs.
FULL: Final = 8 << 20
_SEAL: Final = len("00000000\n")


class Packed(NamedTuple):
    """One journal. ``line`` is the line before it in the pack; ``start`` its first byte's offset."""

    pack: str
    start: int
    line: bytes
    stem: str
    size: int
    crc: str
    session: str

    @property
    def end(self) -> int:
        return self.start + self.size


class _Index:
    """The lines of all packs, oldest first, as bytes until all of them are needed."""

    def __init__(self, key: object, lines: bytes) -> None:
        self.key, self.lines = key, lines
        self._table: dict[str, Packed] | None = None

    def table(self) -> dict[str, Packed]:
        if self._table is None:
            self._table = {packed.stem: packed for packed in parsed(self.lines)}
        return self._table

    def find(self, stem: str) -> Packed | None:
        if self._table is not None:
            return self._table.get(stem)
        at = self.lines.rfind(b"\tpast\t%s\t" % stem.encode())
        begin = self.lines.rfind(b"\n", 0, at) + 1
        return None if at < 0 else next(parsed(self.lines[begin : self.lines.index(b"\n", at) + 1]))


_indexes: dict[str, _Index] = {}


def find(state: str, stem: str) -> Packed | None:
    """The packed journal with this file name. Raises: Unavailable."""
    return index_of(state).find(stem)


def count(state: str) -> int:
    """The number of packed journals. Raises: Unavailable."""
    return index_of(state).lines.count(b"\n")


def every(state: str) -> list[Packed]:
    """All packed journals, oldest first. Raises: Unavailable."""
    return list(index_of(state).table().values())


def read(state: str, stem: str) -> bytes | None:
    """A packed journal's bytes, None when there is none. Raises: Corrupt; Unavailable."""
    one = None
    for _ in range(3):  # another process may be rewriting the pack
        one = find(state, stem)
        if one is None:
            return None
        path = pack_path(state, one.pack)
        with durable.reporting(path, "read"), suppress(FileNotFoundError), safeopen.reader(path) as file:
            file.seek(one.start - len(one.line))
            if file.read(len(one.line)) == one.line and len(data := file.read(one.size)) == one.size:
                return data
        _indexes.pop(state, None)
    raise Corrupt(
        f"{paths.ending(pack_path(state, one.pack if one else ''), 3)} is damaged or missing.",
        next_step="Restore the file from a copy, or run `holdfast doctor --fix` to continue without the rest.",
    )


def pack_path(state: str, pack: str) -> str:
    """A pack."""
    return os.path.join(state, FOLDER, pack)


def size_of(path: str) -> int:
    """A pack's size, 0 when it is missing."""
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0


def packs(folder: str) -> list[str]:
    """The packs' names, oldest first."""
    return [name for name in private.names(folder) if name.endswith(SUFFIX)]


def index_of(state: str) -> _Index:
    try:
        found = os.stat(os.path.join(state, FOLDER, INDEX))
        key: object = (found.st_ino, found.st_size, found.st_mtime_ns)
    except OSError:
        key = None
    known = _indexes.get(state)
    if known is None or key is None or known.key != key:
        lines = index_lines(state) if key or os.path.isdir(os.path.join(state, FOLDER)) else b""
        known = _indexes[state] = _Index(key, lines)
    return known


def index_lines(state: str) -> bytes:
    """The index, completed from packs that it does not cover."""
    folder = os.path.join(state, FOLDER)
    data = private.read(os.path.join(folder, INDEX)) or b""
    lines = data[:-_SEAL]
    if data[-_SEAL:] != b"%08x\n" % crc32(lines):
        lines = b""
    for pack in packs(folder):
        path, end = os.path.join(folder, pack), covered(lines, pack)
        if size_of(path) > end:
            lines += scanned(path, pack, end)
    return lines


def write_index(folder: str, lines: bytes) -> None:
    """Replace the index, durably."""
    durable.replace(os.path.join(folder, INDEX), lines + b"%08x\n" % crc32(lines))


def index_line(pack: str, start: int, line: bytes) -> bytes:
    """A journal's line in the index."""
    return b"%s\t%d\t%s" % (pack.encode(), start, line)


def parsed(lines: bytes) -> Iterator[Packed]:
    """The journals of these lines of the index."""
    for row in lines.splitlines(keepends=True):
        pack, start, line = row.split(b"\t", 2)
        _, stem, size, crc, rest = line.split(b"\t", 4)
        session = rest[: -_SEAL - 1].decode("utf-8", "replace")
        yield Packed(pack.decode(), int(start), line, stem.decode(), int(size), crc.decode(), session)


def covered(lines: bytes, pack: str) -> int:
    """Where the pack's last journal in ``lines`` ends."""
    at = (b"\n" + lines).rfind(b"\n%s\t" % pack.encode())
    return 0 if at < 0 else next(parsed(lines[at : lines.index(b"\n", at) + 1])).end


def without(lines: bytes, pack: str) -> bytes:
    """The lines of other packs."""
    begin = b"%s\t" % pack.encode()
    return b"".join(line for line in lines.splitlines(keepends=True) if not line.startswith(begin))


def scanned(path: str, pack: str, start: int) -> bytes:
    """The pack's lines from an offset on, read from it."""
    with durable.reporting(path, "read"), suppress(FileNotFoundError), safeopen.reader(path) as file:
        return found_in(file, pack, start)
    return b""


def found_in(file: BinaryIO, pack: str, start: int) -> bytes:
    """The pack's lines from an offset on. A damaged one is skipped with its journal, as is an incomplete last one."""
    out, size = bytearray(), file.seek(0, os.SEEK_END)
    file.seek(start)
    while line := file.readline():
        start += len(line)
        body, _, seal = line.rstrip(b"\n").rpartition(b" ")
        if body.startswith(b"past\t") and seal == b"%08x" % crc32(body):
            new = index_line(pack, start, line)
            end = next(parsed(new)).end
            if end > size:
                break
            out += new
            start = file.seek(end)
    return bytes(out)
