"""Rewrite a journal, which otherwise only grows: repair it, change or remove its messages, or erase it.

Checkpoints then point to the same messages as before, and a crash leaves either the old journal or the new.
"""

import os
import zlib
from bisect import bisect_right
from collections.abc import Callable
from typing import Any

from holdfast.fs import durable, private
from holdfast.fs.records import decode, encode
from holdfast.journal.beginning import first_line_of
from holdfast_app.journal import chain
from holdfast_app.journal.journal import Journal, retire

#: Offsets that a checkpoint points to.
_OFFSETS = ("kept_from", "flushed_to", "last_message", "summarised_to", "since")

Change = Callable[[dict[str, Any]], dict[str, Any]]


def repair(journal: Journal) -> int:
    """Keep the damaged file next to the journal and continue with the intact lines; returns the number of bytes left
    out or missing. Nothing is deleted. Raises: Unavailable."""
    with durable.lock(journal.lock_path):
        journal.unpack()
        data = journal.data()
        whole, lost = whole_lines(data, journal.session_id)
        lost = max(lost, journal.hint().acknowledged - len(data))
        if lost <= 0:
            return 0
        if data:
            durable.replace(f"{journal.path}.damaged-{zlib.crc32(data):08x}", data)
        _replace(journal, whole)
        return lost


def rewrite(journal: Journal, change: Change, keep: Callable[[bytes], bool], *, dry_run: bool = False) -> int:
    """Replace every record with ``change(record)`` and drop damaged lines that ``keep`` rejects.

    Returns the number of affected lines. Nothing is written if nothing changes. Raises: Unavailable.
    """
    if dry_run:
        return _changed(journal.data(), journal.session_id, change, keep)[1]
    with durable.lock(journal.lock_path):
        journal.unpack()
        data, affected, _ = _changed(journal.data(), journal.session_id, change, keep)
        if affected:
            _replace(journal, data)
        return affected


def erase(journal: Journal) -> None:
    """Remove the journal and its companion files. A packed one stays until
    :func:`holdfast_app.records.packs.compact`. Raises: Unavailable."""
    damaged = os.path.basename(journal.path) + ".damaged-"  # put aside by a repair
    with durable.lock(journal.lock_path):
        aside = [os.path.join(journal.folder, n) for n in private.names(journal.folder) if n.startswith(damaged)]
        for path in (*aside, journal.hint_path, journal.path):
            durable.remove(path)
        retire(journal.lock_path)
    chain.note(os.path.dirname(journal.folder), journal.stem, 0, None)


def _replace(journal: Journal, data: bytes) -> None:
    durable.remove(journal.hint_path)  # first, because it must never show more than the file has
    durable.replace(journal.path, data)
    last = journal.last_checkpoint()
    chain.note(os.path.dirname(journal.folder), journal.stem, last.start if last else 0, last.record if last else None)


def whole_lines(data: bytes, session_id: str, change: Change = lambda record: record) -> tuple[bytes, int]:
    """A journal's intact lines with ``change`` applied to each record, and the number of bytes left out."""
    lines, _, lost = _changed(data, session_id, change, lambda line: False)
    return lines, lost


def adopted(data: bytes, session_id: str) -> bytes:
    """A journal of another user or machine as this user's, with its damaged lines."""
    return _changed(data, session_id, lambda record: record, lambda line: True)[0]


def _changed(data: bytes, session_id: str, change: Change, keep: Callable[[bytes], bool]) -> tuple[bytes, int, int]:
    """A journal with ``change`` applied to each record, without the damaged lines that ``keep`` rejects, after a new
    first line and with checkpoint offsets adjusted; the number of affected lines, and of bytes left out.

    An unchanged line stays as it is, unless its offsets have to move.
    """
    affected = lost = 0
    out = bytearray(first_line_of(session_id))
    old, new = [0], [len(out)]
    for line in data.splitlines(keepends=True):
        record = decode(line[:-1]) if line.endswith(b"\n") else None
        old.append(old[-1] + len(line))
        if record is None:
            affected += not keep(line)
            lost += 0 if keep(line) else len(line)
            out += line if keep(line) else b""
        elif record["kind"] != "session":
            changed = change(record)
            affected += changed != record
            if changed != record or record["kind"] == "checkpoint":
                moved: dict[str, object] = {
                    k: new[bisect_right(old, changed[k]) - 1] for k in _OFFSETS if changed.get(k, -1) >= 0
                }
                if "chain" in record and chain.digest(data[record["since"] : old[-2]]) == record["chain"]:
                    moved["chain"] = chain.digest(bytes(out[new[bisect_right(old, record["since"]) - 1] :]))
                line = encode({**changed, **moved})
            out += line
        new.append(len(out))
    return bytes(out), affected, lost
