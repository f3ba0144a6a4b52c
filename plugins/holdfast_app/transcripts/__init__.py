"""Reads the conversations that agent clients recorded. The format is detected from the content, never from the name.

>>> from holdfast_app.transcripts import read
>>> transcript = read("session.jsonl")              # doctest: +SKIP
>>> later = read("session.jsonl", offset=transcript.next_offset)   # only the new rows   # doctest: +SKIP

A client may stop, be killed or change its format at any time. A row of unknown form is kept unchanged when it may be
part of the conversation. Reading raises only when no row is recognised.
"""

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from typing import BinaryIO, Final, NamedTuple

from holdfast.errors import ConfigError, Corrupt
from holdfast_app.message_formats import messages
from holdfast_app.message_formats.reading import Reading, Transcript
from holdfast_app.transcripts import claude_code, codex, copilot, gemini, opencode, pi
from holdfast_app.transcripts.rows import BAD, Row, elements, lines

__all__ = ["FORMATS", "Format", "Transcript", "read"]

_HEAD_ROWS: Final = 1_000
_PLACE_ROWS: Final = 50
_NEXT_STEP: Final = (
    "Pass a session of Claude Code, Codex, Copilot CLI, Gemini CLI, opencode or pi; "
    'rows of {"role": ..., "content": ...} are supported, too.'
)


class Format(NamedTuple):
    """One format. With ``appended`` a file of this format only grows, so that a later reading may start in the middle.
    ``recognises`` says whether only this format has such a row. ``take`` adds the row's content to a reading, and is
    False when the row's type is unknown."""

    name: str
    appended: bool
    recognises: Callable[[Mapping[str, object]], bool]
    take: Callable[[Mapping[str, object], int, Reading], bool]


FORMATS: Final = (
    Format("claude-code", True, claude_code.recognises, claude_code.take),
    Format("codex", True, codex.recognises, codex.take),
    Format("opencode", False, opencode.recognises, opencode.take),  # each dump is written from scratch
    Format("pi", True, pi.recognises, pi.take),
    Format("copilot", True, copilot.recognises, copilot.take),
    Format("gemini", False, gemini.recognises, gemini.take),  # rows are written again
    Format("messages", True, messages.recognises, messages.take),
)
"""The most specific first, because a row of another format may also hold a role and a content."""


def read(path: str | os.PathLike[str], *, offset: int = 0, agent: str = "") -> Transcript:
    """The conversation in the file at ``path``, from byte ``offset`` on.

    Rows are read one by one; memory holds the messages and the current row. If no row starts at ``offset``, the file
    was replaced and is read from the start. Reading the same rows again gives the same ids. ``agent`` selects only the
    messages of the sub-agent with that id, which Claude Code keeps apart (``isSidechain``).

    Raises:
        ConfigError: ``path`` is missing, not a regular file, or cannot be read.
        Corrupt: file is empty, or in an unknown format.
    """
    with _opened(path) as stream:
        form, document = _detected(stream, path)
        resumable = form.appended and document is None
        start = 0
        if resumable and 0 < offset <= os.fstat(stream.fileno()).st_size:
            stream.seek(offset - 1)
            start = offset if stream.read(1) == b"\n" else 0
        reading = _placed(stream, form, agent) if start else Reading(agent=agent)
        end, truncated = start, False
        for row in lines(stream, start) if document is None else document:
            end, truncated = row.end, row.cut
            if not row.cut and not (isinstance(row.value, dict) and form.take(row.value, row.position, reading)):
                reading.unknown(row.raw if row.value is BAD else row.value, row.position)
    return reading.finish(form.name, next_offset=end if resumable else 0, truncated=truncated)


@contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """The file, opened for reading. Any OS error, also while rows are read, becomes a ConfigError."""
    name = os.fspath(path)
    try:
        if "\0" in name or not stat.S_ISREG(os.stat(name).st_mode):  # opening a pipe would block indefinitely
            raise ConfigError(f"{name!r} is not a regular file.", next_step=_NEXT_STEP)
        with open(name, "rb") as stream:
            yield stream
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ConfigError(f"The transcript {name!r} cannot be read: {reason}.", next_step=_NEXT_STEP) from error


def _detected(stream: BinaryIO, path: str | os.PathLike[str]) -> tuple[Format, list[Row] | None]:
    """The format, and the rows, where the file is one document rather than one row per line."""
    document = elements(stream)
    if document and (form := _recognised(document)):
        return form, document
    if form := _recognised(lines(stream)):
        return form, None
    reason = "is of no known format" if os.fstat(stream.fileno()).st_size else "is empty"
    raise Corrupt(f"The transcript {os.fspath(path)!r} {reason}.", next_step=_NEXT_STEP)


def _recognised(rows: Iterable[Row]) -> Format | None:
    values = (row.value for row in islice(rows, _HEAD_ROWS) if isinstance(row.value, dict))
    return next((form for value in values for form in FORMATS if form.recognises(value)), None)


def _placed(stream: BinaryIO, form: Format, agent: str) -> Reading:
    """An empty reading with session, branch and folder known, because rows after an offset may not repeat them."""
    head = Reading(agent=agent)
    for row in islice(lines(stream), _PLACE_ROWS):
        if isinstance(row.value, dict):
            form.take(row.value, row.position, head)
        if head.session_id and head.cwd:
            break
    return Reading(
        session_id=head.session_id, branch=head.branch, agent=agent, begun=head.begun, cwd=head.cwd, clock=head.clock
    )
