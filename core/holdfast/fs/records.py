"""One record per line: JSON that ends with a checksum, so that incomplete lines are detected.

A crash can leave a torn last line, which :func:`may_be_torn` recognises. Any other unreadable line is damage.
Used by the journals, the outbox and the extraction queue. Part of the hot path, so without attrs.
"""

import json
import zlib
from typing import Any

from holdfast.text import untrusted

_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_CRC_BYTES = len(',"crc":"00000000"}')
_CONTROLS = bytes(range(1, 32))  # JSON escapes them, so lines written by holdfast do not contain them
_HEX = b"0123456789abcdef"
_LEAST_HOLE = 16  # bytes; disks lose sectors, and a person types no zeros


def encode(record: dict[str, Any]) -> bytes:
    """One line with ``record`` as JSON, whose last key is a CRC-32 of the preceding bytes."""
    body = _JSON.encode(record)[:-1].encode("utf-8")
    return body + b',"crc":"%08x"}\n' % zlib.crc32(body)


def beginning(kind: str) -> bytes:
    """How the line of a record of ``kind`` begins, if that is its first key."""
    return b'{"kind":"%s",' % kind.encode()


def decode(line: bytes) -> dict[str, Any] | None:
    """A line's record (``line`` without its newline), or None when it is incomplete or damaged."""
    body, checksum = line[:-_CRC_BYTES], line[-_CRC_BYTES:]
    if checksum != b',"crc":"%08x"}' % zlib.crc32(body):
        return None
    try:
        record = untrusted.from_json(line.decode("utf-8"))  # with bytes it tries other encodings first
    except ValueError:
        return None
    if not isinstance(record, dict):
        return None
    del record["crc"]
    return record


def may_be_torn(tail: bytes, *beginnings: bytes) -> bool:
    """Whether an append cut off by a crash can have left ``tail`` after the last complete line.

    It must start a line, and ``beginnings`` are the possible starts of lines. A power cut may have replaced the
    rest with zeros, because the file can grow before its data is on disk. After the zeros, more of the line can follow:
    if it has the newline, then with the checksum. A tail with its newline and without zeros was written completely.
    """
    head, zero, rest = tail.partition(b"\0")
    if not zero and head.endswith(b"\n"):
        return False
    if head and not any(head.startswith(beginning) or beginning.startswith(head) for beginning in beginnings):
        return False
    end = rest.lstrip(b"\0")
    is_hole = len(rest) - len(end) >= _LEAST_HOLE and not end.endswith(b"\n")
    if end and not (is_hole or _is_end(end)):
        return False
    body = head + end.removesuffix(b"\n")
    return len(body.translate(None, _CONTROLS)) == len(body)


def _is_end(data: bytes) -> bool:
    """Whether ``data`` can be the last bytes of a line: ``"crc": "`` or ``"crc":"``, eight digits and ``"}``."""
    key, digits, close = data[:-11], data[-11:-3], data[-3:]
    if b"\0" in data or not b'"}\n'.endswith(close) or digits.strip(_HEX):
        return False
    return any(key.endswith(form) or form.endswith(key) for form in (b'"crc": "', b'"crc":"'))
