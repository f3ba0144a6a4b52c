"""The private folder: its contents belong to one user on one machine, so git ignores it and it has that user's mark.

A folder without the mark came with a clone, a copy or another account. It is put aside under another name, and is never
read or deleted. Call :func:`check` before reading anything in it, and :func:`make` before writing. ``holdfast trust
--adopt-state`` adopts it, see :mod:`holdfast_app.checkup.adoption`.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from stat import S_IMODE, S_ISDIR, S_ISREG
from typing import Any

from holdfast.errors import Unavailable
from holdfast.fs import checkout, durable, ownership_mark, safeopen
from holdfast.fs.safeopen import Folder
from holdfast.text import untrusted

#: The folder of files that can be rebuilt from stored data. A purge removes everything in it except locks.
DERIVED = "derived"
#: Lists of what waits to be published, and of flushes that wait for the store's server.
OUTBOX, SPOOL = "outbox.jsonl", "spool.jsonl"
IGNORE = ".gitignore"
_TO_IGNORE = b"*\n"
_PRIVATE = 0o700
#: Name of the file that marks the folder as made by this user on this machine.
MARK = ownership_mark.FILE
#: Suffix after a put-aside folder's name.
ASIDE = ".foreign-"
_WAIT_S = 10.0
_MOST_TABLE = 16 << 20  # bytes
#: Marked folders, as they were then.
_marked: dict[str, object] = {}


def make(state: str, *parts: str) -> str:
    """Create the private folder ``state`` (or a folder in it) if missing, mode 0700, and return its path.

    It gets a ``.gitignore`` with ``*`` and the mark before anything else is in it. A folder of other origin is put
    aside first. Raises: Unavailable; ConfigError for a key that cannot be used.
    """
    if not is_marked(state):
        _establish(state)
    folder = os.path.join(state, *parts)
    if parts and durable.make_private_dir(folder) != _PRIVATE:
        _close_to_others(folder)
    return folder


def lock(path: str, *, timeout_s: float = 10.0) -> durable.Lock:
    """The lock for a file in the private folder: ``NAME.lock`` for ``NAME.jsonl`` next to it.

    Any process that changes a file to which others append must hold it. So must a purge's sweep, which rewrites whole
    files, because an append in between would be lost. Raises: as :func:`holdfast.fs.durable.lock`.
    """
    return durable.lock(os.path.splitext(path)[0] + ".lock", timeout_s=timeout_s)


def read(path: str) -> bytes | None:
    """A private file's bytes; None when it is missing. Raises: Unavailable."""
    with durable.reporting(path, "read"), suppress(FileNotFoundError, NotADirectoryError):
        return safeopen.read(path)
    return None


def table(path: str) -> dict[str, Any]:
    """A private file's JSON object, for records whose loss does no harm: empty when it is missing or unreadable."""
    with suppress(OSError, ValueError):
        return untrusted.table(safeopen.read(path, _MOST_TABLE)) or {}
    return {}


def names(folder: str) -> list[str]:
    """Everything in a folder of the private folder, sorted; empty when it is missing. Raises: Unavailable."""
    with durable.reporting(folder, "list"), suppress(FileNotFoundError, NotADirectoryError):
        return safeopen.names(folder)
    return []


def check(state: str) -> None:
    """Put aside a private folder that this user did not create. Creates nothing, and changes nothing when it is this
    user's or missing.

    Raises: Unavailable when it cannot be put aside; ConfigError for a key that cannot be used.
    """
    above = os.path.dirname(state)
    if not os.path.lexists(state) and os.path.isdir(above) and not os.access(above, os.X_OK):
        raise Unavailable(
            f"{above!r} is another account's, and closed to this one.",
            next_step="Ask that account for write permission on this folder, without the private one inside.",
        )
    if not os.path.lexists(state) or is_marked(state):
        return
    with _settling(state) as (parent, name):
        if not is_marked(state) and not _is_blank(parent, name):
            _put_aside(parent, name)
            _take_back(parent, name)


def ignore(state: str) -> None:
    """Write the ``.gitignore``. Raises: Unavailable."""
    durable.replace(os.path.join(state, IGNORE), _TO_IGNORE)


def ignores_itself(state: str) -> bool:
    """Whether the folder's ``.gitignore`` ignores everything. A pull can write another one."""
    with suppress(OSError):
        return safeopen.read(os.path.join(state, IGNORE), len(_TO_IGNORE), private=False) == _TO_IGNORE
    return False


