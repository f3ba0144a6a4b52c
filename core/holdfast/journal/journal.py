"""A session's write-ahead record: ``state/sessions/ID.jsonl``, one checksummed line per record, append-only.

An append is durable on return. A crash can leave a torn last line, which was never acknowledged: readers stop before
it and the next writer cuts it. Other unreadable data is :class:`~holdfast.errors.Corrupt`, and so is a journal that is
missing or shorter than its acknowledged size. The file ``ID.hint`` holds that size. It is written after each append and
not flushed, so after a power cut it can show less than was acknowledged, never more.

The first line has a keyed seal, so that a journal which an archive or a clone puts into the folder is not read. A purge
or a scrub rewrites messages and changes the first line, so that processes with the session open notice.

Record kinds: ``session`` (the first line), ``message``, ``provider``, ``checkpoint`` (a flush or a drop, with the state
up to there, so that a reader may begin at the last one), ``override``, ``summary`` (of one flush's messages; the
running summary is read from these, so checkpoints do not repeat it), ``work`` (closed or reopened by command),
``refused`` (a flush that failed).
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, BinaryIO, NamedTuple

from holdfast.errors import Conflict, Corrupt, Unavailable
from holdfast.fs import durable, paths, private, safeopen
from holdfast.fs.records import beginning, decode, encode, may_be_torn
from holdfast.fs.safeopen import SIZE, Identity, identity_of
from holdfast.journal.beginning import first_line_of, opened

_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_-")
_RESERVED = frozenset({"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))})
_CHUNK = 65536
#: How the lines of checkpoints begin.
CHECKPOINT = beginning("checkpoint")
_BEGINNING = b'{"kind":"'  # of every line
_HINT = b"%016d %016d"  # fixed length, so that it is written in place and never empty


class Entry(NamedTuple):
    """A record with its start and end offsets in bytes."""

    start: int
    end: int
    record: dict[str, Any]


def file_stem(session_id: str) -> str:
    """A file name for a session id, the same on every system: plain ids unchanged, others with a digest."""
    if 0 < len(session_id) <= 80 and _PLAIN.issuperset(session_id) and session_id not in _RESERVED:
        return session_id
    import re

    from holdfast.text.digests import sha256_of

    # No plain id has a tilde, so a plain id cannot name another id's file.
    slug = re.sub(r"[^a-z0-9_-]+", "-", session_id.lower()).strip("-")[:40]
    return f"{slug or 'session'}~{sha256_of(session_id.encode('utf-8', 'replace'))[:12]}"


class Hint(NamedTuple):
    """Offset of the last checkpoint (0 when unknown), and the acknowledged size of the journal in bytes."""

    checkpoint: int = 0
    acknowledged: int = 0


class Journal:
    """One session's journal. Safe for several processes and threads. Files are opened only when needed."""

    def __init__(self, state: str, session_id: str) -> None:
        self.session_id = session_id
        self._state = state
        self.folder = os.path.join(state, "sessions")
        self.stem = file_stem(session_id)
        start = os.path.join(self.folder, self.stem)
        self.path = start + ".jsonl"
        self.lock_path = start + ".lock"
        self.flush_lock_path = start + ".flush.lock"
        self.hint_path = start + ".hint"
        self._known: Identity | None = None  # the file after this object's last append, whose tail needs no check
        #: Whether no other object changed the file between this one's last two appends, or before the first.
        self.only_ours = False
        self.begins = b""  # the first line, at the last append: a purge may change it right afterwards
        self._checkpoint = 0  # the last one's offset, from the hint at that time

    @property
    def shown(self) -> str:
        return paths.ending(self.path, 4)

    def exists(self) -> bool:
        return os.path.exists(self.path)

    def size(self) -> int:
        """The size in bytes, 0 when missing. Raises: Unavailable."""
        identity = self._identity()
        return identity[SIZE] if identity else 0

    def data(self) -> bytes:
        """All of it; empty when missing. Raises: Corrupt; Unavailable."""
        with durable.reporting(self.path, "read"), suppress(FileNotFoundError), self._opened() as file:
            return file.read()
        return b""

    # replaceable by an application, which may keep ended sessions elsewhere and prove the order of checkpoints

    def _opened(self) -> BinaryIO:
        """The file, or what stands for it. Raises: OSError; Corrupt; Unavailable."""
        return opened(self.path)

    def unpack(self) -> None:
        """Called with the lock held, before a change: the journal must be in its file. Raises: Corrupt; Unavailable."""

    def _linked(self, records: Sequence[dict[str, Any]], size: int, first: bytes) -> Sequence[dict[str, Any]]:
        """The records to append to ``size`` bytes, after the ``first`` line of a new journal. Raises: Unavailable."""
        return records

    def _passed(self, start: int, checkpoint: dict[str, Any]) -> None:
        """Called when a checkpoint is durable."""
        self._checkpoint = start

    def _identity(self) -> Identity | None:
        """The file as it is now, None when missing. Raises: Unavailable."""
        with durable.reporting(self.path, "read"), suppress(FileNotFoundError):
            return identity_of(os.stat(self.path))
        return None

    def first_line(self) -> bytes:
        """A line that distinguishes the journal from a rewritten or recreated one; empty when there is none.

        Raises: Unavailable.
        """
        return next((line for _, line in self._lines()), b"")

    def _lines(self, start: int = 0) -> Iterator[tuple[int, bytes]]:
        """Each line from offset ``start``, with its offset; none when the file is missing. Raises: Unavailable."""
        missing = suppress(FileNotFoundError, IsADirectoryError)
        with durable.reporting(self.path, "read"), missing, self._opened() as file:
            if start:
                file.seek(start)
            for line in file:
                yield start, line
                start += len(line)

    def append(self, *records: dict[str, Any], first_line: bytes = b"") -> list[Entry]:
        """Add records durably, all with one flush.

        Raises: Unavailable; Corrupt when the journal was damaged or cut short; Conflict when ``first_line`` is given
        and no longer matches the journal. Then nothing was added. A session left without a first line is noted as
        UNSAFE in the user's folder, because nothing else shows that it was begun.
        """
        try:
            return self._append(records, first_line)
        except Unavailable:
            from holdfast.journal import emergency_log

            with suppress(Unavailable):
                if not self.size():
                    emergency_log.add_away(self._state, self.stem)
            raise

    def _append(self, records: tuple[dict[str, Any], ...], first_line: bytes) -> list[Entry]:
        private.make(self._state, "sessions")
        with durable.lock(self.lock_path):
            if first_line and self.first_line() != first_line:
                raise Conflict(
                    f"{self.shown} was rewritten by a purge meanwhile.", next_step="Try again. Nothing was dropped."
                )
            self.unpack()
            identity = self._identity()
            size = identity[SIZE] if identity else 0
            self.only_ours = identity == self._known
            if identity is None or not self.only_ours:
                size = self._settled(size)
            first = b"" if size else first_line_of(self.session_id)
            linked = self._linked(records, size, first)
            lines = list(map(encode, linked))
            start = durable.append(self.path, first + b"".join(lines)) + len(first)
            entries = []
            for line, record in zip(lines, linked, strict=True):
                entries.append(Entry(start, start + len(line), record))
                if record["kind"] == "checkpoint":
                    self._passed(start, record)
                start += len(line)
            if first:
                self.begins = first
                self._begun()
            self._known = self._identity()
            self._leave_hint(start)
        return entries

    def settle(self) -> None:
        """Make other processes' lines durable before they count as stored. Raises: as :meth:`append`."""
        if self._identity() is not None:
            with durable.lock(self.lock_path):
                self._settled(self.size())

    def _settled(self, size: int) -> int:
        """The size without a torn tail. Lines without an answer go to a new file, as their flush may have failed."""
        cut, hint = 0, self.hint()
        if size:
            with durable.reporting(self.path, "read"), safeopen.reader(self.path) as file:
                self.begins = file.readline(_CHUNK)
                cut = _whole_length(file, size)
                file.seek(cut)
                tail = file.read(size - cut)
            if tail and not may_be_torn(tail, _BEGINNING):
                raise self._corrupt(cut)
        if cut < hint.acknowledged:
            raise self._cut_short(cut, hint.acknowledged)
        if cut < size:
            durable.truncate(self.path, cut)
        self._checkpoint = hint.checkpoint
        if cut > hint.acknowledged:
            durable.replace(self.path, self.data()[:cut])
            self._leave_hint(cut)
        return cut

    def _begun(self) -> None:
        """The first line is durable. Reserve space for a note that this session is UNSAFE, for a full disk."""
        from holdfast.journal import emergency_log

        with suppress(Unavailable):
            emergency_log.make(self._state)
        emergency_log.clear_away(self._state, self.stem)

    def entries(self, start: int = 0) -> Iterator[Entry]:
        """Records from offset ``start`` (where a record starts), in order, without a torn last line.

        Memory use does not depend on the journal's length. Raises: Corrupt naming file and offset, also after the last
        record when acknowledged records are missing; Unavailable.
        """
        if os.path.isdir(self.path):
            raise Corrupt(f"{self.shown} is a directory.", next_step="Move it away. A journal must be a file.")
        bad, end = -1, start
        for at, line in self._lines(start):
            record = decode(line[:-1]) if line.endswith(b"\n") else None
            if bad >= 0:
                raise self._corrupt(bad)
            end = at + len(line)
            if record is not None:
                yield Entry(at, end, record)
            elif may_be_torn(line, _BEGINNING):
                bad = at  # torn if it is the last line, otherwise damaged
            else:
                raise self._corrupt(at)
        self._check_length(min(end, self.size()) if bad < 0 else bad)

    def last_checkpoint(self) -> Entry | None:
        """The newest checkpoint. Uses the hint next to the journal, which may be missing or stale but never wrong.

        Decodes only checkpoints. A caller that reads on from there meets any damage. Raises: Unavailable.
        """
        last: deque[Entry] = deque(maxlen=1)
        for start in sorted({0, self.hint().checkpoint}, reverse=True):
            last.extend(self.of_kinds("checkpoint", start=start))
            if last:
                break
        return last.pop() if last else None

    def of_kinds(self, *kinds: str, start: int = 0, until: int | None = None) -> Iterator[Entry]:
        """Records of these kinds from offset ``start`` (from the end when negative) to before ``until``, in order.

        Only these are decoded; damaged lines are skipped, and so is a torn one. Raises: Unavailable.
        """
        beginnings = tuple(map(beginning, kinds))
        for at, line in self._lines(start if start >= 0 else max(0, self.size() + start)):
            if until is not None and at >= until:
                return
            record = decode(line[:-1]) if line.startswith(beginnings) and line.endswith(b"\n") else None
            if record is not None:
                yield Entry(at, at + len(line), record)

    def hint(self) -> Hint:
        """The hint's contents; empty when it is missing or unreadable."""
        return hint_of(self.hint_path)

    def _check_length(self, whole: int) -> None:
        """Raises: Corrupt when more than the first ``whole`` bytes were acknowledged."""
        if self.hint().acknowledged <= whole:
            return
        with durable.lock(self.lock_path):  # otherwise a purge or another writer may be active right now
            acknowledged, size = self.hint().acknowledged, self.size()
            if size:
                with self._opened() as file:
                    size = _whole_length(file, size)
            if acknowledged > size:
                raise self._cut_short(size, acknowledged)

    def _cut_short(self, whole: int, acknowledged: int) -> Corrupt:
        how = f"was cut at byte {whole:,}" if whole else "is missing or empty"
        return Corrupt(
            f"{self.shown} {how}: {acknowledged:,} bytes were acknowledged.",
            next_step="Restore the file from a copy, or run `holdfast doctor --fix` to continue without the rest.",
        )

    def _corrupt(self, offset: int) -> Corrupt:
        return Corrupt(
            f"{self.shown} is damaged at byte {offset}.",
            next_step="Run `holdfast doctor --repair`: it keeps the damaged file and every intact line.",
        )

    def _leave_hint(self, acknowledged: int) -> None:
        # Without it, reading is slower and truncation goes unnoticed.
        with suppress(OSError), safeopen.opened(self.hint_path, os.O_WRONLY | os.O_CREAT) as fd:
            os.write(fd, _HINT % (self._checkpoint, acknowledged))


