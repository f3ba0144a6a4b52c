"""One record per line: JSON that ends with a checksum, so that incomplete lines are detected.

Used by the journals, the outbox and the extraction queue. Part of the hot path, so without attrs.
"""

from __future__ import annotations

import json
import zlib
from typing import Any

from holdfast.text import untrusted

_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_CRC_BYTES = len(',"crc":"00000000"}')


def encode(record: dict[str, Any]) -> bytes:
    """One line with ``record`` as JSON, whose last key is a CRC-32 of the preceding bytes."""
    body = _JSON.encode(record)[:-1].encode("utf-8")
    return body + b',"crc":"%08x"}\n' % zlib.crc32(body)


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
