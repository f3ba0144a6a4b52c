"""Adopt private state that was put aside: from another account, a container, a copy, or an older version.

The user requests this after seeing the state's contents, because holdfast then acts on it: turns are flushed into the
notes, and waiting comments are published. Every file is copied as this user's own and then removed from its old place.
Files that cannot be taken stay there.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from stat import S_ISDIR
from typing import Final

from attrs import frozen

from holdfast.errors import Unavailable
from holdfast.fs import durable, private, safeopen
from holdfast.fs.safeopen import Folder
from holdfast.journal import emergency_log
from holdfast_app.journal import journal, past
from holdfast_app.journal.journal import Journal
from holdfast_app.project_settings.statefolder import INDEX_SEEN
from holdfast_app.records import packs
from holdfast_app.sessions import rewriting
from holdfast_redaction.mark import KEY_FILE

_SESSIONS = "sessions"
#: Not adopted, because they are meaningless elsewhere, rebuilt on demand, or unsafe. An intent to append may name any
#: document and any position.
_OF_ITS_PLACE = frozenset(
    {".gitignore", private.MARK, INDEX_SEEN, "append.intent", "facts.mark", f"{past.FOLDER}/{past.INDEX}"}
)
#: Files and folders rebuilt on demand: clients' records and heartbeats, and the key of redaction marks.
_REBUILT = ("agents/", "heartbeats/", KEY_FILE)
_OF_ITS_PLACE_ENDS = (".lock", ".hint", ".mark", durable.TEMP_SUFFIX)
#: A larger file is left, because it is read whole.
_MOST_BYTES: Final = 256 << 20


@frozen(kw_only=True)
class Held:
    """Contents of one folder of foreign state. ``sessions`` and ``unsafe`` are file names without suffix; ``waiting``
    counts unpublished comments; ``files`` and ``size`` (bytes) cover everything. ``problem`` is the reason when it
    cannot be read, otherwise empty."""

    path: str
    sessions: tuple[str, ...] = ()
    unsafe: tuple[str, ...] = ()
    waiting: int = 0
    files: int = 0
    size: int = 0
    problem: str = ""


@frozen(kw_only=True)
class Adopted:
    """Names of the adopted files, and of those left, each with the reason."""

    taken: tuple[str, ...]
    left: tuple[tuple[str, str], ...]


def contents(aside: str) -> Held:
    """List everything in the folder ``aside``, without following links or changing anything."""
    try:
        files = list(_files(aside, ""))
        sizes = [safeopen.stat(os.path.join(aside, name)).st_size for name in files]
        waiting = 0
        if private.OUTBOX in files:
            waiting = safeopen.read(os.path.join(aside, private.OUTBOX), _MOST_BYTES, private=False).count(b"\n")
    except OSError as error:
        return Held(path=aside, problem=error.strerror or str(error))
    sessions, unsafe = _stems(files, _SESSIONS, ".jsonl"), _stems(files, "unsafe", ".json")
    return Held(path=aside, sessions=sessions, unsafe=unsafe, waiting=waiting, files=len(files), size=sum(sizes))


def adopt(state: str, aside: str) -> Adopted:
    """Move the contents of ``aside`` into the private folder ``state``. Repeating it completes an interrupted run.

    A session in both becomes an additional session, and a log in both is merged. Any other file in both stays aside.
    Raises: Unavailable.
    """
    taken: list[str] = []
    left: list[tuple[str, str]] = []
    with durable.reporting(aside, "read"):
        names = list(_files(aside, ""))
    private.make(state)
    if not os.path.lexists(aside):  # another account had put this user's own state aside
        return Adopted(taken=tuple(names), left=())
    for name in names:
        is_needed = name not in _OF_ITS_PLACE and not name.endswith(_OF_ITS_PLACE_ENDS)
        try:
            if is_needed:
                _take(state, aside, name)
            with Folder(os.path.dirname(os.path.join(aside, name)), syncable=True) as folder:
                folder.unlink(os.path.basename(name))
        except OSError as error:
            left.append((name, error.strerror or str(error)))
        except Unavailable as error:
            left.append((name, error.message))
        else:
            taken += [name] if is_needed else []
    for path, _, _ in os.walk(aside, topdown=False):
        with suppress(OSError):  # a file stays in it
            os.rmdir(path)
    return Adopted(taken=tuple(taken), left=tuple(left))


def _take(state: str, aside: str, name: str) -> None:
    """Copy one file. Raises: OSError, also for a file that is not copied; Unavailable."""
    folder, base = os.path.split(os.path.join(aside, name))
    with Folder(folder) as opened:
        status = opened.stat(base)
    if status.st_nlink > 1:
        raise OSError("It has several names (hard links)")
    if status.st_size > _MOST_BYTES:
        raise OSError(f"It is larger than {_MOST_BYTES >> 20} MiB")
    if name.startswith(f"{past.FOLDER}/"):
        for packed, data in packs.unpacked(os.path.join(aside, name)):
            _add_journal(state, packed.session, data)
        return
    data = safeopen.read(os.path.join(aside, name), private=False)
    *parts, last = name.split("/")
    target = os.path.join(private.make(state, *parts), last)
    own = private.read(target)
    if own is None and parts == [_SESSIONS]:
        own = past.read(state, last.removesuffix(".jsonl"))
    is_journal = parts == [_SESSIONS] and last.endswith(".jsonl")
    session_id = journal.session_id_of(os.path.join(aside, name), private=False) if is_journal else None
    if session_id is not None:
        _add_journal(state, session_id, data)
    elif name == emergency_log.FILE:
        emergency_log.make(state)
        known_notes = {note.stem for note in emergency_log.notes(state)}
        for note in emergency_log.parsed(data):
            if note.stem not in known_notes:
                emergency_log.add(state, note.stem, note.at, stated=note.stated)
    elif own is None:
        durable.replace(target, data)
    elif own == data or name.startswith(_REBUILT):  # of the latter the present state's own version is used
        return
    elif is_journal:  # damaged at its beginning
        _add_session(state, last, data)
    elif last.endswith(".jsonl"):
        known = set(own.splitlines())
        lines = [line for line in data.splitlines() if line and line not in known]
        with private.lock(target):
            durable.replace(target, b"".join(line + b"\n" for line in lines) + safeopen.read(target))
    else:
        raise OSError("This user's state already has its own")


def _add_journal(state: str, session_id: str, data: bytes) -> None:
    private.make(state, _SESSIONS)
    own = Journal(state, session_id)
    if not own.exists():
        durable.replace(own.path, rewriting.adopted(data, session_id))
    elif own.data().partition(b"\n")[2] != data.partition(b"\n")[2]:
        _add_session(state, session_id, data)


def _add_session(state: str, session_id: str, data: bytes) -> None:
    """Add the session under a new id, unless an interrupted run has. A random number makes first lines differ."""
    for number in count(1):
        added = Journal(state, f"{session_id}-adopted-{number}")
        whole = rewriting.whole_lines(data, added.session_id)[0]
        if not added.exists():
            durable.replace(added.path, whole)
            return
        if added.data().partition(b"\n")[2] == whole.partition(b"\n")[2]:
            return


def _files(base: str, inside: str) -> Iterator[str]:
    """Relative names of everything except folders, with slashes, sorted. Links are listed but never followed."""
    with Folder(os.path.join(base, inside) if inside else base) as folder:
        modes = [(name, folder.stat(name).st_mode) for name in folder.names()]
    for name, mode in modes:
        path = f"{inside}/{name}" if inside else name
        if S_ISDIR(mode):
            yield from _files(base, path)
        else:
            yield path


def _stems(names: list[str], folder: str, end: str) -> tuple[str, ...]:
    """File names in ``folder`` with this suffix, without it."""
    pairs = [os.path.split(name) for name in names if name.endswith(end)]
    return tuple(base.removesuffix(end) for above, base in pairs if above == folder)
