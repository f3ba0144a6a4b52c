"""The chain through a journal. Each checkpoint holds a keyed digest of all bytes since the previous checkpoint.

That line is among these bytes with its own digest, so a changed, moved, cut out, forged or replayed row breaks the
chain from there on. The newest head of each journal is also in the user's folder, where a restored older copy of the
private folder cannot take it back. Rows since the last checkpoint have only their checksums.
"""

import os
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, Final, NamedTuple

from holdfast.errors import ConfigError, Corrupt, Unavailable
from holdfast.fs import durable, ownership_mark, safeopen
from holdfast.fs.records import encode

_FOLDER: Final = "heads"
GONE: Final = "-"
_BYTES: Final = 12
_LINE: Final = re.compile(r"^([0-9a-f]{24}) (\d+) ([0-9a-f]{24}|-)$", re.MULTILINE)
#: A longer list of heads shrinks to each journal's newest, at most this many.
_LONG, _KEPT = 256 << 10, 2_000


class Head(NamedTuple):
    """A checkpoint's offset and chain, which is ``-`` for an erased journal."""

    start: int
    chain: str


def digest(data: bytes) -> str:
    """A keyed digest of the bytes between two checkpoints. Empty while the user's key cannot be used."""
    with suppress(ConfigError, Unavailable):
        return ownership_mark.digest(data, size=_BYTES, key=ownership_mark.secret(make=True))
    return ""


def link(path: str, records: Iterable[dict[str, Any]], since: int, size: int, first: bytes) -> list[dict[str, Any]]:
    """Records to append to the journal at ``path``, each checkpoint with its link. ``since`` is the last checkpoint's
    offset, ``size`` the journal's, and ``first`` its first line if it is new. Raises: Unavailable."""
    made, data = [], first
    if size:
        with durable.reporting(path, "read"), safeopen.reader(path) as file:
            file.seek(since)
            data = file.read(size - since)
    for record in records:
        if record["kind"] == "checkpoint":
            if value := digest(data):
                record = {**record, "since": since, "chain": value}
            since, data = since + len(data), b""
        data += encode(record)
        made.append(record)
    return made


def heads(state: str) -> dict[str, Head]:
    """The newest noted head of each of the project's journals, by :func:`name_of`. Torn lines do not count."""
    newest: dict[str, Head] = {}
    with suppress(OSError):
        for line in _LINE.finditer(safeopen.read(_path(state), 64 << 20).decode("ascii", "replace")):
            newest.pop(line[1], None)  # so that the newest are last
            newest[line[1]] = Head(int(line[2]), line[3])
    return newest


def accept(state: str) -> None:
    """Begin the list anew, because the user accepted the journals as they are. Raises: Unavailable."""
    durable.remove(_path(state))


def note(state: str, stem: str, start: int, checkpoint: Mapping[str, Any] | None) -> None:
    """Note a journal's newest checkpoint and its offset, or that it was erased. Never fails: without the note, only a
    restored older copy goes unnoticed."""
    head = Head(start, GONE if checkpoint is None else checkpoint.get("chain", ""))
    path = _path(state)
    with suppress(ConfigError, Corrupt, Unavailable, OSError):
        durable.make_private_dir(os.path.dirname(path))
        line = f"\n{name_of(stem)} {head.start} {head.chain}\n"  # a torn line before it ends here
        durable.append(path, line.encode("ascii"), flush=False)
        if os.path.getsize(path) > _LONG:
            lines = [f"{name} {noted.start} {noted.chain}\n" for name, noted in heads(state).items()]
            durable.replace(path, "".join(lines[-_KEPT:]).encode("ascii"))


def name_of(stem: str) -> str:
    """A journal's name in the list, which does not show the session's id."""
    return digest(os.fsencode(stem))


def _path(state: str) -> str:
    return ownership_mark.away_path(_FOLDER, state)
