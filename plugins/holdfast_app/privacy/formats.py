"""An edit applied to a private file by its format: JSON lines, an archive of turns, one JSON object, or another."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from holdfast.fs import records
from holdfast.text import untrusted
from holdfast_app.sessions import archive

if TYPE_CHECKING:
    from holdfast_app.privacy.transforms import Edit


def edited(edit: Edit, path: str, data: bytes) -> tuple[bytes | None, int]:
    """The new content, None to remove the file, and the number of changes. Raises: Corrupt for an archive that cannot
    be decompressed, so its contents are unknown."""
    if path.endswith(".jsonl"):
        return _lines(edit, data)
    if path.endswith(archive.SUFFIX):
        if edit.other(path, b"") is None:
            return None, 1
        new, count = _lines(edit, archive.unpacked(path, data))
        return (new and archive.packed(new), count) if count else (data, 0)
    table = _object(data) if path.endswith(".json") else None
    if table is None:
        new = edit.other(path, data)
        return new, int(new != data)
    changed = edit.table(table)
    if changed == table:
        return data, 0
    return None if changed is None else json.dumps(changed, ensure_ascii=False).encode("utf-8"), 1


def _lines(edit: Edit, data: bytes) -> tuple[bytes | None, int]:
    lines = data.splitlines(keepends=True)
    new = [_line(edit, line) for line in lines]
    return b"".join(new) or None, sum(before != after for before, after in zip(lines, new, strict=True))


def _line(edit: Edit, line: bytes) -> bytes:
    """A JSON line keeps its format, including any checksum. Empty for a line to remove."""
    record = records.decode(line.rstrip(b"\n"))
    row = _object(line) if record is None else record
    if row is None:
        return edit.other("", line) or b""
    new = edit.row(row)
    if new is None or new == row:
        return b"" if new is None else line
    return json.dumps(new, ensure_ascii=False).encode() + b"\n" if record is None else records.encode(new)


def _object(data: bytes) -> dict[str, Any] | None:
    try:
        value = untrusted.from_json(data)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
