"""Packs the journals of sessions that ended long ago (:mod:`holdfast.journal.past`), and changes and checks packs."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import ExitStack, suppress
from typing import Final
from zlib import crc32

from holdfast.errors import HoldfastError
from holdfast.fs import durable, private, safeopen
from holdfast.journal import emergency_log, journal, past, safety
from holdfast.journal.journal import Journal
from holdfast.journal.past import Packed

#: So many journals stay in ``state/sessions``, the newest ones. Packing begins when there are ``_MORE`` more.
KEPT: Final = 60
_MORE: Final = 20
#: Limits of one call: journals, and bytes of them.
_MOST, _BYTES = 100, 4 << 20


def tidy(state: str, *, limit_s: float = 0.02) -> int:
    """Pack the oldest ended and flushed sessions. Returns their number. Stops after ``limit_s`` seconds of its own
    processor time, so that a busy machine keeps up. The next call continues. Raises: Unavailable."""
    until = time.thread_time() + limit_s
    files = journal.by_age(state)
    if len(files) < KEPT + _MORE:
        return 0
    chosen: dict[Journal, bytes] = {}
    with ExitStack() as held:
        for path in files[:-KEPT]:
            if time.thread_time() > until or len(chosen) == _MOST or sum(map(len, chosen.values())) > _BYTES:
                break
            with suppress(HoldfastError, OSError):
                one = _ended(state, path)
                if one is not None:
                    for lock in (one.flush_lock_path, one.lock_path):
                        held.enter_context(durable.lock(lock, 0.0))
                    if _ended(state, path):  # nothing was said meanwhile
                        chosen[one] = one.data()
        if chosen:
            add(state, [(one.stem, one.session_id, data) for one, data in chosen.items()])
            for one in chosen:
                _forget(one)
            durable.fsync_dir(os.path.dirname(files[0]))
    return len(chosen)


def _ended(state: str, path: str) -> Journal | None:
    """The journal at ``path``, if its session ended, everything in it is flushed, and nothing waits or failed."""
    session_id = journal.session_id_of(path)
    if session_id is None or not session_id.isprintable():
        return None
    one = Journal(state, session_id)
    last = one.last_checkpoint()
    row = last.record if last else {}
    receipt = row.get("receipt") or {}
    if one.path != path or not row.get("ended") or row["unrecorded"] or not receipt or receipt.get("spooled"):
        return None
    if one.is_unflushed() or os.path.lexists(emergency_log.away_path(state, one.stem)):
        return None
    return None if safety.read(state, session_id) else one


def _forget(one: Journal) -> None:
    """Remove a packed journal's files. The hint goes first, because without a journal it means a loss."""
    with safeopen.Folder(one.folder) as folder:
        for path in (one.hint_path, one.path, one.flush_lock_path, one.lock_path):
            with suppress(FileNotFoundError):
                folder.unlink(os.path.basename(path))


def add(state: str, journals: Iterable[tuple[str, str, bytes]]) -> None:
    """Pack journals (name, session, content) durably. Raises: Unavailable."""
    folder = private.make(state, past.FOLDER)
    with private.lock(os.path.join(folder, past.INDEX)):
        lines = past.index_lines(state)
        pack = next(reversed(past.packs(folder)), f"{1:05}{past.SUFFIX}")
        end, size = past.covered(lines, pack), past.size_of(os.path.join(folder, pack))
        if size > end:  # left by a process killed while appending
            durable.truncate(os.path.join(folder, pack), end)
        if size < end or end > past.FULL:
            pack, end = f"{int(pack.removesuffix(past.SUFFIX)) + 1:05}{past.SUFFIX}", 0
        block, new = bytearray(), bytearray()
        for stem, session, data in journals:
            line = durable.sealed(b"past\t%s\t%d\t%08x\t%s" % (stem.encode(), len(data), crc32(data), session.encode()))
            block += line
            new += past.index_line(pack, end + len(block), line)
            block += data
        durable.append(os.path.join(folder, pack), bytes(block))
        past.write_index(folder, lines + new)


def compact(state: str, gone: Collection[str] = ()) -> None:
    """Remove the journals named in ``gone``, superseded ones and those in ``state/sessions`` from the packs. Raises:
    Unavailable."""
    folder = os.path.join(state, past.FOLDER)
    if not os.path.isdir(folder):
        return
    with private.lock(os.path.join(folder, past.INDEX)):
        lines = past.index_lines(state)
        table = {packed.stem: packed for packed in past.parsed(lines)}
        there = {name.removesuffix(past.SUFFIX) for name in private.names(os.path.join(state, "sessions"))}
        dead: dict[str, list[Packed]] = {}
        for one in past.parsed(lines):
            if one.stem in gone or one.stem in there or table[one.stem] != one:
                dead.setdefault(one.pack, []).append(one)
        for pack, out in dead.items():
            path = os.path.join(folder, pack)
            data = bytearray(private.read(path) or b"")
            for one in reversed(out):
                del data[one.start - len(one.line) : one.end]
            lines = past.without(lines, pack)
            past.write_index(folder, lines)  # a reader that finds the pack not in it scans the pack, old or new
            if data:
                durable.replace(path, bytes(data))
            else:
                durable.remove(path)
            lines += past.scanned(path, pack, 0)
        past.write_index(folder, lines)


def unpacked(path: str) -> Iterator[tuple[Packed, bytes]]:
    """The journals in another user's pack. Raises: OSError."""
    with safeopen.reader(path, private=False) as file:
        for one in list(past.parsed(past.found_in(file, "", 0))):
            file.seek(one.start)
            yield one, file.read(one.size)


def damaged(state: str) -> list[str]:
    """Names of packs that are missing or shorter than they were. Reads no pack. Raises: Unavailable."""
    lines = past.index_of(state).lines
    named = {line.partition(b"\t")[0] for line in lines.splitlines()}
    return [
        pack
        for pack in map(bytes.decode, sorted(named))
        if past.size_of(past.pack_path(state, pack)) < past.covered(lines, pack)
    ]


def accept(state: str) -> None:
    """Forget journals lost from a damaged pack. The rest of it is kept. Raises: Unavailable."""
    folder = os.path.join(state, past.FOLDER)
    with private.lock(os.path.join(folder, past.INDEX)):
        lines = past.index_lines(state)
        for pack in damaged(state):
            lines = past.without(lines, pack) + past.scanned(os.path.join(folder, pack), pack, 0)
        past.write_index(folder, lines)


def contents(state: str) -> Iterator[tuple[Packed, bytes]]:
    """The packed journals with their bytes, also damaged ones, but not lost ones, which :func:`damaged` reports. Reads
    each pack once. Raises: Unavailable."""
    by_pack: dict[str, list[Packed]] = {}
    for one in past.every(state):
        by_pack.setdefault(one.pack, []).append(one)
    for pack, those in by_pack.items():
        data = private.read(past.pack_path(state, pack)) or b""
        yield from ((one, data[one.start : one.end]) for one in those if one.end <= len(data))


def broken(state: str) -> Iterator[Packed]:
    """The packed journals whose content does not match its checksum. Raises: Unavailable."""
    return (one for one, data in contents(state) if crc32(data) != int(one.crc, 16))
