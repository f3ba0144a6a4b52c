"""The last line that a crash can leave in a file of JSON lines. Anything else that cannot be read is damage."""

from __future__ import annotations

_CONTROLS = bytes(range(1, 32))  # JSON escapes them, so none is in a line that holdfast writes


def may_be_torn(tail: bytes, *beginnings: bytes) -> bool:
    """Whether an append that a crash cut off can have left ``tail`` after the last whole line.

    It is the beginning of a line, and each line begins with one of ``beginnings``. A power cut may have left zeros
    instead of some of its bytes, because the file can become longer before its data is on the disk. A tail without
    zeros that has its newline was written to its end.
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
