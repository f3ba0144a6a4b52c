"""Journals of ended sessions, packed, so that nothing which lists ``state/sessions`` grows with age.

``state/past/NNNNN.jsonl`` holds journals unchanged, each after a line with its name, size and checksum. ``index``
repeats these lines with their offsets. If it is missing or damaged, the packs are scanned instead. A journal in
``state/sessions`` takes precedence. It leaves that folder only after its copy here is durable, and returns to it
before it is changed, so a process may be killed between any two writes.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from typing import BinaryIO, Final, NamedTuple
from zlib import crc32

from holdfast.errors import Corrupt
from holdfast.fs import durable, paths, private, safeopen

FOLDER: Final = "past"
_INDEX: Final = "index"
_SUFFIX: Final = ".jsonl"
#: A pack of this size gets no more journals. A purge rewrites whole packs.
_FULL: Final = 8 << 20
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
            self._table = {packed.stem: packed for packed in _parsed(self.lines)}
        return self._table

    def find(self, stem: str) -> Packed | None:
        if self._table is not None:
            return self._table.get(stem)
        at = self.lines.rfind(b"\tpast\t%s\t" % stem.encode())
        begin = self.lines.rfind(b"\n", 0, at) + 1
        return None if at < 0 else next(_parsed(self.lines[begin : self.lines.index(b"\n", at) + 1]))


_indexes: dict[str, _Index] = {}


def find(state: str, stem: str) -> Packed | None:
    """The packed journal with this file name. Raises: Unavailable."""
    return _index(state).find(stem)


def count(state: str) -> int:
    """The number of packed journals. Raises: Unavailable."""
    return _index(state).lines.count(b"\n")


def every(state: str) -> list[Packed]:
    """All packed journals, oldest first. Raises: Unavailable."""
    return list(_index(state).table().values())


def read(state: str, stem: str) -> bytes | None:
    """A packed journal's bytes, None when there is none. Raises: Corrupt; Unavailable."""
    one = None
    for _ in range(3):  # another process may be rewriting the pack
        one = find(state, stem)
        if one is None:
            return None
        path = _path(state, one.pack)
        with durable.reporting(path, "read"), suppress(FileNotFoundError), safeopen.reader(path) as file:
            file.seek(one.start - len(one.line))
            if file.read(len(one.line)) == one.line and len(data := file.read(one.size)) == one.size:
                return data
        _indexes.pop(state, None)
    raise Corrupt(
        f"{paths.ending(_path(state, one.pack if one else ''), 3)} is damaged or missing.",
        next_step="Restore the file from a copy, or run `holdfast doctor --fix` to continue without the rest.",
    )


def add(state: str, journals: Iterable[tuple[str, str, bytes]]) -> None:
    """Pack journals (name, session, content) durably. Raises: Unavailable."""
    folder = private.make(state, FOLDER)
    with private.lock(os.path.join(folder, _INDEX)):
        lines = _lines(state)
        pack = next(reversed(_packs(folder)), f"{1:05}{_SUFFIX}")
        end, size = _covered(lines, pack), _size(os.path.join(folder, pack))
        if size > end:  # left by a process killed while appending
            durable.truncate(os.path.join(folder, pack), end)
        if size < end or end > _FULL:
            pack, end = f"{int(pack.removesuffix(_SUFFIX)) + 1:05}{_SUFFIX}", 0
        block, new = bytearray(), bytearray()
        for stem, session, data in journals:
            line = durable.sealed(b"past\t%s\t%d\t%08x\t%s" % (stem.encode(), len(data), crc32(data), session.encode()))
            block += line
            new += _line(pack, end + len(block), line)
            block += data
        durable.append(os.path.join(folder, pack), bytes(block))
        _write(folder, lines + new)


def compact(state: str, gone: Collection[str] = ()) -> None:
    """Remove the journals named in ``gone``, superseded ones and those in ``state/sessions`` from the packs. Raises:
    Unavailable."""
    folder = os.path.join(state, FOLDER)
    if not os.path.isdir(folder):
        return
    with private.lock(os.path.join(folder, _INDEX)):
        lines = _lines(state)
        table = {packed.stem: packed for packed in _parsed(lines)}
        there = {name.removesuffix(_SUFFIX) for name in private.names(os.path.join(state, "sessions"))}
        dead: dict[str, list[Packed]] = {}
        for one in _parsed(lines):
            if one.stem in gone or one.stem in there or table[one.stem] != one:
                dead.setdefault(one.pack, []).append(one)
        for pack, out in dead.items():
            path = os.path.join(folder, pack)
            data = bytearray(private.read(path) or b"")
            for one in reversed(out):
                del data[one.start - len(one.line) : one.end]
            lines = _without(lines, pack)
            _write(folder, lines)  # a reader that finds the pack not in it scans the pack, old or new
            if data:
                durable.replace(path, bytes(data))
            else:
                durable.remove(path)
            lines += _scanned(path, pack, 0)
        _write(folder, lines)


