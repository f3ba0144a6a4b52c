"""Names to paths that stay under the root, and the store's lock."""

import errno
import os

from holdfast.api import Corrupt, Refused, check_name
from holdfast.fs import durable, private, safeopen

_MOVE = "Move it away or restore the file from a copy, then try again."


class Place(durable.StoreFolder):
    """The store's folder under the project ``root``, its facts file, and its private folder. Nothing is made before the
    first write."""

    def __init__(self, root: str | os.PathLike[str], *, path: str, facts: str, timeout_s: float) -> None:
        super().__init__(root, path)
        self.facts = check_name(facts)
        self.intent = os.path.join(self.state, "append.intent")
        self._timeout_s = timeout_s
        private.check(self.state)  # the intent in it says what to cut and write

    def document(self, name: str) -> str:
        """A document's path. Raises: Refused; Corrupt when it is not a regular file."""
        self.check(name)
        return self.inside(name)

    def check(self, name: str) -> None:
        """Raises: Refused when there can be no document of this name."""
        check_name(name)
        if name.startswith(".") or "/." in name:
            raise Refused(
                f"The document name {name!r} is not allowed, because part of it begins with a dot.",
                next_step="Use a relative path like `memory/note.md`.",
            )
        if name == self.facts:
            raise Refused(f"{name!r} holds facts and is no document.", next_step="Use `holdfast facts` to read them.")

    def inside(self, name: str) -> str:
        """The path of ``name`` without symbolic links, checked to stay under the root.

        Opening it refuses a link, so a link created after this check has no effect.
        """
        folders, _, last = name.rpartition("/")
        folder = os.path.realpath(os.path.join(self.folder, *folders.split("/")) if folders else self.folder)
        path = os.path.join(folder, last)
        if not self.holds(folder):
            raise Refused(
                f"A symbolic link on the way to {name!r} leaves the project.",
                next_step="Replace the link by a real folder.",
            )
        self.regular(path)
        return path

    @property
    def lock(self) -> durable.Lock:
        """The lock for one writer at a time among all threads and processes. Makes the private folder that it is in."""
        self.check_inside(self.state)
        if not os.path.isdir(self.state):
            self.make_folder(os.path.dirname(self.state))
        private.make(self.state)
        return durable.Line(os.path.join(self.state, "store"), timeout_s=self._timeout_s)


def is_shared(path: str) -> bool:
    """Whether the file has another name or another owner. Then it is replaced by a new one."""
    folder, name = os.path.split(path)
    with durable.reporting(path, "check"), safeopen.Folder(folder) as parent:
        return parent.is_shared(parent.stat(name))


def read_bytes(path: str | os.PathLike[str], name: str, *, most: int = -1, private: bool = False) -> bytes | None:
    """The file's bytes, at most ``most`` if given, or None when there is none. A ``private`` file must be this user's.

    Raises: Corrupt, Unavailable.
    """
    with durable.reporting(name, "read"):
        try:
            return safeopen.read(path, most, private=private)
        except FileNotFoundError:
            return None
        except safeopen.UnsafeFile as error:
            if error.errno != errno.EFBIG:
                raise
            raise Corrupt(f"{name!r} is larger than {most:,} bytes.", next_step=_MOVE) from error