def hint_of(path: str) -> Hint:
    """The contents of the hint at ``path``; empty when it is missing or unreadable."""
    with suppress(OSError, ValueError, OverflowError), safeopen.reader(path) as file:
        checkpoint, acknowledged = map(int, file.read(40).split())
        return Hint(max(checkpoint, 0), acknowledged)
    return Hint()


def _whole_length(file: BinaryIO, size: int) -> int:
    """The file's length up to and including its last complete line."""
    file.seek(size - 1)
    if file.read(1) == b"\n":
        start = _line_start(file, size - 1)
        file.seek(start)
        return size if decode(file.read(size - 1 - start)) is not None else start
    return _line_start(file, size)


def _line_start(file: BinaryIO, end: int) -> int:
    while end > 0:
        begin = max(0, end - _CHUNK)
        file.seek(begin)
        at = file.read(end - begin).rfind(b"\n")
        if at >= 0:
            return begin + at + 1
        end = begin
    return 0


def session_files(state: str) -> list[str]:
    """Paths of the journals in ``state/sessions``, sorted. Raises: Unavailable."""
    folder = os.path.join(state, "sessions", "")  # ends in a separator: a year has thousands of journals
    return [folder + name for name in private.names(folder) if name.endswith(".jsonl")]


def session_id_of(path: str, *, private: bool = True) -> str | None:
    """A journal file's session, None when its first line is damaged or from elsewhere. Raises: Unavailable."""
    with suppress(Corrupt), durable.reporting(path, "read"), opened(path, private=private) as file:
        record = decode(file.readline().rstrip(b"\n"))
        return str(record["id"]) if record and record.get("kind") == "session" else None
    return None
