"""Messages past retention, kept compressed with ``[retention] turns = "forever"``.

One file per session and month of its last turn: ``state/archive/YYYY-MM/SESSION.jsonl.gz``, gzip of one JSON object a
line, in the session's order, with ``session`` and the message's ``id``, ``role``, ``at``, ``text`` and other fields.
Files are replaced atomically. A purge or scrub edits the lines.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from holdfast.errors import Corrupt
from holdfast.fs import durable, paths, private
from holdfast.journal.journal import file_stem
from holdfast.text import untrusted

#: The folder in the private folder, and each file's suffix.
FOLDER = "archive"
SUFFIX = ".jsonl.gz"


def add(state: str, session: str, records: Iterable[dict[str, Any]], last: datetime) -> None:
    """Add a session's messages to the file of ``last``'s month. Messages already there are not added again, so an
    interrupted call can be repeated. Raises: Corrupt; Unavailable."""
    folder = private.make(state, FOLDER, f"{last:%Y-%m}")
    path = os.path.join(folder, file_stem(session) + SUFFIX)
    with private.lock(path):
        old = private.read(path) or b""
        known = {one["id"] for one in _parsed(path, unpacked(path, old))}
        new = [_line(session, record) for record in records if record["id"] not in known]
        if new:
            durable.replace(path, old + packed(b"".join(new)))


def files(state: str) -> list[str]:
    """Paths of all archive files, by month and name. Raises: Unavailable."""
    folder = os.path.join(state, FOLDER)
    months = (os.path.join(folder, month) for month in private.names(folder))
    return [os.path.join(month, name) for month in months for name in private.names(month) if name.endswith(SUFFIX)]


def read(path: str) -> list[dict[str, Any]]:
    """One file's messages, in order; empty when it is missing. Raises: Corrupt; Unavailable."""
    return _parsed(path, unpacked(path, private.read(path) or b""))


def messages(state: str, session: str) -> list[dict[str, Any]]:
    """All archived messages of a session, oldest month first. Raises: Corrupt; Unavailable."""
    name = file_stem(session) + SUFFIX
    return [one for path in files(state) if os.path.basename(path) == name for one in read(path)]


def unpacked(path: str, data: bytes) -> bytes:
    """The JSON lines in a file's bytes. Raises: Corrupt."""
    import gzip
    import zlib

    try:
        return gzip.decompress(data) if data else b""
    except (OSError, EOFError, zlib.error) as error:
        raise Corrupt(
            f"{paths.ending(path, 5)} is damaged.", next_step="Restore the file from a copy, or delete it."
        ) from error


def packed(lines: bytes) -> bytes:
    """A file's bytes for JSON lines. Files can be joined. The same lines give the same bytes."""
    import gzip

    return gzip.compress(lines, mtime=0)


def _line(session: str, record: dict[str, Any]) -> bytes:
    kept = {key: value for key, value in record.items() if key not in ("kind", "crc", "tokens")}
    return json.dumps({"session": session, **kept}, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def _parsed(path: str, lines: bytes) -> list[dict[str, Any]]:
    try:
        found = [untrusted.from_json(line) for line in lines.splitlines()]
        return [{**one, **{key: str(one[key]) for key in ("session", "id", "role", "at", "text")}} for one in found]
    except (ValueError, KeyError, TypeError) as error:
        raise Corrupt(
            f"{paths.ending(path, 5)} has a line that is not a message.",
            next_step="Remove that line, or delete the file.",
        ) from error
