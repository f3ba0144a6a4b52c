"""A journal's lines: its first one, and copies with some records changed or left out.

In a copy, checkpoints point to the same messages as before.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Callable
from typing import Any

from holdfast.fs.records import decode, encode

#: Offsets that a checkpoint points to.
_OFFSETS = ("kept_from", "flushed_to", "last_message", "summarised_to")

Change = Callable[[dict[str, Any]], dict[str, Any]]


def header(session_id: str) -> bytes:
    """A first line. Each is unique, see :meth:`holdfast.journal.journal.Journal.first_line`."""
    return encode({"kind": "session", "id": session_id, "v": 1, "made": os.urandom(6).hex()})


def whole_lines(data: bytes, session_id: str, change: Change = lambda record: record) -> tuple[bytes, int]:
    """A journal's intact lines with ``change`` applied to each record, and the number of bytes left out."""
    lost = 0

    def choose(line: bytes, record: dict[str, Any] | None) -> dict[str, Any] | bytes:
        nonlocal lost
        if record is None:
            lost += len(line)
            return b""
        return _line_or_record(line, record, change(record))

    return _rebuilt(data, session_id, choose), lost


def changed(data: bytes, session_id: str, change: Change, keep: Callable[[bytes], bool]) -> tuple[bytes, int]:
    """A journal with ``change`` applied to each record, without the damaged lines that ``keep`` rejects; and the number
    of affected lines."""
    affected = 0

    def choose(line: bytes, record: dict[str, Any] | None) -> dict[str, Any] | bytes:
        nonlocal affected
        if record is None:
            affected += not keep(line)
            return line if keep(line) else b""
        new = change(record)
        affected += new != record
        return _line_or_record(line, record, new)

    rewritten = _rebuilt(data, session_id, choose)
    return rewritten, affected


def _line_or_record(line: bytes, record: dict[str, Any], new: dict[str, Any]) -> dict[str, Any] | bytes:
    """An unchanged line stays as it is, unless its offsets have to move."""
    return line if new == record and record["kind"] != "checkpoint" else new


def _rebuilt(
    data: bytes, session_id: str, choose: Callable[[bytes, dict[str, Any] | None], dict[str, Any] | bytes]
) -> bytes:
    """A journal of the lines or records that ``choose`` returns for each line, after a new first line, with checkpoint
    offsets adjusted to the lines' new positions."""
    out = bytearray(header(session_id))
    old, new = [0], [len(out)]
    for line in data.splitlines(keepends=True):
        record = decode(line[:-1]) if line.endswith(b"\n") else None
        old.append(old[-1] + len(line))
        if record is None or record["kind"] != "session":
            chosen = choose(line, record)
            if isinstance(chosen, dict):
                moved = {k: new[bisect_right(old, chosen[k]) - 1] for k in _OFFSETS if chosen.get(k, -1) >= 0}
                chosen = encode({**chosen, **moved})
            out += chosen
        new.append(len(out))
    return bytes(out)
