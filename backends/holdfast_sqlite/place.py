"""The database's path, which stays under the root, and checks of the file that do not open it.

Nothing here opens the database, because closing any descriptor of a file drops all locks that the process has on it,
including SQLite's. Source: https://www.sqlite.org/howtocorrupt.html, section 2.2.
"""

from __future__ import annotations

import contextlib
import os
import stat
from typing import Final, NamedTuple

from holdfast.api import Corrupt, Refused, check_name
from holdfast.fs import durable
from holdfast.fs.private import put_aside_name
from holdfast.fs.safeopen import Folder, Identity, identity_of

#: What SQLite adds to the database's name for the files next to it.
_SIDES: Final = ("-wal", "-shm", "-journal")


class Place(durable.StoreFolder):
    """The database ``file`` in the folder ``path`` under the project ``root``. Nothing is made before a write."""

    def __init__(self, root: str | os.PathLike[str], *, path: str, file: str) -> None:
        super().__init__(root, path)
        self.folder = os.path.realpath(self.folder)  # without links; opening refuses a link created later
        self.file = file
        self.database = os.path.join(self.folder, file)
        self.log = self.database + "-wal"
        self.path = self.shown(file)
        check_name(file.removesuffix(".db"))
        if "/" in file or not file.endswith(".db"):
            raise Refused(
                f"The database cannot be called {file!r}.",
                next_step="Set `[storage] file` to a name that ends with `.db`.",
            )

    def look(self) -> Identity | None:
        """The database file as it is now, or None when there is none.

        Raises: Refused for symbolic links; Corrupt when something else has replaced it or only its log is left.
        """
        status = self.regular(self.database)
        if status is None:
            if os.path.lexists(self.log) and not os.path.lexists(self.database):
                raise Corrupt(
                    f"{self.file!r} is missing, but its log {os.path.basename(self.log)!r} exists.",
                    next_step="Restore the database next to it from a copy, or move the log away.",
                )
            return None
        if status.st_size == 0:  # opening it would make SQLite remove its log, which may hold all data
            raise Corrupt(
                f"{self.file!r} is empty because it was cut off.",
                next_step="Move it away or restore the file from a copy, then try again.",
            )
        return identity_of(status)

    def node(self) -> tuple[int, int] | None:
        """Device and inode of the database, None when there is none, once it and the files that SQLite keeps next to
        it are known to be regular files with one name: SQLite itself follows links.

        Raises: Refused; Unavailable.
        """
        node = None
        with (
            durable.reporting(self.database, "find"),
            contextlib.suppress(FileNotFoundError),
            Folder(self.folder) as folder,
        ):
            for name in (self.file, *(self.file + side for side in _SIDES)):
                try:
                    status = folder.stat(name)
                except FileNotFoundError:
                    continue
                if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
                    raise Refused(f"{name!r} is a link or not a regular file.", next_step="Put the file itself there.")
                if name.endswith("-journal") and status.st_size:
                    raise Refused(
                        f"{name!r} would change the database when it is opened, and holdfast makes no such file.",
                        next_step="Remove it. If another program was writing the database, restore a copy.",
                    )
                node = (status.st_dev, status.st_ino) if name == self.file else node
        return node

    def still(self, known: Identity) -> bool:
        """Whether the database file is unchanged. Faster than :meth:`look`, and never raises."""
        with contextlib.suppress(OSError):
            return identity_of(os.lstat(self.database)) == known
        return False

    def put_aside(self) -> str:
        """Rename the database and its log, and return the new path. Raises: Unavailable."""
        new = put_aside_name(self.file)
        with (
            durable.reporting(self.database, "put aside"),
            durable.FolderLock(self.folder, 10.0),
            Folder(self.folder, syncable=True) as folder,
        ):
            for side in ("-wal", ""):
                with contextlib.suppress(FileNotFoundError):
                    folder.take(new + side, folder, self.file + side)
            with contextlib.suppress(FileNotFoundError):  # SQLite makes it again
                folder.unlink(f"{self.file}-shm")
            folder.sync()
        return os.path.join(self.folder, new)

    def unmerged(self) -> bool:
        """Whether the log holds anything. Looks at its name and size only."""
        with contextlib.suppress(OSError):
            return os.stat(self.log, follow_symlinks=False).st_size > 0
        return False


class Mark(NamedTuple):
    """How many facts were ever stored, and how many of them left by a call, in ``state/NAME.db.mark``.

    By it rows that vanished are noticed. Neither number ever falls, so an old mark is too low and never too high. It is
    written when a process lets go of the store, and not flushed.
    """

    stored: int = 0
    removed: int = 0

    def highest(self, other: Mark) -> Mark:
        return Mark(max(self.stored, other.stored), max(self.removed, other.removed))


def read_mark(path: str) -> Mark:
    """The mark; zeros when there is none that is whole."""
    return Mark(*durable.read_sealed(path, 10, 10))


def note_mark(path: str, mark: Mark) -> None:
    """Write the mark, keeping higher numbers. A mark that cannot be written shows less.

    When all facts were removed by calls, none can be missing and the mark is removed. So a purge of everything leaves
    none.
    """
    there = read_mark(path)
    mark = mark.highest(there)
    if mark.stored == mark.removed:
        remove_mark(path)
        return
    if mark != there:
        durable.write_sealed(path, b"%012d %012d" % mark)


def remove_mark(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)
