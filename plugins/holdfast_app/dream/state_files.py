"""A dream's files in the private folder besides its log and its mark: backups, and a result for review.

dreams/ID.json      MEMORY.md as it was before a change
dream.inbox.json    a result waiting for review
"""

from __future__ import annotations

import os
from datetime import datetime
from typing import Final

from attrs import frozen

from holdfast.fs import durable, private
from holdfast_app import json_file
from holdfast_app.dream.dreamlog import DreamResult

INBOX: Final = "dream.inbox.json"
FOLDER: Final = "dreams"


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


def back_up(state: str, backup: Backup, *, keep: int) -> str:
    """Store a backup, durably, and remove the oldest beyond ``keep``. Returns its name. Raises: Unavailable."""
    private.make(state, FOLDER)
    name = f"{backup.at:%Y%m%dT%H%M%S%f}-{backup.id}.json"
    json_file.save(os.path.join(state, FOLDER, name), backup)
    for old in _backups(state)[: -max(1, keep)]:
        durable.remove(os.path.join(state, FOLDER, old))
    return name


def backups(state: str) -> list[Backup]:
    """Every backup, oldest first. Raises: Corrupt; Unavailable."""
    loaded = (json_file.load(os.path.join(state, FOLDER, name), Backup) for name in _backups(state))
    return [one for one in loaded if one is not None]


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
