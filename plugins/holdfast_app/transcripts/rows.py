"""Read JSON values from a file: lines (JSONL) in bounded memory, or one array's elements."""

import json
from collections.abc import Iterator
from typing import BinaryIO, Final, NamedTuple

from holdfast.text import untrusted

MAX_ROW_BYTES: Final = 64 * 1024 * 1024
"""Maximum row size in bytes. Longer rows are skipped, because decoding holds the row in memory."""

CONTAINERS: Final = frozenset({"conversations", "data", "memories", "messages", "results"})
"""Keys under which a whole-file object holds its rows."""

_MAX_DOCUMENT_BYTES: Final = 4 * MAX_ROW_BYTES
_CHUNK: Final = 64 * 1024
_HEAD: Final = 2_000


class Row(NamedTuple):
    """``value`` is the decoded row, or :data:`BAD`. ``position`` is its byte offset (lines) or index (elements);
    ``end`` the byte after it, 0 for elements, which cannot be resumed. ``cut``: the file ends inside the row. ``raw``
    is a BAD line's text; for a line over :data:`MAX_ROW_BYTES` its beginning and length."""

    value: object
    position: int
    end: int
    cut: bool = False
    raw: str = ""


BAD: Final = object()
# No id or time has more than 20 digits, and int() refuses more than 4,300 of them.
_DECODER: Final = json.JSONDecoder(parse_int=lambda n: int(n) if len(n) <= 20 else float(n), strict=False)


def lines(stream: BinaryIO, offset: int = 0) -> Iterator[Row]:
    """Rows in a JSONL file from byte ``offset``. Blank lines are skipped. An unfinished last line is ``cut`` and its
    ``end`` is its own start, so the next reading reads it again when finished."""
    stream.seek(offset)
    start = offset
    while line := stream.readline(MAX_ROW_BYTES):
        size = len(line)
        whole = line.endswith(b"\n")
        while not whole and size >= MAX_ROW_BYTES and (more := stream.readline(_CHUNK)):
            size += len(more)
            whole = more.endswith(b"\n")
        if size > MAX_ROW_BYTES:
            raw = line[:_HEAD].decode("utf-8", "replace") + f"\n[… a row of {size:,} bytes, too long to be read …]"
            yield Row(BAD, start, start + size if whole else start, cut=not whole, raw=raw)
        elif line.strip():
            text = line.decode("utf-8", "replace").removeprefix("\ufeff")
            value = _decoded(text)
            cut = value is BAD and not whole
            yield Row(value, start, start if cut else start + size, cut, raw=text if value is BAD else "")
        start += size


def elements(stream: BinaryIO) -> list[Row] | None:
    """Elements of a file that is one JSON array, or one object with it in :data:`CONTAINERS`; else None."""
    stream.seek(0)
    first = stream.readline(MAX_ROW_BYTES)
    while first.isspace():
        first = stream.readline(MAX_ROW_BYTES)
    line = first.decode("utf-8-sig", "replace").strip()
    if not line.startswith(("[", "{")) or (isinstance(row := _decoded(line), dict) and _contained(row) is None):
        return None
    stream.seek(0)
    value = _decoded(stream.read(_MAX_DOCUMENT_BYTES).decode("utf-8-sig", "replace"))
    values = _contained(value) if isinstance(value, dict) else value
    return [Row(element, index, 0) for index, element in enumerate(values)] if isinstance(values, list) else None


def _contained(value: dict[str, object]) -> object:
    return next((rows for name in CONTAINERS if isinstance(rows := value.get(name), list)), None)


def _decoded(text: str) -> object:
    try:
        value, end = _DECODER.raw_decode(text := text.strip())
    except (ValueError, RecursionError):
        return BAD
    return BAD if end < len(text) or untrusted.is_deeper(value) else value
