"""Reading standard input without hanging on it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from holdfast_cli.problem import UsageError

_FIRST_BYTE_S = 5.0


def read_text() -> str:
    """All of stdin, as UTF-8. Raises: UsageError when it is not text."""
    with _nothing_done():
        data = b"" if sys.stdin is None else sys.stdin.buffer.read()
    return decode(data, "Standard input")


def read_if_any() -> str | None:
    """Optional input from a pipe; None without any.

    After five seconds without a byte from an open pipe (a parent that never closes it), the answer is
    None too. Raises: UsageError when it is not text.
    """
    if sys.stdin is None or sys.stdin.closed or sys.stdin.isatty():
        return None
    try:
        number = sys.stdin.fileno()
    except (OSError, ValueError):  # not a real file, so reading cannot block
        return decode(sys.stdin.buffer.read(), "Standard input") or None
    with _nothing_done():
        data = _read_descriptor(number)
    return decode(data, "Standard input") or None


@contextmanager
def _nothing_done() -> Iterator[None]:
    """Commands read their input before they change anything, so an interrupt may report that nothing was done."""
    try:
        yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt("standard input had not ended, and nothing was done") from None


def _read_descriptor(number: int) -> bytes:
    """Everything up to the end, if the first byte arrives in time. Reads in a thread, since Windows cannot wait for a
    pipe, and from the bare descriptor, so abandoning the thread at exit does no harm."""
    import threading

    chunks: list[bytes] = []
    begun = threading.Event()

    def read() -> None:
        try:
            while chunk := os.read(number, 65536):
                chunks.append(chunk)
                begun.set()
        except OSError:
            chunks.clear()
        begun.set()

    worker = threading.Thread(target=read, name="stdin", daemon=True)
    worker.start()
    if begun.wait(_FIRST_BYTE_S):
        worker.join()
        return b"".join(chunks)
    sys.stderr.write("holdfast: no input on stdin for 5 s. Continuing without it (`--payload -` waits)\n")
    return b""


def decode(data: bytes, what: str) -> str:
    """``data`` as UTF-8, with or without a byte order mark. Raises: UsageError."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{what} is not UTF-8: byte {error.start} cannot be read.", next_step="Convert it to UTF-8."
        ) from error
