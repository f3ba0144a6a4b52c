"""Track which stored documents this machine wrote, which came with a clone, and which must still exist.

A cloned project can contain documents and facts meant to mislead an agent. So the private folder holds a register,
``state/written``, of the names that this machine created. A document that already existed stays foreign, even when this
machine appends to it. In a git repository, foreign documents are withheld from agents until the user trusts the
project's memory (:mod:`holdfast.config.trust`). A folder outside any repository is not a clone, so nothing is withheld.

A second list, ``state/stored``, names the documents created here and read back, and those deleted by a call. A document
that disappeared from the store without such a call is missing (:mod:`holdfast_data_loss.losses`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Final

from holdfast.fs import durable, private, safeopen

REGISTER: Final = "written"
STORED: Final = "stored"
#: The register's name for the facts. No document can have this name.
FACTS: Final = "*facts"
NEXT_STEP: Final = (
    "`holdfast show NAME` prints a document for you; `holdfast trust` gives agents the memory that came with the clone."
)
_NAMED: Final = 3
_DELETED: Final = "*deleted "


class Provenance:
    """One project's register. Safe for several processes and threads.

    ``remote``: the store keeps its documents on a server, so they cannot come with a clone and are not withheld.
    """

    def __init__(self, root: str, state: str, *, remote: bool = False) -> None:
        self._root = root
        self._state = state
        self._remote = remote
        self._written = _Lines(os.path.join(state, REGISTER))
        self._stored = _Lines(os.path.join(state, STORED))

    def is_ours(self, name: str) -> bool:
        """Whether this machine created the document. Memory on a server counts as created here, because the user named
        the server. Costs one check of the register. Raises: Unavailable."""
        return self._remote or name in self._written.read()

    def register(self, names: Iterable[str]) -> None:
        """Record durably that this machine created the documents. Call it before writing them, so that a crash in
        between does not make the user's own memory foreign. Raises: Unavailable."""
        new = [name for name in names if not self.is_ours(name)]
        if new:
            private.make(self._state)
            # A line also begins with a line end, because a crash can leave the previous line without one.
            durable.append(self._written.path, "".join(f"\n{name}\n" for name in new).encode("utf-8"))

    def stored(self) -> list[str]:
        """The documents created here, read back and not deleted by a call, sorted. None for a store on a server.
        Raises: Unavailable."""
        lines = {} if self._remote else self._stored.read()
        return sorted(name for name in lines if not name.startswith(_DELETED) and not _is_deleted(name, lines))

    def confirm(self, name: str) -> None:
        """Record that a document created here was read back. After a power cut the record can be gone.
        Raises: Unavailable."""
        if self._remote or not self.is_ours(name):
            return
        lines = self._stored.read()
        if name not in lines or _is_deleted(name, lines):
            durable.append(self._stored.path, f"\n{name}\n".encode(), flush=False)

    def delete(self, name: str) -> None:
        """Record durably that a call is about to delete the document. Raises: Unavailable."""
        if not self._remote and name in self._stored.read():
            durable.append(self._stored.path, f"\n{_DELETED}{name}\n".encode())

    def is_withheld(self, name: str) -> bool:
        """Whether the document is withheld from agents because this machine did not create it, the project is in a git
        repository, and the user does not trust its memory. Raises: Unavailable."""
        return not self.is_ours(name) and self.withholds()

    def withholds(self) -> bool:
        """Whether this project withholds documents that this machine did not write."""
        if self._remote or not _is_in_repository(self._root):
            return False
        from holdfast.config import inforce  # only if there is anything to withhold

        return not inforce.is_memory_trusted(self._root)


class _Lines:
    """An append-only file's lines, each with its last position; reread when the file changed."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._lines: dict[str, int] = {}
        self._file: tuple[int, int, int] | None = None  # inode, size and time of the file as read

    def read(self) -> dict[str, int]:
        """Costs one file status call while it is unchanged. Raises: Unavailable."""
        try:
            found = os.lstat(self.path)
            file = (found.st_ino, found.st_size, found.st_mtime_ns)
            if file != self._file:
                with safeopen.reader(self.path) as opened:
                    lines = opened.read().decode("utf-8", "replace").split("\n")
                self._lines, self._file = {line: at for at, line in enumerate(lines) if line}, file
        except (FileNotFoundError, NotADirectoryError):
            self._lines, self._file = {}, None
        except OSError as error:
            raise durable.unavailable(error, self.path, "read") from error
        return self._lines


def _is_deleted(name: str, lines: Mapping[str, int]) -> bool:
    return lines.get(f"{_DELETED}{name}", -1) > lines[name]


def _is_in_repository(root: str) -> bool:
    folder = os.path.realpath(root)
    while not os.path.lexists(os.path.join(folder, ".git")):
        parent = os.path.dirname(folder)
        if parent == folder:
            return False
        folder = parent
    return True


def sentence(names: Iterable[str], *, facts: bool = False) -> str:
    """One sentence that names the withheld documents; empty when there are none. Names may come from the clone too, so
    text for an agent may only name the layout's documents."""
    listed = list(names)
    shown = ", ".join(listed[:_NAMED]) + (f" and {len(listed) - _NAMED} more" if len(listed) > _NAMED else "")
    what = [f"{len(listed)} {'document' if len(listed) == 1 else 'documents'} ({shown})"] if listed else []
    what += ["the stored facts"] if facts else []
    if not what:
        return ""
    return (
        f"Withheld, because this machine did not write them and they may have come with a clone: {' and '.join(what)}."
    )