def unpacked(path: str) -> Iterator[tuple[Packed, bytes]]:
    """The journals in another user's pack. Raises: OSError."""
    with safeopen.reader(path, private=False) as file:
        for one in list(_parsed(_found(file, "", 0))):
            file.seek(one.start)
            yield one, file.read(one.size)


def damaged(state: str) -> list[str]:
    """Names of packs that are missing or shorter than they were. Reads no pack. Raises: Unavailable."""
    lines = _index(state).lines
    named = {line.partition(b"\t")[0] for line in lines.splitlines()}
    return [pack for pack in map(bytes.decode, sorted(named)) if _size(_path(state, pack)) < _covered(lines, pack)]


def accept(state: str) -> None:
    """Forget journals lost from a damaged pack. The rest of it is kept. Raises: Unavailable."""
    folder = os.path.join(state, FOLDER)
    with private.lock(os.path.join(folder, _INDEX)):
        lines = _lines(state)
        for pack in damaged(state):
            lines = _without(lines, pack) + _scanned(os.path.join(folder, pack), pack, 0)
        _write(folder, lines)


def contents(state: str) -> Iterator[tuple[Packed, bytes]]:
    """The packed journals with their bytes, also damaged ones, but not lost ones, which :func:`damaged` reports. Reads
    each pack once. Raises: Unavailable."""
    by_pack: dict[str, list[Packed]] = {}
    for one in every(state):
        by_pack.setdefault(one.pack, []).append(one)
    for pack, those in by_pack.items():
        data = private.read(_path(state, pack)) or b""
        yield from ((one, data[one.start : one.end]) for one in those if one.end <= len(data))


def broken(state: str) -> Iterator[Packed]:
    """The packed journals whose content does not match its checksum. Raises: Unavailable."""
    return (one for one, data in contents(state) if crc32(data) != int(one.crc, 16))


def _path(state: str, pack: str) -> str:
    return os.path.join(state, FOLDER, pack)


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0


def _packs(folder: str) -> list[str]:
    return [name for name in private.names(folder) if name.endswith(_SUFFIX)]


def _index(state: str) -> _Index:
    try:
        found = os.stat(os.path.join(state, FOLDER, _INDEX))
        key: object = (found.st_ino, found.st_size, found.st_mtime_ns)
    except OSError:
        key = None
    known = _indexes.get(state)
    if known is None or key is None or known.key != key:
        lines = _lines(state) if key or os.path.isdir(os.path.join(state, FOLDER)) else b""
        known = _indexes[state] = _Index(key, lines)
    return known


def _lines(state: str) -> bytes:
    """The index, completed from packs that it does not cover."""
    folder = os.path.join(state, FOLDER)
    data = private.read(os.path.join(folder, _INDEX)) or b""
    lines = data[:-_SEAL]
    if data[-_SEAL:] != b"%08x\n" % crc32(lines):
        lines = b""
    for pack in _packs(folder):
        path, end = os.path.join(folder, pack), _covered(lines, pack)
        if _size(path) > end:
            lines += _scanned(path, pack, end)
    return lines


def _write(folder: str, lines: bytes) -> None:
    durable.replace(os.path.join(folder, _INDEX), lines + b"%08x\n" % crc32(lines))


def _line(pack: str, start: int, line: bytes) -> bytes:
    return b"%s\t%d\t%s" % (pack.encode(), start, line)


def _parsed(lines: bytes) -> Iterator[Packed]:
    for row in lines.splitlines(keepends=True):
        pack, start, line = row.split(b"\t", 2)
        _, stem, size, crc, rest = line.split(b"\t", 4)
        session = rest[: -_SEAL - 1].decode("utf-8", "replace")
        yield Packed(pack.decode(), int(start), line, stem.decode(), int(size), crc.decode(), session)


def _covered(lines: bytes, pack: str) -> int:
    """Where the pack's last journal in ``lines`` ends."""
    at = (b"\n" + lines).rfind(b"\n%s\t" % pack.encode())
    return 0 if at < 0 else next(_parsed(lines[at : lines.index(b"\n", at) + 1])).end


def _without(lines: bytes, pack: str) -> bytes:
    begin = b"%s\t" % pack.encode()
    return b"".join(line for line in lines.splitlines(keepends=True) if not line.startswith(begin))


def _scanned(path: str, pack: str, start: int) -> bytes:
    with durable.reporting(path, "read"), suppress(FileNotFoundError), safeopen.reader(path) as file:
        return _found(file, pack, start)
    return b""


def _found(file: BinaryIO, pack: str, start: int) -> bytes:
    """The pack's lines from an offset on. A damaged one is skipped with its journal, as is an incomplete last one."""
    out, size = bytearray(), file.seek(0, os.SEEK_END)
    file.seek(start)
    while line := file.readline():
        start += len(line)
        body, _, seal = line.rstrip(b"\n").rpartition(b" ")
        if body.startswith(b"past\t") and seal == b"%08x" % crc32(body):
            new = _line(pack, start, line)
            end = next(_parsed(new)).end
            if end > size:
                break
            out += new
            start = file.seek(end)
    return bytes(out)
