"""Adopt private state that was put aside: from another account, a container, a copy, or an older version.

The user requests this after seeing the state's contents, because holdfast then acts on it: turns are flushed into the
notes, and waiting comments are published. Every file is copied as this user's own and then removed from its old place.
Files that cannot be taken stay there.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from attrs import frozen

from holdfast.errors import Unavailable
from holdfast.fs import durable, private, safeopen
from holdfast.fs.safeopen import Folder
from holdfast.journal import emergency_log, journal
from holdfast.journal.journal import Journal
from holdfast_app.sessions import rewriting
from holdfast_redaction.mark import KEY_FILE

_SESSIONS = "sessions"
#: Not adopted, because they are meaningless elsewhere, rebuilt on demand, or unsafe. An intent to append may name any
#: document and any position.
_OF_ITS_PLACE = frozenset({".gitignore", private.MARK, private.INDEX_SEEN, "append.intent", "facts.mark"})
#: Files and folders that are rebuilt on demand: clients' records and heartbeats, and the key of redaction marks.
_REBUILT = ("agents", "heartbeats", KEY_FILE)
_OF_ITS_PLACE_ENDS = (".lock", ".hint", ".mark", durable.TEMP_SUFFIX)


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
        found = list(_files(aside, ""))
        sizes = [safeopen.stat(os.path.join(aside, name)).st_size for name in found]
        waiting = 0
        if private.OUTBOX in found:
            waiting = safeopen.read(os.path.join(aside, private.OUTBOX), private=False).count(b"\n")
    except OSError as error:
        return Held(path=aside, problem=error.strerror or str(error))
    return Held(
        path=aside,
        sessions=_stems(found, _SESSIONS, ".jsonl"),
        unsafe=_stems(found, "unsafe", ".json"),
        waiting=waiting,
        files=len(found),
        size=sum(sizes),
    )


def adopt(state: str, aside: str) -> Adopted:
    """Move the contents of ``aside`` into the private folder ``state``. Repeating it completes an interrupted run.

    A session in both becomes an additional session, and a log in both is merged. Any other file in both stays aside.
    Raises: Unavailable.
    """
    private.make(state)
    taken: list[str] = []
    left: list[tuple[str, str]] = []
    try:
        names = list(_files(aside, ""))
    except OSError as error:
        raise durable.unavailable(error, aside, "read") from error
    for name in names:
        try:
            why = "" if _is_of_its_place(name) else _take(state, aside, name)
            if why:
                left.append((name, why))
                continue
            with Folder(os.path.dirname(os.path.join(aside, name)), syncable=True) as folder:
                folder.unlink(os.path.basename(name))
        except OSError as error:
            left.append((name, error.strerror or str(error)))
        except Unavailable as error:
            left.append((name, error.message))
        else:
            if not _is_of_its_place(name):
                taken.append(name)
    _remove_empty(aside)
    return Adopted(taken=tuple(taken), left=tuple(left))


def _take(state: str, aside: str, name: str) -> str:
    """Copy one file; returns the reason if it was not copied, otherwise an empty string. Raises: OSError,
    Unavailable."""
    folder, base = os.path.split(os.path.join(aside, name))
    with Folder(folder) as opened:
        if opened.stat(base).st_nlink > 1:
            return "It has several names (hard links)"
    data = safeopen.read(os.path.join(aside, name), private=False)
    *parts, last = name.split("/")
    target = os.path.join(private.make(state, *parts), last)
    try:
        own = safeopen.read(target)
    except FileNotFoundError:
        own = None
    if name == emergency_log.FILE:
        emergency_log.adopt(state, data)
    elif own is None:
        durable.replace(target, data)
    elif own == data:
        return ""
    elif parts == [_SESSIONS] and last.endswith(".jsonl"):
        _add_session(state, os.path.join(aside, name), data)
    elif last.endswith(".jsonl"):
        known = set(own.splitlines())
        lines = [line for line in data.splitlines() if line and line not in known]
        with private.lock(target):
            durable.replace(target, b"".join(line + b"\n" for line in lines) + safeopen.read(target))
    elif not _is_rebuilt(name):
        return "This user's state already has its own"
    return ""


def _is_rebuilt(name: str) -> bool:
    """Whether the file is rebuilt on demand. The present state's own version is then used, and the other is not
    needed."""
    return any(name == one or name.startswith(f"{one}/") for one in _REBUILT)


def _add_session(state: str, path: str, data: bytes) -> None:
    session_id = journal.session_id_of(path, private=False) or os.path.basename(path)
    number = 1
    while Journal(state, name := f"{session_id}-adopted-{number}").exists():
        if _is_same(state, name, data):
            return
        number += 1
    durable.replace(Journal(state, name).path, rewriting.whole_lines(data, name)[0])


def _is_same(state: str, session_id: str, data: bytes) -> bool:
    """Whether the session is :func:`adopt`'s result for ``data``. First lines differ, because they hold a random
    number."""
    own = safeopen.read(Journal(state, session_id).path)
    return own.partition(b"\n")[2] == rewriting.whole_lines(data, session_id)[0].partition(b"\n")[2]


def _is_of_its_place(name: str) -> bool:
    return name in _OF_ITS_PLACE or name.endswith(_OF_ITS_PLACE_ENDS)


def _files(base: str, inside: str) -> Iterator[str]:
    """Relative names of everything except folders, with slashes, sorted. Links are listed but never followed."""
    from stat import S_ISDIR

    with Folder(os.path.join(base, inside) if inside else base) as folder:
        modes = [(name, folder.stat(name).st_mode) for name in folder.names()]
    for name, mode in modes:
        path = f"{inside}/{name}" if inside else name
        if S_ISDIR(mode):
            yield from _files(base, path)
        else:
            yield path


def _stems(names: list[str], folder: str, end: str) -> tuple[str, ...]:
    return tuple(
        name.removeprefix(f"{folder}/").removesuffix(end)
        for name in names
        if name.startswith(f"{folder}/") and name.endswith(end)
    )


def _remove_empty(folder: str) -> None:
    for path, _, _ in os.walk(folder, topdown=False):
        try:
            os.rmdir(path)
        except OSError:
            continue
