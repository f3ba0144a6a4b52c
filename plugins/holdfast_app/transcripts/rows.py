"""Read JSON values from a file one by one, as lines (JSONL) or elements of one array, in bounded memory."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from typing import BinaryIO, Final, NamedTuple

MAX_ROW_BYTES: Final = 64 * 1024 * 1024
"""Maximum row size in bytes. Longer rows are skipped, because decoding holds the row in memory."""

CONTAINERS: Final = frozenset({"data", "messages"})
"""Keys under which a whole-file object holds its rows."""

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


class _Bad:
    """The type of :data:`BAD`."""


BAD: Final = _Bad()


def _integer(digits: str) -> int | float:
    # No id or time has more digits, and int() refuses more than 4,300 of them.
    return int(digits) if len(digits) <= 20 else float(digits)


_DECODER: Final = json.JSONDecoder(parse_int=_integer, strict=False)


def lines(stream: BinaryIO, offset: int = 0) -> Iterator[Row]:
    """Rows in a JSONL file from byte ``offset``. Blank lines are skipped. An unfinished last line is ``cut`` and
    its
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
    stream.seek(0)
    feed = _Feed(stream)
    if not feed.open_array():
        return
    index = 0
    while (char := feed.peek()) != "]":
        value = BAD if char == "" else feed.value()
        yield Row(value, index, 0, cut=value is BAD)
        if value is BAD:
            return
        index += 1
        if feed.peek() == ",":
            feed.skip()


def is_document(stream: BinaryIO) -> bool:
    """Whether the file is one JSON array (or an object around one) rather than one row per line."""
    stream.seek(0)
    return _Feed(stream).open_array()


def _decoded(text: str) -> object:
    try:
        value, end = _DECODER.raw_decode(text := text.strip())
    except (ValueError, RecursionError):
        return BAD
    return value if end == len(text) else BAD


class _Feed:
    """Decodes values from a stream, holding only the current value's text."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._decode = codecs.getincrementaldecoder("utf-8-sig")("replace").decode
        self._text = ""
        self._at = 0

    def peek(self) -> str:
        """The next character that is not blank, or empty at the file's end."""
        while True:
            match = _BLANK.match(self._text, self._at)
            self._at = match.end() if match else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def skip(self) -> None:
        """Skip the character that :meth:`peek` returned."""
        self._at += 1

    def value(self) -> object:
        """The next value, or :data:`BAD`."""
        self.peek()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
            except ValueError:
                if not self._more():
                    return BAD
            except RecursionError:
                return BAD
            else:
                # A number that ends with the buffer may continue in the next chunk.
                if end < len(self._text) or not isinstance(value, int | float) or not self._more():
                    self._at = end
                    return value

    def open_array(self) -> bool:
        """Skip past the ``[`` of the rows; False when the file has none."""
        if self.peek() == "{":
            self.skip()
            while True:
                key = self.value() if self.peek() == '"' else None
                if not isinstance(key, str) or self.peek() != ":":
                    return False
                self.skip()
                if key in CONTAINERS and self.peek() == "[":
                    break
                if self.value() is BAD or self.peek() != ",":
                    return False
                self.skip()
        if self.peek() != "[":
            return False
        self.skip()
        return True

    def _more(self) -> bool:
        """Read on, each time as much as is held, so that a long value is not decoded too often."""
        held = self._text[self._at :]
        if len(held) > MAX_ROW_BYTES:
            return False
        chunk = self._stream.read(max(_CHUNK, len(held)))
        self._text = held + self._decode(chunk, not chunk)
        self._at = 0
        return bool(chunk)
