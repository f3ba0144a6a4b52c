"""The passages and facts that this user's agents may have, as keyed digests in the user's own folder.

``memory/PROJECT/`` in the user's folder (:mod:`holdfast.fs.userdir`) holds four lists: ``own``, written here, also by
an editor; ``trusted``, accepted with ``holdfast trust``; ``before``, present when holdfast first opened the project, so
that nothing but trust or a named author lets it in; ``foreign``, already judged not to be from here. A clone can never
write there, ``git clean`` removes none of it, and a digest names content, so branches, old versions and merges change
nothing. Without the key a digest does not show whether a text was ever stored.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable
from typing import Final

from holdfast.fs import durable, ownership_mark, safeopen, userdir

_FOLDER: Final = "memory"
OWN, TRUSTED, BEFORE, FOREIGN = "own", "trusted", "before", "foreign"
#: Limit of one list. Beyond it the caller makes it shorter, see :meth:`Seen.shorten`.
MOST: Final = 100_000
_BYTES: Final = 8  # a digest; keyed, so nobody can look for a collision
_LINE: Final = 2 * _BYTES + 1


class Seen:
    """One project's lists. Safe for several processes. ``root`` is the project's real path."""

    def __init__(self, root: str) -> None:
        self._secret = b""
        name = ownership_mark.digest(os.fsencode(os.path.realpath(root)), size=16)
        self.folder = userdir.path(os.path.join(_FOLDER, name))
        self._lists = {kind: _List(os.path.join(self.folder, kind)) for kind in (OWN, TRUSTED, BEFORE, FOREIGN)}

    @property
    def has_begun(self) -> bool:
        """Whether what the project held at first is recorded."""
        return os.path.isdir(self.folder) and os.path.exists(self._lists[BEFORE].path)

    def digest(self, *parts: str) -> str:
        """A keyed digest of the strings."""
        self._secret = self._secret or ownership_mark.secret(make=True)
        data = b"".join(b"%d:%b" % (len(one), one) for one in (p.encode("utf-8", "surrogatepass") for p in parts))
        return ownership_mark.digest(data, size=_BYTES, key=self._secret)

    def allowed(self) -> Callable[[str], bool]:
        """Whether agents may have a digest, from the lists as they are now. Raises: Unavailable."""
        own, trusted = self._lists[OWN].read(), self._lists[TRUSTED].read()
        return lambda digest: digest in own or digest in trusted

    def listed(self, kind: str) -> Collection[str]:
        """A list as it is now. Raises: Unavailable."""
        return self._lists[kind].read()

    def begin(self, digests: Iterable[str]) -> None:
        """Record what the project holds at first. Raises: Unavailable."""
        durable.make_private_dir(self.folder)
        durable.replace(self._lists[BEFORE].path, "".join(f"{one}\n" for one in dict.fromkeys(digests)).encode("ascii"))

    def add(self, kind: str, digests: Iterable[str], *, flush: bool = True) -> None:
        """Add to a list. Raises: Unavailable."""
        there = self._lists[kind].read()
        new = [one for one in dict.fromkeys(digests) if one not in there]
        if new:
            durable.make_private_dir(self.folder)
            # A line also begins with a line end, because a crash can leave the previous line without one.
            data = "\n" + "".join(f"{one}\n" for one in new)
            durable.append(self._lists[kind].path, data.encode("ascii"), flush=flush)

    @property
    def stamp(self) -> str:
        """Changes when a passage that was withheld may be shown, or the reverse. Raises: Unavailable."""
        return " ".join(str(len(self._lists[kind].read())) for kind in (TRUSTED, FOREIGN, BEFORE))

    @property
    def is_long(self) -> bool:
        """Whether a list is over its limit."""
        return any(len(one.read()) > MOST for one in self._lists.values())

    def shorten(self, present: Collection[str]) -> None:
        """Drop the older half of each list that is over its limit, except for digests in ``present``.
        Raises: Unavailable."""
        with durable.lock(os.path.join(self.folder, "lock")):
            for one in self._lists.values():
                if len(one.read()) > MOST:
                    kept = list(one.read())
                    kept = [d for d in kept[: -MOST // 2] if d in present] + kept[-MOST // 2 :]
                    durable.replace(one.path, "".join(f"{d}\n" for d in kept).encode("ascii"))

    def forget_trust(self) -> bool:
        """Remove what was accepted with ``holdfast trust``; False when there was nothing. Raises: Unavailable."""
        there = bool(self._lists[TRUSTED].read())
        if there:
            durable.replace(self._lists[TRUSTED].path, b"")
        return there


class _List:
    """An append-only file of digests, in order; only its new part is read again."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._digests: dict[str, None] = {}
        self._file: tuple[int, int, int] = (0, 0, 0)  # inode, size and time of the file as read

    def read(self) -> dict[str, None]:
        """Costs one file status call while it is unchanged. Raises: Unavailable."""
        try:
            found = os.lstat(self.path)
            file = (found.st_ino, found.st_size, found.st_mtime_ns)
            if file != self._file:
                grown = found.st_ino == self._file[0] and found.st_size > self._file[1]
                with safeopen.reader(self.path) as opened:
                    opened.seek(self._file[1] if grown else 0)
                    words = opened.read().decode("ascii", "replace").split()
                if not grown:
                    self._digests = {}
                self._digests.update(dict.fromkeys(words))
                self._file = file
        except (FileNotFoundError, NotADirectoryError):
            self._digests, self._file = {}, (0, 0, 0)
        except OSError as error:
            raise durable.unavailable(error, self.path, "read") from error
        return self._digests