def put_aside_name(name: str) -> str:
    return f"{name}{ASIDE}{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{os.urandom(2).hex()}"


def is_marked(state: str) -> bool:
    """Whether the mark is valid. If so, also close the folder to others and make it ignore itself. Done once per
    process for a folder in which no name has changed since."""
    identity = None
    with suppress(OSError):
        now = os.lstat(state)
        identity = (os.getpid(), now.st_dev, now.st_ino, now.st_mode, now.st_mtime_ns, now.st_ctime_ns)
    if identity is not None and _marked.get(state) == identity:
        return True
    if not ownership_mark.is_valid(state):
        return False
    _marked[state] = identity
    _close_to_others(os.path.abspath(state))
    if not ignores_itself(state):
        ignore(state)
    return True


def _establish(state: str) -> None:
    """Create and mark the folder. A crash leaves it without content, so the next process repeats this."""
    durable.make_private_dir(os.path.dirname(state))
    with _settling(state) as (parent, name):
        if is_marked(state):  # another process was faster
            return
        if not _is_blank(parent, name):
            _put_aside(parent, name)
        if name not in parent.names():
            _take_back(parent, name)
            if is_marked(state):
                return
        durable.make_private_dir(state)
        # The process that created the parent folders may have been killed before they were durable. The mark is written
        # last, so if it exists, the folder's own name is durable.
        durable.fsync_dir(os.path.dirname(state))
        durable.fsync_dir(os.path.dirname(os.path.dirname(state)))
        ignore(state)
        ownership_mark.write(state)
        is_marked(state)
        checkout.note(state)


@contextmanager
def _settling(state: str) -> Iterator[tuple[Folder, str]]:
    """Lock and open the parent folder of ``state``, so that only a single process puts a foreign folder aside. Raises:
    Unavailable, also for an error in the block."""
    above, name = os.path.split(os.path.abspath(state))
    with (
        durable.reporting(os.path.join(above, name), "look into"),
        Folder(above, syncable=True) as parent,
        durable.FolderLock(above, _WAIT_S),
    ):
        yield parent, name


def _is_blank(parent: Folder, name: str) -> bool:
    """Whether the folder is this user's and contains only leftovers of a crash in :func:`_establish`."""
    try:
        status = parent.stat(name)
        if not S_ISDIR(status.st_mode) or (hasattr(os, "geteuid") and status.st_uid != os.geteuid()):
            return False
        with Folder(os.path.join(parent.path, name)) as folder:
            ends = (durable.TEMP_PREFIX, durable.TEMP_SUFFIX)
            inside = {entry: folder.stat(entry) for entry in folder.names()}
            return all(
                # An empty lock is of a flush without a key for the mark.
                (
                    entry == IGNORE
                    or (entry.startswith(ends[0]) and entry.endswith(ends[1]))
                    or (entry.endswith(".lock") and not at.st_size)
                )
                and S_ISREG(at.st_mode)
                for entry, at in inside.items()
            )
    except FileNotFoundError:
        return True


def _put_aside(parent: Folder, name: str) -> None:
    aside = put_aside_name(name)
    try:
        parent.take(aside, parent, name)
        parent.sync()
    except OSError as error:
        reason = os.strerror(error.errno or 0)
        raise Unavailable(
            f"The private folder {name!r} is not this user's on this machine and cannot be put aside: {reason}.",
            next_step="Rename it, or give this user write permission on its parent folder, then try again.",
        ) from error
    with suppress(Unavailable):  # so that git does not offer it; not possible in another user's folder
        ignore(os.path.join(parent.path, aside))


def _take_back(parent: Folder, name: str) -> None:
    """Rename this user's own state back after another account put it aside."""
    for aside in reversed([entry for entry in parent.names() if entry.startswith(name + ASIDE)]):
        if ownership_mark.is_valid(os.path.join(parent.path, aside)):
            parent.take(name, parent, aside)
            parent.sync()
            return


def _close_to_others(path: str) -> None:
    with durable.reporting(path, "close to others"):
        if S_IMODE(os.lstat(path).st_mode) != _PRIVATE:
            above, name = os.path.split(path)
            with Folder(above) as parent:
                parent.chmod(name, _PRIVATE)
