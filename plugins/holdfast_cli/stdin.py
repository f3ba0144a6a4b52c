"""Questions on standard input, reading it without hanging on it, and files that the user names."""

import os
import sys
from typing import Any

from holdfast_app.printable import printable
from holdfast_cli.problem import UsageError

_FIRST_BYTE_S = 5.0
#: Clients set these to 1 in their agent's shell.
_AGENT_SHELLS = ("CLAUDECODE", "OPENCODE")


def is_agent() -> bool:
    """Whether an agent runs the command, as far as its client says so."""
    return any(os.environ.get(name) == "1" for name in _AGENT_SHELLS)


def read_text() -> str:
    """All of stdin, as UTF-8. Raises: UsageError when it is not text."""
    return decode(b"" if sys.stdin is None else sys.stdin.buffer.read(), "Standard input")


def text_of(word: str) -> str:
    """The word itself; ``-`` is all of stdin. Raises: UsageError."""
    return read_text() if word == "-" else word


def read_file(name: str, what: str = "") -> str:
    """The content of file ``name``, or of stdin for ``-``. ``what`` describes it in errors. Raises: UsageError."""
    if name == "-":
        return read_text()
    named = f"{what} {name!r}".strip()
    try:
        with open(name, "rb") as file:
            return decode(file.read(), named)
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{named} cannot be read: {getattr(error, 'strerror', None) or error}.",
            next_step="Pass a file's path, or `-` for stdin.",
        ) from error


def parse_json(text: str, source: str, begins: str) -> Any:
    """The JSON value of ``text``. Raises: UsageError."""
    from holdfast.text import untrusted

    try:
        return untrusted.from_json(text)
    except ValueError as error:
        step = f"It should begin like {begins}."
        raise UsageError(f"{source} is not valid JSON: {error}.", next_step=step) from error


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
    return decode(_read_descriptor(number), "Standard input") or None


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
        finally:
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


def can_ask() -> bool:
    """Whether stdin is a terminal."""
    return sys.stdin is not None and sys.stdin.isatty()


def confirmed(question: str) -> bool:
    """Whether the user answers yes. Any other answer is a no."""
    sys.stderr.write(f"{printable(question)} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().casefold() in ("y", "yes")
