"""The private folder: its content concerns one user on one machine, so git ignores it and it has that user's mark.

A folder without the mark came with a clone, a copy or another account. It is put aside under another name, never read
and never deleted: :func:`check` before anything in it is read, :func:`make` before anything is written.
``holdfast trust --adopt-state`` takes it over, see :mod:`holdfast.journal.adoption`.
"""

from __future__ import annotations

import os
import time
from stat import S_IMODE, S_ISDIR, S_ISREG

from holdfast.errors import Unavailable
from holdfast.fs import durable, safeopen, statemark
from holdfast.fs.safeopen import Folder

#: Remembers the index of git that was last searched for files of the private folder, see :mod:`holdfast.fs.tracked`.
INDEX_SEEN = "git-index"
#: The folder of files that can be made again from what is stored. A purge removes everything in it but locks.
DERIVED = "derived"
_IGNORE = ".gitignore"
_TO_IGNORE = b"*\n"
#: Follows the folder's own name where it was put aside.
ASIDE = ".foreign-"
_WAIT_S = 10.0

#: Folders that this process has found to be marked: device, inode and change time of their marks. A mark is written
#: once, so these stay the same as long as the folder does.
_checked: dict[str, tuple[int, int, int]] = {}


def make(state: str, *parts: str) -> str:
    """Make the private folder ``state`` (or a folder in it) when it is missing, mode 0700, and return its path.

    It gets a ``.gitignore`` with ``*`` and the mark before anything else is in it. A folder of other origin is put
    aside first. Costs one look at the mark, and one at the folder in it, when all exists: hooks come here at each
    event. Raises: Unavailable; ConfigError for a key that cannot be used.
    """
    if not _is_checked(state) and not _is_marked(state):
        _establish(state)
    return _folder_in(state, parts) if parts else state


def lock(path: str, *, timeout_s: float = 10.0) -> durable.Lock:
    """The lock of a file in the private folder: ``NAME.lock`` for ``NAME.jsonl`` next to it.

    Whoever changes a file that other processes append to holds it, and so does the sweep of a purge, which rewrites
    whole files: an append in between would be lost. Raises: as :func:`holdfast.fs.durable.lock`.
    """
    return durable.lock(lock_path(path), timeout_s=timeout_s)


def lock_path(path: str) -> str:
    """The name of the lock of :func:`lock`."""
    return os.path.splitext(path)[0] + ".lock"


def check(state: str) -> None:
    """Put aside a private folder that this user did not make. Makes nothing, and changes nothing when it is this
    user's or missing.

    Raises: Unavailable when it cannot be put aside; ConfigError for a key that cannot be used.
    """
    if _is_checked(state) or not os.path.lexists(state) or _is_marked(state):
        return
    with _settling(state) as (parent, name):
        if not _is_marked(state) and not _is_blank(parent, name):
            _put_aside(parent, name)
            _take_back(parent, name)


def foreign(state: str) -> list[str]:
    """Paths next to ``state`` at which state of another user or machine was put aside, oldest first."""
    folder, name = os.path.split(state)
    try:
        found = [one for one in safeopen.names(folder) if one.startswith(name + ASIDE)]
    except OSError:
        return []
    return [path for path in (os.path.join(folder, one) for one in found) if not statemark.is_valid(path)]


def notice(state: str) -> str:
    """A sentence about state that was put aside, with the next step; empty when there is none."""
    found = foreign(state)
    if not found:
        return ""
    shown = f"`{os.path.basename(os.path.dirname(state))}/{os.path.basename(found[-1])}`"
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    return (
        f"State of another user or machine was put aside ({shown}{more}); unflushed work may be in it. "
        "`holdfast trust --adopt-state` shows it and takes it over."
    )


def ignore(state: str) -> None:
    """Write the ``.gitignore``. Raises: Unavailable."""
    durable.replace(os.path.join(state, _IGNORE), _TO_IGNORE)


def ignores_itself(state: str) -> bool:
    """Whether the folder has a ``.gitignore``."""
    try:
        return S_ISREG(safeopen.stat(os.path.join(state, _IGNORE)).st_mode)
    except OSError:
        return False


def put_aside_name(name: str) -> str:
    """A new name for what was found at ``name``."""
    return f"{name}{ASIDE}{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{os.urandom(2).hex()}"


def _is_checked(state: str) -> bool:
    known = _checked.get(state)
    return known is not None and known == _identity(state)


def _identity(state: str) -> tuple[int, int, int] | None:
    try:
        found = os.lstat(os.path.join(state, statemark.FILE))
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_ctime_ns


def _is_marked(state: str) -> bool:
    """Whether the mark is valid; then the folder is closed to others and ignores itself from now on."""
    before = _identity(state)
    if not statemark.is_valid(state) or before is None:
        return False
    _close_to_others(os.path.abspath(state))
    if not ignores_itself(state):
        ignore(state)
    _checked[state] = before
    return True


