"""Finds what can be imported in a file or folder: recordings of clients, exports, and what other programs remember."""

import io
import os
import sqlite3
import zipfile
import zlib
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import BinaryIO, Final, NamedTuple

from holdfast.errors import ConfigError, Corrupt, HoldfastError
from holdfast.fs import safeopen
from holdfast_app import progress, transcripts
from holdfast_app.history import memories
from holdfast_app.history.sessions import Past
from holdfast_app.message_formats.reading import Transcript
from holdfast_app.privacy.transforms import is_database
from holdfast_app.transcripts.rows import elements, lines

#: Longest file, or member of a zip file, that is read, in bytes.
MAX_FILE: Final = 256 << 20
#: Bytes that show whether a file begins like JSON.
_HEAD: Final = 16
_BROKEN: Final = (HoldfastError, OSError, ValueError, RuntimeError, sqlite3.Error, zipfile.BadZipFile, zlib.error)
#: Folders that hold no memory, and Codex's raw input to its other files.
_LEFT_OUT: Final = frozenset({"node_modules", "__pycache__", "raw_memories.md", "phase2_workspace_diff.md"})


class Unread(NamedTuple):
    """A skipped file, and why."""

    name: str
    why: str


class _Unknown(ValueError):
    """A file of no known form."""


#: A conversation, or a program's statements.
_Content = Transcript | list[memories.Statement]


def is_foreign(path: str) -> bool:
    """Whether ``path`` is for :func:`read_all`: neither an archive nor a store of holdfast."""
    try:
        if is_database(path):
            return memories.is_claude_mem(path)
        with safeopen.reader(os.path.realpath(path), private=False) as stream:
            return not zipfile.is_zipfile(stream) or "manifest.json" not in zipfile.ZipFile(stream).namelist()
    except _BROKEN:
        return True


def read_all(path: str, project: str = "", masked: Callable[[str], str] = str) -> tuple[list[Past], list[Unread]]:
    """The sessions in the file or folder ``path``, oldest first, and the skipped files. A file of no known form counts
    as skipped only if it is ``path`` itself. ``project`` names the project's folder. ``masked`` masks a note before
    its lines are joined, which would hide a wrapped secret. Raises: ConfigError for a missing path."""
    if not os.path.exists(path):
        raise ConfigError(f"{path!r} does not exist.", next_step="Pass a file or a folder.")
    sessions, unread = list[Past](), list[Unread]()
    statements: dict[str, list[memories.Statement]] = {}
    newest: dict[str, datetime] = {}
    for name in progress.each(list(_files(path)), "files read"):
        try:
            if os.path.getsize(name) > MAX_FILE:
                raise ValueError(f"it is larger than {MAX_FILE >> 20} MiB")
            at = datetime.fromtimestamp(os.path.getmtime(name), tz=UTC)
            for program, content in _read(name, project, masked):
                if isinstance(content, Transcript):
                    sessions.append(_past(program, content, os.path.splitext(os.path.basename(name))[0], at))
                else:
                    newest[program] = max(at, newest.get(program, at))
                    statements.setdefault(program, []).extend(content)
        except _Unknown:
            unread += [Unread(name, "it has no known form (see `holdfast import --help`)")] if name == path else []
        except _BROKEN as error:
            unread.append(Unread(name, str(error).partition("\n")[0].rstrip(".")))
    for program, stated in statements.items():
        at = newest[program]
        sessions += [_past(program, transcript, program, at) for transcript in memories.sessions(program, stated, at)]
    return sorted((past for past in sessions if past.read().kept), key=lambda past: (past.at, past.name)), unread


def _past(program: str, content: Transcript, name: str, at: datetime) -> Past:
    """The conversation. Without an id or a time it has its file's name and time."""
    dated = content.kept and content.kept[-1].at.timestamp() > 0
    return Past(program, "", content.session_id or name, "", content.kept[-1].at if dated else at, content)


def _files(path: str) -> Iterator[str]:
    """Regular files in order, without links and hidden ones, except for ``path`` itself."""
    if not os.path.isdir(path):
        yield path
        return
    for folder, folders, names in os.walk(path):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _LEFT_OUT)
        for name in sorted(names):
            file = os.path.join(folder, name)
            if not name.startswith(".") and name not in _LEFT_OUT and os.path.isfile(file) and not os.path.islink(file):
                yield file


def _read(path: str, project: str, masked: Callable[[str], str]) -> Iterator[tuple[str, _Content]]:
    """Each part of a file, with its program. Raises: any of ``_BROKEN``."""
    if is_database(path):
        yield from (("claude-mem", [statement]) for statement in memories.claude_mem(path, project))
        return
    with safeopen.reader(os.path.realpath(path), private=False) as stream:
        head, is_zip = stream.read(_HEAD), zipfile.is_zipfile(stream)
        stream.seek(0)
        if is_zip:
            yield from _members(stream)
        elif path.casefold().endswith((".md", ".markdown")):
            yield memories.markdown(masked(stream.read().decode("utf-8")), os.path.basename(path))
        elif head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"["):
            yield from _rows(stream, path)
        elif head.startswith(b"PK\x03\x04"):
            raise ValueError("it is a zip file that was cut off, so copy it again")
        else:
            raise _Unknown


def _members(stream: BinaryIO) -> Iterator[tuple[str, _Content]]:
    """The conversations in an export as it is downloaded, in one file or several."""
    with zipfile.ZipFile(stream) as file:
        infos = [info for info in file.infolist() if os.path.basename(info.filename).startswith("conversations")]
        for info in (info for info in infos if info.filename.endswith(".json")):
            if info.file_size > min(MAX_FILE, 100 * info.compress_size + (1 << 20)):  # text shrinks tenfold
                raise ValueError(f"{info.filename} in it is larger than {MAX_FILE >> 20} MiB, or a hundredfold")
            yield from _rows(io.BytesIO(file.read(info)))
        if not infos:
            raise _Unknown


def _rows(stream: BinaryIO, path: str = "") -> Iterator[tuple[str, _Content]]:
    """Content of the JSON rows in ``stream``, or the file ``path`` as a client's recording. Raises: _Unknown before the
    first one; ValueError after a damaged row."""
    known = damaged = 0
    rows = elements(stream)
    for row in lines(stream) if rows is None else rows:
        value = row.value if isinstance(row.value, dict) else {}
        if conversation := memories.conversation_of(value):
            yield conversation.format, conversation
        elif stated := memories.statements_of(value):
            yield stated
        elif not known and not row.cut:
            try:
                read = transcripts.read(path)
            except (ConfigError, Corrupt) as error:
                raise _Unknown from error
            yield read.format, read
            return
        else:
            damaged += 1
        known += 1
    if damaged:
        others = "; the others were" if damaged < known else ""
        raise ValueError(f"{damaged:,} of its {known:,} rows could not be read{others}")
    if not known:
        raise _Unknown
