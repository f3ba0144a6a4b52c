"""How much of a list, a file with one line for each item, was acknowledged: its mark, by which a cut or missing list is
noticed. ``state/facts.mark`` is that of ``facts.jsonl``.

It is written after a change is durable and not flushed itself. So it can show less than was acknowledged, never more:
before the list becomes shorter, the mark is lowered durably.
"""

import os
from collections.abc import Iterator
from typing import NamedTuple
from zlib import crc32

from holdfast import models
from holdfast.fs import durable, safeopen
from holdfast.storage import tombstone
from holdfast_file.place import Place, read_bytes

FILE = "facts.mark"
_LONGEST = 1 << 16  # bytes of the list's end that count
_VERSIONS = 64  # the newest versions in git to check
_GIT_S = 5.0
_LINE = b"%012d %08x %012d %012d"


class Mark(NamedTuple):
    """``size`` bytes of the list, the CRC-32 of the line that ends there, and how many items it had then. ``short`` is
    the number of items that were missing before."""

    size: int = 0
    last: int = 0
    items: int = 0
    short: int = 0

    def fits(self, body: bytes) -> bool:
        """Whether ``body`` still has the marked line at its offset."""
        return len(body) >= self.size and last_line(body[: self.size]) == self.last


def read(path: str) -> Mark:
    """The mark, empty when it is missing or damaged."""
    return Mark(*durable.read_sealed(path, 10, 16, 10, 10))


def note(path: str, mark: Mark) -> None:
    """Write the mark, not durably. After a failure it shows less."""
    durable.write_sealed(path, _LINE % mark)


def put(path: str, mark: Mark) -> None:
    """Write the mark, durably. Raises: Unavailable."""
    durable.replace(path, durable.sealed(_LINE % mark))


def lower(path: str, short: int) -> None:
    """Say durably that nothing but ``short`` is known, because the list becomes another one. Raises: Unavailable."""
    if os.path.exists(path):
        put(path, Mark(short=short))


def after(mark: Mark, path: str, *, private: bool = True) -> bytes | None:
    """The bytes after the marked line if the list still has it at its offset, otherwise None. Earlier parts are not
    read."""
    start = max(0, mark.size - _LONGEST)
    try:
        with safeopen.reader(path, private=private) as file:
            file.seek(start)
            before, rest = file.read(mark.size - start), file.read()
    except OSError:
        return None if mark.size else b""
    return rest if len(before) == mark.size - start and last_line(before) == mark.last else None


def last_line(data: bytes) -> int:
    """The CRC-32 of the last line, or of its part within the bytes that count."""
    data = data[-_LONGEST:]
    return crc32(data[data.rfind(b"\n", 0, max(len(data) - 1, 0)) + 1 :])


def missing(mark: Mark, body: bytes, facts: int, place: Place) -> int:
    """How many facts are missing from a file with this ``body``, which has that number of ``facts``.

    The file may have been edited, or come from another branch. As long as it continues from the marked line, or has as
    many facts as then, no further facts are missing, and facts from elsewhere may be those missing before, as after the
    merge of their branch. Otherwise git's history has the facts, and the file has tombstones for those that a teammate
    removed.
    """
    more = facts - mark.items
    if not mark.fits(body) and more < 0:
        parts = (version[: mark.size] for version in _versions(place, place.facts) if mark.fits(version))
        return mark.short + next((len(_absent(part, body)) for part in parts), -more)
    if not mark.short or more <= 0:
        return mark.short
    absent = set[str]().union(*(_absent(version, body) for version in _versions(place, place.facts)))
    return min(mark.short, max(mark.short - more, len(absent)))


def _absent(was: bytes, body: bytes) -> set[str]:
    """The facts of an earlier list that ``body`` has neither as facts nor as removed."""
    from holdfast_file.lines import index  # a session's hooks import this module

    before, now = (index(text.split(b"\n")) for text in (was, body))
    return {fact.id for fact in before if fact.id not in now and tombstone(fact.id) not in now.gone}


def removed(place: durable.StoreFolder, name: str) -> list[models.Fact]:
    """The facts that the list ``name`` has tombstones for, from git's history. Raises: Corrupt, Unavailable."""
    from holdfast_file.lines import index

    gone = index((read_bytes(os.path.join(place.folder, name), name) or b"").split(b"\n")).gone
    versions = _versions(place, name) if gone else ()
    return [fact for text in versions for fact in index(text.split(b"\n")) if tombstone(fact.id) in gone]


def _versions(place: durable.StoreFolder, name: str) -> Iterator[bytes]:
    """The newest versions of the list ``name`` in HEAD's history, newest first."""
    from holdfast_file import gitrun

    words = ("log", "--full-history", "-m", "--format=", "--raw", "--no-abbrev", "--no-renames", "-n", str(_VERSIONS))
    changes = gitrun.run(place.root, *words, "--", f"./{place.shown(name)}", timeout_s=_GIT_S) or b""
    rows = [line.split()[2:4] for line in changes.splitlines() if line.startswith(b":")]
    for blob in dict.fromkeys(blob.decode() for row in rows for blob in row if blob.strip(b"0")):
        if version := gitrun.run(place.root, "cat-file", "blob", blob, timeout_s=_GIT_S):
            yield version
