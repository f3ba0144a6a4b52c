"""A record of an append's intent, written durably before it starts.

People edit these Markdown documents, so the document alone does not show whether its last line was torn by a crash or
typed by a person. The intent holds the bytes to add and their offset. A tail that is a prefix of those bytes is torn
and gets cut. Any other tail was typed by a person and stays.
"""

import json
import os
from contextlib import suppress
from typing import NamedTuple

from holdfast.fs import durable, safeopen
from holdfast.storage import sha256_of
from holdfast.text import untrusted
from holdfast_file.place import read_bytes


class Intent(NamedTuple):
    """``data`` is to follow the first ``offset`` bytes of document ``name``."""

    name: str
    offset: int
    data: bytes

    def torn_in(self, body: bytes) -> bool:
        """Whether only part of the append follows the old bytes.

        A power cut may leave the new length with blocks of zeros. Documents hold no other NUL bytes.
        """
        tail = body[self.offset :]
        if not 0 < len(tail) <= len(self.data) or tail == self.data:
            return False
        return self.data.startswith(tail) or all(a in (b, 0) for a, b in zip(tail, self.data, strict=False))


def note(path: str, intent: Intent) -> None:
    """Write the intent. The file must be empty or missing, see :func:`clear`. Raises: Unavailable."""
    head = {"document": intent.name, "offset": intent.offset, "sha256": sha256_of(intent.data)}
    durable.append(path, json.dumps(head).encode() + b"\n" + intent.data)


def pending(path: str) -> Intent | None:
    """The pending intent. A truncated intent counts as none, because its append never started."""
    with suppress(OSError):
        if not os.stat(path).st_size:  # the usual case
            return None
    noted = read_bytes(path, os.path.basename(path), private=True)
    if not noted:
        return None
    line, _, data = noted.partition(b"\n")
    with suppress(ValueError, KeyError, TypeError):
        head = untrusted.from_json(line)
        name, offset, digest = str(head["document"]), int(head["offset"]), str(head["sha256"])
        return Intent(name, offset, data) if sha256_of(data) == digest else None
    return None


def clear(path: str) -> None:
    """Forget the intent. Not flushed: should a power cut bring it back, it is found to be done already."""
    with durable.reporting(path, "cut"), suppress(FileNotFoundError):
        os.close(safeopen.open_fd(path, os.O_WRONLY | os.O_TRUNC))