def _establish(state: str) -> None:
    """Make and mark the folder. A crash leaves it without content, so that the next process does it again."""
    durable.make_private_dir(os.path.dirname(state))
    with _settling(state) as (parent, name):
        if _is_marked(state):  # another process was quicker
            return
        if _exists(parent, name) and not _is_blank(parent, name):
            _put_aside(parent, name)
        if not _exists(parent, name):
            _take_back(parent, name)
            if _is_marked(state):
                return
        durable.make_private_dir(state)
        # Whoever made the rest of the way may have been killed before it was durable. The mark comes last: where it
        # is, the folder's own name is durable.
        durable.fsync_dir(os.path.dirname(state))
        durable.fsync_dir(os.path.dirname(os.path.dirname(state)))
        ignore(state)
        statemark.write(state)
        _is_marked(state)


class _settling:  # noqa: N801 - used like a function
    """Holds the lock on the folder around ``state`` and opens it: of several processes that find the same foreign
    folder, one puts it aside."""

    def __init__(self, state: str) -> None:
        self._state = os.path.abspath(state)
        self._lock = durable.FolderLock(os.path.dirname(self._state), _WAIT_S)

    def __enter__(self) -> tuple[Folder, str]:
        try:
            self._parent = Folder(os.path.dirname(self._state), syncable=True)
        except OSError as error:
            raise durable.unavailable(error, os.path.dirname(self._state), "open the folder") from error
        entered = False
        try:
            self._lock.__enter__()
            entered = True
        finally:
            if not entered:
                self._parent.close()
        return self._parent, os.path.basename(self._state)

    def __exit__(self, *exc: object) -> None:
        self._parent.close()
        self._lock.__exit__(None, None, None)


def _exists(parent: Folder, name: str) -> bool:
    try:
        parent.stat(name)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise durable.unavailable(error, os.path.join(parent.path, name), "find") from error
    return True


def _is_blank(parent: Folder, name: str) -> bool:
    """Whether the folder is this user's and holds nothing but what a crash in :func:`_establish` leaves."""
    path = os.path.join(parent.path, name)
    try:
        found = parent.stat(name)
        if not S_ISDIR(found.st_mode) or (hasattr(os, "geteuid") and found.st_uid != os.geteuid()):
            return False
        with Folder(path) as folder:
            return all(_is_own_leaving(folder, one) for one in folder.names())
    except FileNotFoundError:
        return True
    except OSError as error:
        raise durable.unavailable(error, path, "look into") from error


def _is_own_leaving(folder: Folder, name: str) -> bool:
    unfinished = name.startswith(durable.TEMP_PREFIX) and name.endswith(durable.TEMP_SUFFIX)
    return (name == _IGNORE or unfinished) and S_ISREG(folder.stat(name).st_mode)


def _put_aside(parent: Folder, name: str) -> None:
    aside = put_aside_name(name)
    try:
        parent.rename(name, aside)
        parent.sync()
    except OSError as error:
        reason = os.strerror(error.errno or 0)
        raise Unavailable(
            f"The private folder {name!r} is not of this user on this machine and cannot be put aside: {reason}.",
            next_step="Rename it, or give this user write permission on the folder around it, then try again.",
        ) from error
    try:  # so that git does not offer it; in another user's folder that is not possible
        with Folder(os.path.join(parent.path, aside)) as folder:
            if _IGNORE not in folder.names():
                fd = folder.open(_IGNORE, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
                try:
                    os.write(fd, _TO_IGNORE)
                finally:
                    os.close(fd)
    except OSError:
        pass


def _take_back(parent: Folder, name: str) -> None:
    """Give this user's own state its name again, where another account has put it aside."""
    for aside in reversed([one for one in parent.names() if one.startswith(name + ASIDE)]):
        if statemark.is_valid(os.path.join(parent.path, aside)):
            try:
                parent.rename(aside, name)
                parent.sync()
            except OSError as error:
                raise durable.unavailable(error, aside, "take back") from error
            return


def _folder_in(state: str, parts: tuple[str, ...]) -> str:
    folder = os.path.join(state, *parts)
    try:
        if S_IMODE(os.lstat(folder).st_mode) == 0o700 and os.path.isdir(folder):
            return folder
    except OSError:
        pass
    durable.make_private_dir(folder)
    _close_to_others(folder)
    return folder


def _close_to_others(path: str) -> None:
    above, name = os.path.split(path)
    try:
        with Folder(above) as parent:
            if S_IMODE(parent.stat(name).st_mode) != 0o700:
                parent.chmod(name, 0o700)
    except OSError as error:
        raise durable.unavailable(error, path, "close to others") from error
