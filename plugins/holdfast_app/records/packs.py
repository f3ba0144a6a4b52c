"""Pack the journals of sessions that ended long ago (:mod:`holdfast_app.journal.past`), change the packs, find
damage in them, and read another user's.

A journal leaves ``state/sessions`` only after its copy in a pack is durable, and returns there before it is changed, so
a process may be killed between any two writes.
"""

import os
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import ExitStack, suppress
from typing import Final
from zlib import crc32

from holdfast.errors import HoldfastError
from holdfast.fs import durable, private, safeopen
from holdfast.journal import emergency_log, safety
from holdfast_app.journal import past
from holdfast_app.journal.journal import Journal, session_id_of
from holdfast_app.journal.past import FOLDER, INDEX, SUFFIX, Packed
from holdfast_app.records import journals

#: A pack of this size gets no more journals. A purge rewrites whole packs.
_FULL: Final = 8 << 20
#: So many journals stay in ``state/sessions``, the newest ones. Packing begins when there are ``_MORE`` more.
KEPT: Final = 60
_MORE: Final = 20
#: Limits of one call: journals, bytes of them, and seconds.
_MOST, _BYTES, _LIMIT_S = 100, 4 << 20, 0.02


def tidy(state: str) -> int:
    """Pack the oldest ended and flushed sessions, and remove their lock files. Returns their number. Stops after
    :data:`_LIMIT_S` of its own processor time, so that a busy machine keeps up. The next call continues. Raises:
    Unavailable."""
    until = time.thread_time() + _LIMIT_S
    files = journals.by_age(state)
    if len(files) < KEPT + _MORE:
        return 0
    chosen: dict[Journal, bytes] = {}
    with ExitStack() as held:
        for path in files[:-KEPT]:
            if time.thread_time() > until or len(chosen) == _MOST or sum(map(len, chosen.values())) > _BYTES:
                break
            with suppress(HoldfastError, OSError):
                journal = _ended(state, path)
                if journal is not None:
                    for lock in (journal.flush_lock_path, journal.lock_path):
                        held.enter_context(durable.lock(lock, 0.0))
                    if _ended(state, path):  # nothing was said meanwhile
                        chosen[journal] = journal.data()
        if chosen:
            add(state, [(journal.stem, journal.session_id, data) for journal, data in chosen.items()])
            for journal in chosen:  # the hint goes first, because without a journal it means a loss
                with safeopen.Folder(journal.folder) as folder:
                    for path in (journal.hint_path, journal.path, journal.flush_lock_path, journal.lock_path):
                        with suppress(FileNotFoundError):
                            folder.unlink(os.path.basename(path))
            durable.fsync_dir(os.path.dirname(files[0]))
    return len(chosen)


def _ended(state: str, path: str) -> Journal | None:
    """The journal at ``path``, if its session ended, everything in it is flushed, and nothing waits or failed."""
    session_id = session_id_of(path)
    if session_id is None or not session_id.isprintable():
        return None
    journal = Journal(state, session_id)
    last = journal.last_checkpoint()
    row = last.record if last else {}
    receipt = row.get("receipt") or {}
    if journal.path != path or not row.get("ended") or row["unrecorded"] or not receipt or receipt.get("spooled"):
        return None
    if journal.is_unflushed() or os.path.lexists(emergency_log.away_path(state, journal.stem)):
        return None
    return None if safety.read(state, session_id) else journal


