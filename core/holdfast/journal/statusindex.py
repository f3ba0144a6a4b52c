"""An index of SAFE sessions, ``state/safe.jsonl``, so that a status check does not reread every journal.

A row holds the result of :mod:`holdfast.session.status` for a journal, with the journal's size and modification time.
It counts only while both are unchanged, so any write to the journal, by any process, invalidates it. Nothing else
depends on the file. It is rebuilt from the journals when missing or damaged, and is not flushed to disk.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from holdfast.errors import Unavailable
from holdfast.fs import durable, private, records, safeopen
from holdfast.fs.safeopen import Folder
from holdfast.journal import journal

FILE: Final = "safe.jsonl"
#: Number of journal reads that the index could have saved before it is written.
WORTH_KEEPING: Final = 16


class Stamp(NamedTuple):
    """A journal's size in bytes and modification time in nanoseconds."""

    size: int
    changed_ns: int


class StatusIndex:
    """One project's journals, and the rows of those unchanged since their session was found SAFE.

    Raises: Unavailable when the journals cannot be listed.
    """

    def __init__(self, state: str) -> None:
        self._path = os.path.join(state, FILE)
        #: Every journal's path, sorted, with its stamp.
        self.journals = _stamps(journal.session_files(state))
        rows = self._read()
        self._rows = {path: rows[path] for path, at in self.journals.items() if path in rows and rows[path][0] == at}
        self._learned = 0

    def get(self, path: str) -> dict[str, Any] | None:
        """An unchanged journal's row, as passed to :meth:`learn`."""
        found = self._rows.get(path)
        return found[1] if found else None

    def learn(self, path: str, row: dict[str, Any]) -> None:
        """Keep ``row``, plain JSON, for a journal read after this object was created."""
        self._rows[path] = (self.journals[path], row)
        self._learned += 1

    def save(self) -> None:
        """Write the index when enough is new. A failure, or another process writing it, is not an error."""
        if self._learned < WORTH_KEEPING:
            return
        try:
            with private.lock(self._path, timeout_s=0):
                # A purge holds this lock while it edits the index, and edits the journals afterwards. A changed
                # journal's row must not come back.
                now = _stamps(self._rows)
                lines = [_line(path, at, row) for path, (at, row) in sorted(self._rows.items()) if now.get(path) == at]
                durable.replace(self._path, b"".join(lines), flush=False)
        except Unavailable:
            return
        self._learned = 0

    def _read(self) -> dict[str, tuple[Stamp, dict[str, Any]]]:
        """The file's rows, by path; damaged lines are left out."""
        try:
            lines = safeopen.read(self._path).splitlines()
        except OSError:
            return {}
        folder = os.path.join(os.path.dirname(self._path), "sessions")
        found = {}
        for record in filter(None, map(records.decode, lines)):
            try:
                stamp = Stamp(record.pop("size"), record.pop("changed_ns"))
                found[os.path.join(folder, record.pop("journal"))] = (stamp, record)
            except (KeyError, TypeError):
                continue
        return found


def _line(path: str, at: Stamp, row: dict[str, Any]) -> bytes:
    return records.encode({"journal": os.path.basename(path), **at._asdict(), **row})


def _stamps(paths: Iterable[str]) -> dict[str, Stamp]:
    """Stamps of existing files, ordered like ``paths``, which are in one folder."""
    found: dict[str, Stamp] = {}
    paths = list(paths)
    if not paths:
        return found
    folder = os.path.dirname(paths[0])
    try:
        with Folder(folder) as opened:
            for path in paths:
                try:
                    seen = opened.stat(os.path.basename(path))
                except FileNotFoundError:
                    continue
                found[path] = Stamp(seen.st_size, seen.st_mtime_ns)
    except OSError as error:
        raise durable.unavailable(error, folder, "list") from error
    return found
