"""A dream's files in the private folder besides its log and its mark: backups, and a result for review.

dreams/ID.json      MEMORY.md as it was before a change
dream.inbox.json    a result waiting for review
"""

from __future__ import annotations

import json
import os
from datetime import datetime
from typing import Final, TypeVar

from attrs import frozen

from holdfast.config.serde import structure, unstructure
from holdfast.errors import Corrupt
from holdfast.fs import durable, private
from holdfast.text import untrusted
from holdfast_app.dream.dreamlog import DreamResult

T = TypeVar("T")

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
    _save(os.path.join(state, FOLDER, name), backup)
    for old in _backups(state)[: -max(1, keep)]:
        durable.remove(os.path.join(state, FOLDER, old))
    return name


def backups(state: str) -> list[Backup]:
    """Every backup, oldest first. Raises: Corrupt; Unavailable."""
    loaded = (_load(os.path.join(state, FOLDER, name), Backup) for name in _backups(state))
    return [one for one in loaded if one is not None]


def _backups(state: str) -> list[str]:
    return [name for name in private.names(os.path.join(state, FOLDER)) if name.endswith(".json")]


def proposal(state: str) -> Proposal | None:
    """The result waiting for review. Raises: Corrupt; Unavailable."""
    return _load(os.path.join(state, INBOX), Proposal)


def propose(state: str, value: Proposal) -> None:
    """Put a result into the inbox, replacing any result there. Raises: Unavailable."""
    _save(os.path.join(state, INBOX), value)


def clear_inbox(state: str) -> None:
    """Raises: Unavailable."""
    durable.remove(os.path.join(state, INBOX))


def _load(path: str, cls: type[T]) -> T | None:
    name = os.path.basename(path)
    data = private.read(path)
    if data is None:
        return None
    step = f"Move {name} out of the private folder, then try again."
    try:
        return structure(untrusted.from_json(data), cls, what=name, error=Corrupt, next_step=step)
    except ValueError as error:
        raise Corrupt(f"{name} is not valid JSON: {error}.", next_step=step) from error


def _save(path: str, value: object) -> None:
    durable.replace(path, json.dumps(unstructure(value), ensure_ascii=False).encode("utf-8"))
