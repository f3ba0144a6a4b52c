"""Read JSON values from a file: lines (JSONL) in bounded memory, or one array's elements."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import BinaryIO, Final, NamedTuple

MAX_ROW_BYTES: Final = 64 * 1024 * 1024
"""Maximum row size in bytes. Longer rows are skipped, because decoding holds the row in memory."""

CONTAINERS: Final = frozenset({"conversations", "data", "memories", "messages", "results"})
"""Keys under which a whole-file object holds its rows."""

_MAX_DOCUMENT_BYTES: Final = 4 * MAX_ROW_BYTES  # the rest counts as cut off
_CHUNK: Final = 64 * 1024
_HEAD: Final = 2_000
_BLANK: Final = re.compile(r"[ \t\r\n]*")


class Row(NamedTuple):
    """``value`` is the decoded row, or :data:`BAD`. ``position`` is its byte offset (lines) or index (elements);
    ``end`` the byte after it, 0 for elements, which cannot be resumed. ``cut``: the file ends inside the row. ``raw``
    is a BAD line's text; for a line over :data:`MAX_ROW_BYTES` its beginning, length and digest."""

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
        digest = None
        while not whole and size >= MAX_ROW_BYTES and (more := stream.readline(_CHUNK)):
            if digest is None:
                from hashlib import sha256  # rare, and loading OpenSSL takes milliseconds

                digest = sha256(line)
            digest.update(more)
            size += len(more)
            whole = more.endswith(b"\n")
        if digest is not None:
            head = line[:_HEAD].decode("utf-8", "replace")
            raw = f"{head}\n[… a row of {size:,} bytes, too long to be read; sha256 {digest.hexdigest()} …]"
            yield Row(BAD, start, start + size if whole else start, cut=not whole, raw=raw)
        elif line.strip():
            text = line.decode("utf-8", "replace").removeprefix("\ufeff")
            value = _decoded(text)
            cut = value is BAD and not whole
            yield Row(value, start, start if cut else start + size, cut, raw=text if value is BAD else "")
        start += size


def elements(stream: BinaryIO) -> Iterator[Row]:
    """Elements from a file that is one JSON array, or one object that holds it under :data:`CONTAINERS`.

    After an element that cannot be decoded the rest is unreadable. That element is ``BAD``, ``cut`` and the last.
    """
    text, at = _document(stream)
    index = 0
    while at and text[at : at + 1] != "]":
        try:
            value, at = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            yield Row(BAD, index, 0, cut=True)
            return
        yield Row(value, index, 0)
        index += 1
        at = _skip(text, at)
        if text[at : at + 1] == ",":
            at = _skip(text, at + 1)


def is_document(stream: BinaryIO) -> bool:
    """Whether the file is one JSON array (or an object around one) rather than one row per line."""
    return _document(stream)[1] > 0


def _document(stream: BinaryIO) -> tuple[str, int]:
    """A document's text and its first row's position. 0 for a file with one row per line."""
    stream.seek(0)
    first = stream.readline(MAX_ROW_BYTES)
    while first.isspace():
        first = stream.readline(MAX_ROW_BYTES)
    line = first.decode("utf-8-sig", "replace").strip()
    value = _decoded(line)
    is_row = isinstance(value, dict) and not any(isinstance(value.get(name), list) for name in CONTAINERS)
    if is_row or not line.startswith(("[", "{")):
        return "", 0
    stream.seek(0)
    text = stream.read(_MAX_DOCUMENT_BYTES).decode("utf-8-sig", "replace")
    return text, _first_row(text)


def _first_row(text: str) -> int:
    """The position after the ``[`` of the rows, past blanks; 0 when the text has none."""
    at = _skip(text, 0)
    if text[at : at + 1] == "{":
        at = _skip(text, at + 1)
        try:
            while text[at : at + 1] == '"':
                key, at = _DECODER.raw_decode(text, at)
                at = _skip(text, _skip(text, at) + 1)  # after the colon
                if key in CONTAINERS and text[at : at + 1] == "[":
                    break
                at = _skip(text, _skip(text, _DECODER.raw_decode(text, at)[1]) + 1)  # after the comma
        except (ValueError, RecursionError):
            return 0
    return _skip(text, at + 1) if text[at : at + 1] == "[" else 0


def _skip(text: str, at: int) -> int:
    """The next position without a blank."""
    blanks = _BLANK.match(text, at)
    return blanks.end() if blanks else at


def _decoded(text: str) -> object:
    try:
        value, end = _DECODER.raw_decode(text := text.strip())
    except (ValueError, RecursionError):
        return BAD
    return value if end == len(text) else BAD
