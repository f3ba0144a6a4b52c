"""Sessions whose UNSAFE marker could not be written, in a file whose space was reserved in advance.

On a full disk or in a read-only folder, no marker can be created. ``state/unsafe.reserve`` already exists then and is
written in place, which needs neither a free block nor a new name. A line has a flag, a time and the session's journal
stem. Blank lines are free. A note moves into the marker as soon as that can be written.

The user's folder also remembers failed flushes, and sessions whose first line could not be written, because the private
folder may not exist, or may be removed. There a note is an empty file, ``unsafe/PROJECT.STEM``: a name alone needs no
free block. It counts only while the session has no journal, which otherwise says more.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Final, NamedTuple

from holdfast.errors import Unavailable
from holdfast.fs import durable, ownership_mark, private, safeopen

FILE: Final = "unsafe.reserve"
_LINE: Final = 128  # in bytes. A journal's stem has at most 80.
_LINES: Final = 64
_BLANK: Final = b" " * (_LINE - 1) + b"\n"
_WAIT_S: Final = 2.0
_FOLDER: Final = "unsafe"


class Note(NamedTuple):
    """``at`` is ISO-8601. ``stated`` is true when the failed flush had a stated payload, which is lost. ``away``
    marks a note in the user's folder."""

    stem: str
    at: str
    stated: bool = False
    away: bool = False


def make(state: str) -> None:
    """Reserve the space, durably, unless already reserved. Raises: Unavailable."""
    path = os.path.join(state, FILE)
    with durable.reporting(path, "read"), suppress(FileNotFoundError):
        if os.stat(path).st_size == _LINE * _LINES:
            return
    private.make(state)
    with private.lock(path):  # its lock file exists from now on, too
        used = b"".join(_line(note) for note in _in_place(state))
        durable.replace(path, used + _BLANK * (_LINES - len(used) // _LINE))


def notes(state: str) -> list[Note]:
    """The sessions that are UNSAFE even without a marker, oldest first. Raises: Unavailable."""
    there = _in_place(state)
    folder, head = os.path.split(away_path(state, ""))
    stems = {name.removeprefix(head) for name in private.names(folder) if name.startswith(head)}
    away = filter(None, (_away(state, stem) for stem in stems - {note.stem for note in there}))
    return [*there, *sorted(away, key=lambda note: (note.at, note.stem))]


def _in_place(state: str) -> list[Note]:
    return parsed((private.read(os.path.join(state, FILE)) or b"")[: _LINE * _LINES])


def _away(state: str, stem: str) -> Note | None:
    """The session's note in the user's folder, unless it has a journal. A full disk can leave an empty one."""
    with suppress(OSError):
        if os.lstat(os.path.join(state, "sessions", f"{stem}.jsonl")).st_size > 0:
            return None
    path = away_path(state, stem)
    with durable.reporting(path, "read"), suppress(FileNotFoundError, NotADirectoryError):
        at = os.lstat(path).st_mtime
        from datetime import UTC, datetime

        return Note(stem, datetime.fromtimestamp(at, UTC).isoformat(), away=True)
    return None


def away_path(state: str, stem: str) -> str:
    return f"{ownership_mark.away_path(_FOLDER, state)}.{stem}"


def add_away(state: str, stem: str) -> None:
    """Note the session in the user's folder, durably. Raises: Unavailable."""
    path = away_path(state, stem)
    durable.make_private_dir(os.path.dirname(path))
    with durable.reporting(path, "write"):
        os.close(safeopen.open_fd(path, os.O_WRONLY | os.O_CREAT))
    durable.fsync_dir(os.path.dirname(path))


def clear_away(state: str, stem: str) -> None:
    with suppress(OSError):
        os.unlink(away_path(state, stem))


def parsed(data: bytes) -> list[Note]:
    """The lines that a note can be. A stem becomes part of a path, so it is a plain file name."""
    rows = (line.split() for line in data.strip().decode("utf-8", "replace").split("\n") if line.strip())
    return [
        Note(parts[2], parts[1], parts[0] == "P")
        for parts in rows
        if len(parts) == 3 and parts[2].isprintable() and not set(parts[2]) & {"/", "\\"}
    ]


def of(state: str, stem: str) -> Note | None:
    """One session's note. Raises: Unavailable."""
    return next((note for note in _in_place(state) if note.stem == stem), None) or _away(state, stem)


def add(state: str, stem: str, at: str, *, stated: bool) -> None:
    """Note in place, durably, that the session is UNSAFE. Raises: Unavailable, also when the reserve is full."""
    path = os.path.join(state, FILE)
    with _held(path):
        there = _in_place(state)
        old = next((note for note in there if note.stem == stem), None)
        new = Note(stem, at, stated or (old is not None and old.stated))
        _write(path, [*(note for note in there if note.stem != stem), new])


def clear(state: str, stem: str) -> None:
    """Remove the session's notes, durably in place. Raises: Unavailable."""
    clear_away(state, stem)
    if all(note.stem != stem for note in _in_place(state)):
        return
    path = os.path.join(state, FILE)
    with _held(path):
        _write(path, [note for note in _in_place(state) if note.stem != stem])


@contextmanager
def _held(path: str) -> Iterator[None]:
    """Hold the lock if possible. The disk may have no space even for the lock file."""
    with ExitStack() as held:
        with suppress(Unavailable):
            held.enter_context(private.lock(path, timeout_s=_WAIT_S))
        yield


def _write(path: str, notes: list[Note]) -> None:
    data = b"".join(map(_line, notes))
    data += _BLANK * (_LINES - len(notes))
    with durable.reporting(path, "write"):
        if len(data) != _LINE * _LINES or os.stat(path).st_size != len(data):
            raise Unavailable("The disk has no space for a note about an UNSAFE session.", next_step="Free some.")
        with safeopen.opened(path, os.O_WRONLY) as fd:
            os.write(fd, data)
            os.fsync(fd)


def _line(note: Note) -> bytes:
    text = f"{'P' if note.stated else '-'} {note.at} {note.stem}"
    return text.encode("utf-8", "replace")[: _LINE - 1].ljust(_LINE - 1) + b"\n"
