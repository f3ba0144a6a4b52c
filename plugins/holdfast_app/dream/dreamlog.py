"""The log of dreams, ``dreams.jsonl`` in the private folder, with one line when a run begins and one when it ends,
including skipped and failed runs.

A flush reads it, because lines that a dream dropped or merged are not missing.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from datetime import datetime
from enum import StrEnum
from typing import Final

from attrs import evolve, field, fields, frozen

from holdfast.config.serde import structure, unstructure
from holdfast.errors import Corrupt
from holdfast.fs import durable, private, safeopen
from holdfast_app.durable_queue import tally

LOG: Final = "dreams.jsonl"
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


def record(state: str, result: DreamResult) -> None:
    """Add a line, durably. Raises: Unavailable."""
    private.make(state)
    path = os.path.join(state, LOG)
    defaults = {a.name: a.default for a in fields(DreamResult)}
    row = {k: v for k, v in unstructure(result).items() if v not in ("", [], False, 0) or k not in defaults}
    with private.lock(path):
        with durable.reporting(path, "read"), suppress(FileNotFoundError):
            if safeopen.stat(path).st_size > MAX_BYTES:
                _cut(path)
        # A line that a crash truncated must not corrupt this one.
        tally.append(path, b"\n" + json.dumps(row, ensure_ascii=False).encode("utf-8") + b"\n")


def _cut(path: str) -> None:
    with safeopen.reader(path) as file:
        data = file.read()
    tally.replace(path, data[data.find(b"\n", len(data) // 2) + 1 :])


def entries(state: str) -> list[DreamResult]:
    """Every run, oldest first. A run without an end is reported as failed, because it was killed or is still running.

    Unreadable lines (truncated by a crash) are skipped. Raises: Unavailable.
    """
    found: dict[str, DreamResult] = {}
    for row in private.rows(os.path.join(state, LOG)):
        try:
            result = structure(row, DreamResult, what="A record of a dream", error=Corrupt)
        except Corrupt:
            continue
        found.pop(result.id, None)
        found[result.id] = result
    return [
        evolve(r, status=Status.FAILED, reason=INTERRUPTED) if r.status is Status.BEGUN else r for r in found.values()
    ]
