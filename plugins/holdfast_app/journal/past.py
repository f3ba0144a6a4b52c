"""Journals of ended sessions, packed, so that nothing which lists ``state/sessions`` grows with age.

``state/past/NNNNN.jsonl`` holds journals unchanged, each after a line with its name, size and checksum. ``index``
repeats these lines with their offsets. If it is missing or damaged, the packs are scanned instead. A journal in
``state/sessions`` takes precedence. An application packs them (:mod:`holdfast_app.records.packs`).
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import BinaryIO, Final, NamedTuple
from zlib import crc32

from holdfast.errors import Corrupt
from holdfast.fs import durable, paths, private, safeopen

FOLDER: Final = "past"
INDEX: Final = "index"
SUFFIX: Final = ".jsonl"
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


#: The journals of each private folder by name, and what changes with its index.
_tables: dict[str, tuple[object, dict[str, Packed]]] = {}


def find(state: str, stem: str) -> Packed | None:
    """The packed journal with this file name. Raises: Unavailable."""
    return _table(state).get(stem)


def every(state: str) -> list[Packed]:
    """All packed journals, oldest first. Raises: Unavailable."""
    return list(_table(state).values())


def read(state: str, stem: str) -> bytes | None:
    """A packed journal's bytes, None when there is none. Raises: Corrupt; Unavailable."""
    entry = None
    for _ in range(3):  # another process may be rewriting the pack
        entry = find(state, stem)
        if entry is None:
            return None
        path = os.path.join(state, FOLDER, entry.pack)
        with durable.reporting(path, "read"), suppress(FileNotFoundError), safeopen.reader(path) as file:
            file.seek(entry.start - len(entry.line))
            if file.read(len(entry.line)) == entry.line and len(data := file.read(entry.size)) == entry.size:
                return data
        _tables.pop(state, None)
    raise Corrupt(
        f"{paths.ending(os.path.join(state, FOLDER, entry.pack if entry else ''), 3)} is damaged or missing.",
        next_step="Restore the file from a copy, or run `holdfast doctor --fix` to continue without the rest.",
    )


def _table(state: str) -> dict[str, Packed]:
    folder = os.path.join(state, FOLDER)
    key = None
    with suppress(OSError):
        key = safeopen.identity_of(os.stat(os.path.join(folder, INDEX)))
    known = _tables.get(state)
    if known is None or key is None or known[0] != key:
        known = _tables[state] = key, {entry.stem: entry for entry in (entries(state) if os.path.isdir(folder) else ())}
    return known[1]


def entries(state: str) -> list[Packed]:
    """All packed journals, oldest first, superseded ones too, by the index and unindexed packs. Raises: Unavailable."""
    folder = os.path.join(state, FOLDER)
    data = private.read(os.path.join(folder, INDEX)) or b""
    rows = data[:-_SEAL].splitlines(keepends=True) if data[-_SEAL:] == b"%08x\n" % crc32(data[:-_SEAL]) else []
    split = (row.split(b"\t", 2) for row in rows)
    packed = [_packed(pack.decode(), int(start), line) for pack, start, line in split]
    ends = {entry.pack: entry.end for entry in packed}
    for pack in packs(folder):
        if size(os.path.join(folder, pack)) > ends.get(pack, 0):
            packed += scanned(os.path.join(folder, pack), pack, ends.get(pack, 0))
    return packed


def index(those: Iterable[Packed]) -> bytes:
    lines = b"".join(b"%s\t%d\t%s" % (entry.pack.encode(), entry.start, entry.line) for entry in those)
    return lines + b"%08x\n" % crc32(lines)


def packs(folder: str) -> list[str]:
    """The packs' names, in order. Raises: Unavailable."""
    return [name for name in private.names(folder) if name.endswith(SUFFIX)]


def size(path: str) -> int:
    """A pack's size in bytes, 0 when it is missing. Raises: OSError."""
    with suppress(FileNotFoundError):
        return os.stat(path).st_size
    return 0


def scanned(path: str, pack: str, start: int) -> list[Packed]:
    """The journals that a pack has from an offset on. Raises: Unavailable."""
    with durable.reporting(path, "read"), suppress(FileNotFoundError), safeopen.reader(path) as file:
        return list(within(file, pack, start))
    return []


def within(file: BinaryIO, pack: str, start: int) -> Iterator[Packed]:
    """The journals in an open pack. A damaged line is skipped with its journal, as is an incomplete last one."""
    length = file.seek(0, os.SEEK_END)
    file.seek(start)
    while line := file.readline():
        start += len(line)
        body, _, seal = line.rstrip(b"\n").rpartition(b" ")
        if body.startswith(b"past\t") and seal == b"%08x" % crc32(body):
            entry = _packed(pack, start, line)
            if entry.end > length:
                return
            yield entry
            start = file.seek(entry.end)


def _packed(pack: str, start: int, line: bytes) -> Packed:
    _, stem, length, crc, rest = line.split(b"\t", 4)
    session = rest[: -_SEAL - 1].decode("utf-8", "replace")
    return Packed(pack, start, line, stem.decode(), int(length), crc.decode(), session)
