"""The passages and facts that this user's agents may have, as keyed digests in the user's own folder.

``memory/PROJECT/`` in the user's folder (:mod:`holdfast.fs.userdir`) holds four lists: ``own``, written here, also by
an editor; ``trusted``, accepted with ``holdfast trust``; ``before``, present when holdfast first opened the project, so
that nothing but trust or a named author lets it in; ``foreign``, already judged not to be from here. A clone can never
write there, ``git clean`` removes none of it, and a digest names content, so branches, old versions and merges change
nothing. Without the key a digest does not show whether a passage was ever stored. The lists only grow, by 17 bytes for
each passage. ``root`` names the project, and ``mark`` its private folder, by which a renamed project is known again.
"""

import os
from collections.abc import Iterable
from contextlib import suppress
from typing import Final, Self

from holdfast.errors import Unavailable
from holdfast.fs import checkout, durable, ownership_mark, private, safeopen, userdir

_FOLDER: Final = "memory"
_ROOT: Final = "root"
_MARK: Final = "mark"
OWN, TRUSTED, BEFORE, FOREIGN = "own", "trusted", "before", "foreign"
_BYTES: Final = 8  # a digest, keyed, so an attacker cannot search for a collision


class LineList:
    """An append-only file's lines."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._forget()

    def _forget(self) -> None:
        self.data, self._lines, self._file = b"\n", set[bytes](), (0, 0, 0)  # inode, size and time

    def read(self) -> Self:
        """Costs one file status call while it is unchanged. Raises: Unavailable."""
        try:
            status = os.lstat(self.path)
            file = (status.st_ino, status.st_size, status.st_mtime_ns)
            if file != self._file:
                inode, size, _ = self._file
                if inode != file[0] or size >= file[1]:
                    self._forget()
                    size = 0
                with safeopen.reader(self.path) as opened:
                    opened.seek(size)
                    new = opened.read()
                self.data += new
                self._lines.update(new.split(b"\n"))
                self._file = file
        except (FileNotFoundError, NotADirectoryError):
            self._forget()
        except OSError as error:
            raise durable.unavailable(error, self.path, "read") from error
        return self

    def __contains__(self, line: object) -> bool:
        return str(line).encode("utf-8", "surrogateescape") in self._lines

    def __bool__(self) -> bool:
        return len(self.data) > 1


class Lists:
    """Several lists as one."""

    def __init__(self, lists: tuple[LineList, ...]) -> None:
        self.lists = lists

    def __contains__(self, line: object) -> bool:
        return any(line in lines for lines in self.lists)

    def __bool__(self) -> bool:
        return any(self.lists)


def _name(root: str) -> str:
    return ownership_mark.digest(os.fsencode(root), size=16)


def projects() -> list[str]:
    """Folders of this user's existing projects on this machine, sorted. Raises: Unavailable."""
    folder = userdir.path(_FOLDER)
    roots = []
    for name in private.names(folder):
        root = os.fsdecode(_read(os.path.join(folder, name, _ROOT)))
        if root and _name(root) == name and os.path.isdir(root):
            roots.append(root)
    return sorted(roots)


def _read(path: str) -> bytes:
    with suppress(OSError), safeopen.reader(path) as opened:
        return opened.read()
    return b""


class Seen:
    """One project's lists. Safe for several processes. ``root`` is the project's path, ``state`` its private folder."""

    def __init__(self, root: str, state: str = "") -> None:
        self._secret, self._root, self._state = b"", os.path.realpath(root), state
        self.folder = userdir.path(os.path.join(_FOLDER, _name(self._root)))
        self._settled = 0  # the size
        self._lists = {kind: LineList(os.path.join(self.folder, kind)) for kind in (OWN, TRUSTED, BEFORE, FOREIGN)}

    @property
    def has_begun(self) -> bool:
        """Whether the project's first content is recorded."""
        return os.path.isdir(self.folder) and os.path.exists(self._lists[BEFORE].path)

    def digest(self, *parts: str) -> str:
        """A keyed digest of the strings."""
        self._secret = self._secret or ownership_mark.secret(make=True)
        data = b"".join(b"%d:%b" % (len(part), part) for part in (p.encode("utf-8", "surrogatepass") for p in parts))
        return ownership_mark.digest(data, size=_BYTES, key=self._secret)

    def listed(self, *kinds: str) -> Lists:
        """The lists as they are now. Raises: Unavailable."""
        return Lists(tuple(self._lists[kind].read() for kind in kinds))

    def take_over(self) -> bool:
        """Take the lists of a project that was renamed or moved here with its private folder, which the mark proves.
        False when there is none. Raises: Unavailable."""
        mark, above = checkout.mark_of(self._state).encode(), os.path.dirname(self.folder)
        for name in private.names(above) if mark and not os.path.lexists(self.folder) else ():
            old = os.path.join(above, name)
            # A copy may share the mark, with a shared key.
            if _read(os.path.join(old, _MARK)) == mark and not os.path.lexists(_read(os.path.join(old, _ROOT))):
                durable.replace(os.path.join(old, _ROOT), os.fsencode(self._root))
                with durable.reporting(old, "rename"):
                    os.rename(old, self.folder)
                durable.fsync_dir(above)
                return True
        return False

    def begin(self, digests: Iterable[str]) -> None:
        """Record the project's first content. Raises: Unavailable."""
        self._make()
        durable.replace(self._lists[BEFORE].path, "".join(map("{}\n".format, dict.fromkeys(digests))).encode("ascii"))

    def add(self, kind: str, digests: Iterable[str], *, flush: bool = True) -> None:
        """Add to a list. Raises: Unavailable."""
        listed = self._lists[kind].read()
        if new := [digest for digest in dict.fromkeys(digests) if digest not in listed]:
            self._make()
            # A line also begins with a line end, because a crash can leave the previous line without one.
            data = "\n" + "".join(f"{digest}\n" for digest in new)
            durable.append(self._lists[kind].path, data.encode("ascii"), flush=flush or not listed, undo=False)

    def settle(self, kind: str) -> None:
        """Make a list durable, also lines of a killed process. Raises: Unavailable."""
        path = self._lists[kind].path
        size = os.path.getsize(path) if os.path.exists(path) else 0
        if size == self._settled:
            return
        try:
            durable.append(path, b"", undo=False)
        except Unavailable:  # the kernel may have dropped the lines, so they are added again
            durable.append(path, self._lists[kind].read().data, undo=False)
        self._settled = size

    def _make(self) -> None:
        durable.make_private_dir(self.folder)
        for name, data in ((_ROOT, os.fsencode(self._root)), (_MARK, checkout.mark_of(self._state).encode())):
            path = os.path.join(self.folder, name)
            if data and not os.path.exists(path):
                durable.replace(path, data)

    @property
    def stamp(self) -> str:
        """Changes when a passage that was withheld may be shown, or the reverse. Raises: Unavailable."""
        return " ".join(str(len(self._lists[kind].read().data)) for kind in (TRUSTED, FOREIGN, BEFORE))

    def forget_trust(self) -> bool:
        """Withhold again what ``holdfast trust`` accepted. False when nothing was accepted. Raises: Unavailable."""
        if is_any := bool(self._lists[TRUSTED].read()):
            durable.replace(self._lists[TRUSTED].path, b"")
        return is_any
