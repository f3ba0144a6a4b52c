"""The records of dreams in the private folder, besides the mark.

dreams.jsonl        one line when a run begins and one when it ends, including skipped and failed runs. A flush reads
                    it, because lines that a dream dropped or merged are not missing
dreams/ID.json      MEMORY.md as it was before a change
dream.inbox.json    a result waiting for review
"""

import os
from collections.abc import Iterator
from datetime import datetime
from enum import StrEnum
from typing import Final

from attrs import evolve, field, frozen

from holdfast.fs import durable, private
from holdfast_app import durable_queue
from holdfast_app.records import json_file

LOG: Final = "dreams.jsonl"
INBOX: Final = "dream.inbox.json"
FOLDER: Final = "dreams"
#: Number of earlier versions of MEMORY.md to keep.
BACKUPS: Final = 30
#: When the log is longer than this it is cut to the newest half.
MAX_BYTES: Final = 4_000_000
INTERRUPTED: Final = "The run has not finished. Its process was killed or is still running."


class Status(StrEnum):
    """How a run ended. A run without an end was interrupted."""

    BEGUN = "begun"
    DONE = "done"
    SKIPPED = "skipped"
    FAILED = "failed"
    PROPOSED = "proposed"
    UNDONE = "undone"
    REJECTED = "rejected"


@frozen(kw_only=True)
class Gone:
    """A line missing from the new memory, and the reason. ``said`` is the day on which it was last said, as
    YYYY-MM-DD; empty when it is unknown."""

    text: str
    reason: str
    said: str = ""


@frozen(kw_only=True)
class Supported:
    """A line of the new memory and its evidence: ``sources`` are ``document:line``, the strongest first. ``kept``
    is true for a line that was in the old memory word for word."""

    text: str
    sources: tuple[str, ...] = field(default=(), converter=tuple[str, ...])
    kept: bool = False


@frozen(kw_only=True)
class DreamResult:
    """A run's result and its record.

    ``read`` names the documents that were read; ``left_out`` notes that did not fit. Of the old memory, ``kept`` lines
    are unchanged, ``merged`` lines went into others, newer statements replaced the ``replaced`` lines, and ``dropped``
    lines were removed. ``archived`` lines, old or new, did not fit. ``lines`` is the new memory with its evidence,
    ``added`` its new lines. ``refused`` are rejected draft lines, ``judged`` draft lines that a judge confirmed,
    ``quoted`` source lines that replace rejected ones. ``diff`` is a unified diff of MEMORY.md; ``diary`` the document
    that describes the run.
    """

    id: str
    at: datetime
    status: Status = field(converter=Status)
    reason: str = ""
    next_step: str = ""
    plugin: str = ""
    lookback_days: int = 0
    dry_run: bool = False
    read: tuple[str, ...] = field(default=(), converter=tuple[str, ...])
    left_out: tuple[str, ...] = field(default=(), converter=tuple[str, ...])
    kept: tuple[str, ...] = field(default=(), converter=tuple[str, ...])
    added: tuple[str, ...] = field(default=(), converter=tuple[str, ...])
    merged: tuple[Gone, ...] = field(default=(), converter=tuple[Gone, ...])
    dropped: tuple[Gone, ...] = field(default=(), converter=tuple[Gone, ...])
    refused: tuple[Gone, ...] = field(default=(), converter=tuple[Gone, ...])
    replaced: tuple[Gone, ...] = field(default=(), converter=tuple[Gone, ...])
    archived: tuple[Gone, ...] = field(default=(), converter=tuple[Gone, ...])
    judged: tuple[Gone, ...] = field(default=(), converter=tuple[Gone, ...])
    quoted: tuple[Gone, ...] = field(default=(), converter=tuple[Gone, ...])
    lines: tuple[Supported, ...] = field(default=(), converter=tuple[Supported, ...])
    warnings: tuple[str, ...] = field(default=(), converter=tuple[str, ...])
    diff: str = ""
    diary: str = ""
    backup: str = ""

    @property
    def ok(self) -> bool:
        """Whether the run had no error. A skipped run counts as fine."""
        return self.status is not Status.FAILED


def _log(state: str) -> durable_queue.Log[DreamResult]:
    return durable_queue.Log(os.path.join(state, LOG), DreamResult, most_bytes=MAX_BYTES)


def record(state: str, result: DreamResult) -> None:
    """Add a line, durably. Raises: Unavailable."""
    _log(state).add(result)


def entries(state: str) -> list[DreamResult]:
    """Every run, oldest first. A run without an end is reported as failed, because it was killed or is still running.

    Unreadable lines (truncated by a crash) are skipped. Raises: Unavailable.
    """
    runs: dict[str, DreamResult] = {}
    for result in _log(state).entries():
        runs.pop(result.id, None)
        runs[result.id] = result
    return [
        evolve(r, status=Status.FAILED, reason=INTERRUPTED) if r.status is Status.BEGUN else r for r in runs.values()
    ]


@frozen(kw_only=True)
class Backup:
    """MEMORY.md before a change; ``before`` is None when there was none. ``after`` is the written text's digest,
    ``title`` its cause (a dream or an undo)."""

    id: str
    at: datetime
    name: str
    before: str | None
    after: str
    title: str = "dream"


@frozen(kw_only=True)
class Proposal:
    """A result waiting for review. ``base`` is the revision of MEMORY.md that it was made from; ``said`` are its source
    statements from the notes, as (text, time, note)."""

    result: DreamResult
    name: str
    text: str
    base: str
    digest: str
    diary: str = ""
    said: tuple[tuple[str, datetime, str], ...] = ()


def back_up(state: str, backup: Backup) -> str:
    """Store a backup, durably, and remove the oldest beyond :data:`BACKUPS`. Returns its name. Raises: Unavailable."""
    private.make(state, FOLDER)
    name = f"{backup.at:%Y%m%dT%H%M%S%f}-{backup.id}.json"
    json_file.save(os.path.join(state, FOLDER, name), backup)
    for old in _backups(state)[:-BACKUPS]:
        durable.remove(os.path.join(state, FOLDER, old))
    return name


def backups(state: str) -> list[Backup]:
    """Every backup, oldest first. Raises: Corrupt; Unavailable."""
    loaded = (json_file.load(os.path.join(state, FOLDER, name), Backup) for name in _backups(state))
    return [backup for backup in loaded if backup is not None]


def _backups(state: str) -> list[str]:
    return [name for name in private.names(os.path.join(state, FOLDER)) if name.endswith(".json")]


def proposal(state: str) -> Proposal | None:
    """The result waiting for review. Raises: Corrupt; Unavailable."""
    return json_file.load(os.path.join(state, INBOX), Proposal)


def propose(state: str, value: Proposal) -> None:
    """Put a result into the inbox, replacing any result there. Raises: Unavailable."""
    json_file.save(os.path.join(state, INBOX), value)


def clear_inbox(state: str) -> None:
    """Raises: Unavailable."""
    durable.remove(os.path.join(state, INBOX))


def gone_since(state: str, at: datetime) -> Iterator[str]:
    """The lines that dreams since ``at`` dropped, merged into others, replaced or archived. Raises: Unavailable."""
    runs = (r for r in entries(state) if r.status is Status.DONE and r.at >= at and not r.dry_run)
    return (line.text for run in runs for line in (*run.merged, *run.dropped, *run.replaced, *run.archived))
