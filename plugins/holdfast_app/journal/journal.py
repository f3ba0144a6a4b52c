"""A session's journal, also from a pack, with the chain through its checkpoints. Everything in the application uses
this class, because a file that the kernel's began anew would hide the packed journal."""

import io
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

from holdfast.fs import durable, private
from holdfast.fs.records import beginning
from holdfast.fs.safeopen import SIZE
from holdfast.journal import beginning as beginnings
from holdfast.journal import journal as kernel
from holdfast_app.journal import past

#: How the lines of messages begin.
MESSAGE = beginning("message")


class Journal(kernel.Journal):
    """As :class:`holdfast.journal.journal.Journal`; a pack may hold it (:mod:`holdfast_app.journal.past`)."""

    def exists(self) -> bool:
        return super().exists() or past.find(self._state, self.stem) is not None

    def size(self) -> int:
        identity = self._identity()
        packed = None if identity else past.find(self._state, self.stem)
        return identity[SIZE] if identity else packed.size if packed else 0

    def unpack(self) -> None:
        """Move a packed journal back, to change it. The caller holds its lock. Raises: Corrupt; Unavailable."""
        if not os.path.lexists(self.path) and (data := past.read(self._state, self.stem)) is not None:
            private.make(self._state, "sessions")
            durable.replace(self.path, data)

    def is_unflushed(self) -> bool:
        """Whether a message was added that no flush covers. Reads from the last flush on. Raises: Unavailable."""
        last = self.last_checkpoint()
        lines = self._lines(last.record["flushed_to"] if last else 0)
        return any(line.startswith(MESSAGE) and line.endswith(b"\n") for _, line in lines)

    def _opened(self) -> BinaryIO:
        return opened(self.path)

    def _linked(self, records: Sequence[dict[str, Any]], size: int, first: bytes) -> Sequence[dict[str, Any]]:
        if all(record["kind"] != "checkpoint" for record in records):  # as in each hook of every turn
            return records
        from holdfast_app.journal import chain

        return chain.link(self.path, records, self._checkpoint, size, first)

    def _passed(self, start: int, checkpoint: dict[str, Any]) -> None:
        from holdfast_app.journal import chain

        super()._passed(start, checkpoint)
        chain.note(self._state, self.stem, start, checkpoint)


def opened(path: str, *, private: bool = True) -> BinaryIO:
    """:func:`holdfast.journal.beginning.opened`, or the journal's bytes from a pack."""
    try:
        return beginnings.opened(path, private=private)
    except FileNotFoundError:
        if (data := past.read(*_packed_name(path))) is None:
            raise
    return beginnings.checked(io.BytesIO(data), path) if private else io.BytesIO(data)


def session_files(state: str, *, packed: bool = False) -> list[str]:
    """Paths of the journals in ``state/sessions``, sorted. With ``packed`` also the former paths of packed
    ones, which :class:`Journal` and the functions here read from their packs. Raises: Unavailable."""
    files = kernel.session_files(state)
    there = [os.path.join(state, "sessions", f"{entry.stem}.jsonl") for entry in past.every(state)] if packed else []
    return sorted({*files, *there}) if there else files


def every(state: str, *, packed: bool = False) -> Iterator[Journal]:
    """The journals whose first line is readable, see :func:`session_files`. Raises: Unavailable."""
    ids = map(session_id_of, session_files(state, packed=packed))
    return (Journal(state, session_id) for session_id in ids if session_id is not None)


def session_id_of(path: str, *, private: bool = True) -> str | None:
    """A journal file's session, None when its first line is damaged or from elsewhere. Raises: Unavailable."""
    if not os.path.lexists(path) and (entry := past.find(*_packed_name(path))) is not None:
        return entry.session
    return kernel.session_id_of(path, private=private)


def retire(path: str) -> None:
    """Remove a lock file that this process holds. A waiting process notices that its file no longer has a name, and
    opens a new one. Where an open file cannot be removed (Windows), the empty file stays. Raises: Unavailable."""
    if sys.platform != "win32":
        durable.remove(path)


def _packed_name(path: str) -> tuple[str, str]:
    folder, name = os.path.split(path)
    return os.path.dirname(folder), name.removesuffix(".jsonl")