def add(state: str, sessions: Iterable[tuple[str, str, bytes]]) -> None:
    """Pack journals (name, session, content) durably. Raises: Unavailable."""
    folder = private.make(state, FOLDER)
    with private.lock(os.path.join(folder, INDEX)):
        entries = past.entries(state)
        pack = next(reversed(past.packs(folder)), f"{1:05}{SUFFIX}")
        end, size = _ends(entries).get(pack, 0), past.size(os.path.join(folder, pack))
        if size > end:  # left by a process killed while appending
            durable.truncate(os.path.join(folder, pack), end)
        if size < end or end > _FULL:
            pack, end = f"{int(pack.removesuffix(SUFFIX)) + 1:05}{SUFFIX}", 0
        block = bytearray()
        for stem, session, data in sessions:
            crc = f"{crc32(data):08x}"
            line = durable.sealed(b"past\t%s\t%d\t%s\t%s" % (stem.encode(), len(data), crc.encode(), session.encode()))
            entries.append(Packed(pack, end + len(block) + len(line), line, stem, len(data), crc, session))
            block += line + data
        durable.append(os.path.join(folder, pack), bytes(block))
        _write(folder, entries)


def compact(state: str, gone: Collection[str] = ()) -> None:
    """Remove the journals ``gone``, superseded ones and those in ``state/sessions`` from packs. Raises: Unavailable."""
    folder = os.path.join(state, FOLDER)
    if not os.path.isdir(folder):
        return
    with private.lock(os.path.join(folder, INDEX)):
        entries = past.entries(state)
        newest = {entry.stem: entry for entry in entries}
        there = {name.removesuffix(SUFFIX) for name in private.names(os.path.join(state, "sessions"))}
        dead = [entry for entry in entries if entry.stem in gone or entry.stem in there or newest[entry.stem] != entry]
        for pack in dict.fromkeys(entry.pack for entry in dead):
            path = os.path.join(folder, pack)
            data = bytearray(private.read(path) or b"")
            for entry in reversed([entry for entry in dead if entry.pack == pack]):
                del data[entry.start - len(entry.line) : entry.end]
            entries = [entry for entry in entries if entry.pack != pack]
            _write(folder, entries)  # a reader that finds the pack not in it scans the pack, old or new
            if data:
                durable.replace(path, bytes(data))
            else:
                durable.remove(path)
            entries += past.scanned(path, pack, 0)
        _write(folder, entries)


def unpacked(path: str) -> Iterator[tuple[Packed, bytes]]:
    """The journals in another user's pack. Raises: OSError."""
    with safeopen.reader(path, private=False) as file:
        for entry in list(past.within(file, "", 0)):
            file.seek(entry.start)
            yield entry, file.read(entry.size)


def damaged(state: str) -> list[str]:
    """Names of packs that are missing or shorter than they were. Reads no pack. Raises: Unavailable."""
    ends = _ends(past.entries(state))
    return sorted(pack for pack, end in ends.items() if past.size(os.path.join(state, FOLDER, pack)) < end)


def accept(state: str) -> None:
    """Forget journals lost from a damaged pack. The rest of it is kept. Raises: Unavailable."""
    folder = os.path.join(state, FOLDER)
    with private.lock(os.path.join(folder, INDEX)):
        entries = past.entries(state)
        for pack in damaged(state):
            entries = [entry for entry in entries if entry.pack != pack]
            entries += past.scanned(os.path.join(folder, pack), pack, 0)
        _write(folder, entries)


def contents(state: str) -> Iterator[tuple[Packed, bytes]]:
    """The packed journals with their bytes, also damaged ones, but not lost ones, which :func:`damaged` reports. Reads
    each pack once. Raises: Unavailable."""
    every = past.every(state)
    for pack in dict.fromkeys(entry.pack for entry in every):
        data = private.read(os.path.join(state, FOLDER, pack)) or b""
        entries = (entry for entry in every if entry.pack == pack and entry.end <= len(data))
        yield from ((entry, data[entry.start : entry.end]) for entry in entries)


def broken(state: str) -> Iterator[Packed]:
    """The packed journals whose content does not match its checksum. Raises: Unavailable."""
    return (entry for entry, data in contents(state) if crc32(data) != int(entry.crc, 16))


def _ends(entries: Iterable[Packed]) -> dict[str, int]:
    return {entry.pack: entry.end for entry in entries}


def _write(folder: str, entries: Iterable[Packed]) -> None:
    durable.replace(os.path.join(folder, INDEX), past.index(entries))
