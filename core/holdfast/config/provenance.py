"""Which stored documents this machine wrote, and which came with a clone.

A cloned project can bring documents and facts that were written to mislead an agent. So the private folder holds a
register, ``state/written``, of the names that this machine created. A document that existed before stays foreign, even
when this machine appends to it. In a git repository foreign documents are withheld from agents until the user trusts
the project's memory (:mod:`holdfast.config.trust`). A folder outside of any repository is not a clone: nothing is
withheld.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Final

from holdfast.fs import durable, private, safeopen

REGISTER: Final = "written"
#: Stands for the facts in the register. No document can have this name.
FACTS: Final = "*facts"
NEXT_STEP: Final = (
    "`holdfast show NAME` prints a document for you; `holdfast trust` gives agents the memory that came with the clone."
)
_NAMED: Final = 3


class Provenance:
    """The register of one project. Safe for several processes and threads.

    ``remote``: the store keeps its documents on a server, so none of them came with a clone and none is withheld.
    """

    def __init__(self, root: str, state: str, *, remote: bool = False) -> None:
        self._root = root
        self._state = state
        self._remote = remote
        self._path = os.path.join(state, REGISTER)
        self._names: frozenset[str] = frozenset()
        self._file: tuple[int, int, int] | None = None  # inode, size and time of what was read

    def is_ours(self, name: str) -> bool:
        """Whether this machine created the document; memory on a server counts as ours, because the user named the
        server. Costs one look at the register. Raises: Unavailable."""
        if self._remote:
            return True
        try:
            found = os.lstat(self._path)
            file = (found.st_ino, found.st_size, found.st_mtime_ns)
            if file != self._file:
                with safeopen.reader(self._path) as opened:
                    self._names = frozenset(opened.read().decode("utf-8", "replace").split("\n")) - {""}
                self._file = file
        except (FileNotFoundError, NotADirectoryError):
            self._names, self._file = frozenset(), None
        except OSError as error:
            raise durable.unavailable(error, self._path, "read") from error
        return name in self._names

    def register(self, names: Iterable[str]) -> None:
        """Record durably that this machine created the documents. Call it before they are written: a crash in between
        must not make one's own memory foreign. Raises: Unavailable."""
        new = [name for name in names if not self.is_ours(name)]
        if new:
            private.make(self._state)
            # A line begins with a line end too, because a crash can leave the line before without one.
            durable.append(self._path, "".join(f"\n{name}\n" for name in new).encode("utf-8"))

    def is_withheld(self, name: str) -> bool:
        """Whether agents may not be given the document: this machine did not create it, the project is in a git
        repository, and the user does not trust its memory. Raises: Unavailable."""
        return not self.is_ours(name) and self.withholds()

    def withholds(self) -> bool:
        """Whether what this machine did not write is withheld in this project."""
        if self._remote or not _is_in_repository(self._root):
            return False
        from holdfast.config import inforce  # only where there is something to withhold

        return not inforce.is_memory_trusted(self._root)


def _is_in_repository(root: str) -> bool:
    folder = os.path.realpath(root)
    while not os.path.lexists(os.path.join(folder, ".git")):
        parent = os.path.dirname(folder)
        if parent == folder:
            return False
        folder = parent
    return True


def sentence(names: Iterable[str], *, facts: bool = False) -> str:
    """One sentence that names what is withheld; empty when nothing is. Names may come from the clone as well: what goes
    to an agent may only name documents of the layout."""
    listed = list(names)
    shown = ", ".join(listed[:_NAMED]) + (f" and {len(listed) - _NAMED} more" if len(listed) > _NAMED else "")
    what = [f"{len(listed)} {'document' if len(listed) == 1 else 'documents'} ({shown})"] if listed else []
    what += ["the stored facts"] if facts else []
    if not what:
        return ""
    return (
        f"Withheld, because this machine did not write them and they may have come with a clone: {' and '.join(what)}."
    )
