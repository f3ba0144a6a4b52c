"""The journals of a project in the order of their last change, the ends of journals of flushed sessions, and past
refusals and overrides, which stay visible after a later success."""

import io
import os
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from typing import Any

from attrs import frozen

from holdfast.config.serde import moment
from holdfast.errors import Corrupt
from holdfast.fs.records import decode
from holdfast.journal.journal import CHECKPOINT, Hint, hint_of
from holdfast_app.journal.journal import MESSAGE, Journal, opened, session_files


def by_age(state: str) -> list[str]:
    """:func:`session_files`, the file that changed last at the end. Raises: Unavailable."""
    changed: dict[str, int] = {}
    for path in session_files(state):
        with suppress(OSError):  # another process has just packed it
            changed[path] = os.stat(path).st_mtime_ns
    return sorted(changed, key=lambda path: (changed[path], path))


def last_checkpoint_of(path: str) -> dict[str, Any] | None:
    """The last record of a journal, if it is a checkpoint of a flush after which nothing was said; otherwise None.

    Reads only the journal's end.
    """
    hint = hint_of(path.removesuffix(".jsonl") + ".hint")
    try:
        with opened(path) as file:
            if file.seek(0, os.SEEK_END) != hint.acknowledged:
                if not isinstance(file, io.BytesIO):
                    return None
                hint = Hint(file.getvalue().rfind(b"\n" + CHECKPOINT) + 1, len(file.getvalue()))
            file.seek(hint.checkpoint)
            record = decode(file.read().removesuffix(b"\n"))
            if not record or record["kind"] != "checkpoint" or record["override"] or not record["receipt"]:
                return None
            if record["flushed_to"] <= record["last_message"]:
                return None
            file.seek(record["flushed_to"])  # another process may have said something before the checkpoint
            since = file.read(max(0, hint.checkpoint - record["flushed_to"]))
    except (OSError, ValueError, Corrupt):
        return None
    return None if any(line.startswith(MESSAGE) for line in since.split(b"\n")) else record


@frozen
class Incident:
    """A refused flush, or an operator's override, which lets context go unsaved. Nothing left the context after a
    refusal, unless an override had just ``let_through`` that flush.

    ``reason`` is the refused flush's reason (compaction, end, ...). ``why`` is the part that failed, or the operator's
    reason; mask it before it is shown.
    """

    session: str
    at: datetime
    overridden: bool
    reason: str
    why: str
    let_through: bool


def incidents(journal: Journal) -> Iterator[Incident]:
    """A session's refused flushes and overrides, oldest first, without damaged records. Attempts that failed alike left
    one record. Raises: Unavailable."""
    session, before = journal.session_id, False
    for entry in journal.of_kinds("refused", "override"):
        row, overridden = entry.record, entry.record["kind"] == "override"
        reason, why = ("", row["reason"]) if overridden else (row["reason"], row["target"])
        yield Incident(session, moment(row["at"]), overridden, reason, why, before and not overridden)
        before = overridden
