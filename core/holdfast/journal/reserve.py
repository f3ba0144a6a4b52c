"""Sessions whose UNSAFE marker could not be written, in a file whose space was taken before it was needed.

On a full disk, or in a folder that nobody may write to, no marker can be made. ``state/unsafe.reserve`` exists by then
and is written in place, which needs neither a free block nor a new name. A line has a flag, a time and the stem of the
session's journal; a blank line is free. A note moves into the marker as soon as a marker can be written.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Final, NamedTuple

from holdfast.errors import Unavailable
from holdfast.fs import durable, private, safeopen

FILE: Final = "unsafe.reserve"
_LINE: Final = 128  # bytes; the stem of a journal has 80 at most
_LINES: Final = 64
_BLANK: Final = b" " * (_LINE - 1) + b"\n"
_WAIT_S: Final = 2.0


class Note(NamedTuple):
    """``at`` is ISO-8601. ``stated`` is true when the flush that failed had a stated payload, which is lost."""

    stem: str
    at: str
    stated: bool


def make(state: str) -> None:
    """Take the space, durably, unless it is taken. Raises: Unavailable."""
    path = os.path.join(state, FILE)
    try:
        if os.stat(path).st_size == _LINE * _LINES:
            return
    except FileNotFoundError:
        pass
    except OSError as error:
        raise durable.unavailable(error, path, "read") from error
    private.make(state)
    with private.lock(path):  # its lock file is there from now on, too
        kept = b"".join(_line(note) for note in notes(state))
        durable.replace(path, kept + _BLANK * (_LINES - len(kept) // _LINE))


def notes(state: str) -> list[Note]:
    """The sessions that are UNSAFE without a marker, oldest first. Raises: Unavailable."""
    path = os.path.join(state, FILE)
    try:
        with safeopen.reader(path) as file:
            return _parsed(file.read(_LINE * _LINES))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise durable.unavailable(error, path, "read") from error


def adopt(state: str, data: bytes) -> None:
    """Take over the notes of another private folder, as the bytes of its file. Raises: Unavailable."""
    make(state)
    path = os.path.join(state, FILE)
    with _held(path):
        there = notes(state)
        known = {note.stem for note in there}
        _write(path, [*there, *(note for note in _parsed(data) if note.stem not in known)])


def _parsed(data: bytes) -> list[Note]:
    found = (line.split() for line in data.decode("utf-8", "replace").split("\n") if line.strip())
    return [Note(parts[2], parts[1], parts[0] == "P") for parts in found if len(parts) == 3]


def of(state: str, stem: str) -> Note | None:
    """The note of one session. Raises: Unavailable."""
    return next((note for note in notes(state) if note.stem == stem), None)


def add(state: str, stem: str, at: str, *, stated: bool) -> None:
    """Note in place, durably, that the session is UNSAFE. Raises: Unavailable, when there is no room either."""
    path = os.path.join(state, FILE)
    with _held(path):
        there = notes(state)
        old = next((note for note in there if note.stem == stem), None)
        new = Note(stem, at, stated or (old is not None and old.stated))
        _write(path, [*(note for note in there if note.stem != stem), new])


def clear(state: str, stem: str) -> None:
    """Take the session's note out, durably. Raises: Unavailable."""
    if of(state, stem) is None:
        return
    path = os.path.join(state, FILE)
    with _held(path):
        _write(path, [note for note in notes(state) if note.stem != stem])


@contextmanager
def _held(path: str) -> Iterator[None]:
    """Hold the lock where one can be had: it may be what the disk has no room for."""
    with ExitStack() as held:
        with suppress(Unavailable):
            held.enter_context(private.lock(path, timeout_s=_WAIT_S))
        yield


def _write(path: str, notes: list[Note]) -> None:
    data = b"".join(map(_line, notes))
    data += _BLANK * (_LINES - len(notes))
    try:
        if len(data) != _LINE * _LINES or os.stat(path).st_size != len(data):
            raise Unavailable("There is no room for a note about a session that is UNSAFE.", next_step="Free some.")
        fd = safeopen.open_fd(path, os.O_WRONLY)
        try:
            os.write(fd, data)
            os.fsync(fd)
        finally:
            os.close(fd)
    except OSError as error:
        raise durable.unavailable(error, path, "write") from error


def _line(note: Note) -> bytes:
    text = f"{'P' if note.stated else '-'} {note.at} {note.stem}"
    return text.encode("utf-8", "replace")[: _LINE - 1].ljust(_LINE - 1) + b"\n"
