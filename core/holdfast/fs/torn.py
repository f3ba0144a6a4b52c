"""Recognise the torn last line that a crash can leave in a JSON lines file. Any other unreadable line is damage."""

from __future__ import annotations

_CONTROLS = bytes(range(1, 32))  # JSON escapes them, so lines written by holdfast do not contain them


def may_be_torn(tail: bytes, *beginnings: bytes) -> bool:
    """Whether an append cut off by a crash can have left ``tail`` after the last complete line.

    It must be the start of a line, and each line starts with one of ``beginnings``. A power cut may have replaced some
    bytes with zeros, because the file can grow before its data is on disk. A tail with its newline and without zeros
    was written completely.
    """
    zeros = b"\0" in tail
    if tail.endswith(b"\n"):
        tail = tail[:-1]
        if not zeros or tail[-1:] not in (b"}", b"\0"):
            return False
    head = tail.partition(b"\0")[0]
    if head and not any(head.startswith(one) or one.startswith(head) for one in beginnings):
        return False
    return len(tail.translate(None, _CONTROLS)) == len(tail)
