"""What belongs to a project and is neither document, fact nor journal: settings, waiting comments, copies that dreams
kept, and messages past retention. Keys and trust are not among them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any

from holdfast.config import settings
from holdfast.config.layout import Surface
from holdfast.config.serde import moment, structure, unstructure
from holdfast.errors import Corrupt
from holdfast.fs import durable, safeopen
from holdfast.text import untrusted
from holdfast_app.dream import state_files
from holdfast_app.sessions import archive as archived
from holdfast_app.transfer import archive

if TYPE_CHECKING:
    from holdfast import Holdfast

SETTINGS_FILE = "holdfast.toml"


def private_rows(memory: Holdfast) -> Iterator[dict[str, object]]:
    """Masked rows (``kind``, ``name`` and ``text``) from the archive's member. Raises: Corrupt, Unavailable."""
    services = memory.services

    def row(kind: str, name: str, text: str) -> dict[str, object]:
        return {"kind": kind, "name": name, "text": services.gate.outgoing(text, surface=str(Surface.JOURNAL))}

    path = settings.config_file(services.root)
    if path is not None and os.path.basename(path) == SETTINGS_FILE:
        yield row(archive.SETTINGS, SETTINGS_FILE, safeopen.read(path, private=False).decode("utf-8", "replace"))
    for item in memory.outbox.items():
        if not item.is_damaged:
            yield row(archive.OUTBOX, item.id, json.dumps(unstructure(item), ensure_ascii=False))
    for backup in state_files.backups(services.state):
        yield row(archive.BACKUP, backup.id, json.dumps(unstructure(backup), ensure_ascii=False))
    for file in archived.files(services.state):
        for message in archived.read(file):
            yield row(archive.MESSAGE, str(message["session"]), json.dumps(message, ensure_ascii=False))


def restore(memory: Holdfast, rows: Iterable[dict[str, Any]], *, with_settings: bool) -> tuple[int, int, list[str]]:
    """Add missing items. Returns the numbers of added and unchanged items, and sentences about items left alone.
    Raises: Refused, Corrupt, Unavailable, PluginError."""
    services = memory.services
    added = unchanged = waiting = 0
    left: list[str] = []
    known = {one.id for one in state_files.backups(services.state)}
    for row in rows:
        kind, text = row["kind"], services.gate.outgoing(row["text"], surface=str(Surface.JOURNAL))
        if kind == archive.SETTINGS:
            told = _settings(services.root, text) if with_settings else "add --settings to write them"
            added, left = added + (not told), left + ([f"the settings: {told}"] if told else [])
        elif kind == archive.OUTBOX:
            waiting += 1
        elif kind == archive.BACKUP:
            backup = structure(untrusted.from_json(text), state_files.Backup, what="A dream's copy", error=Corrupt)
            if backup.id in known:
                unchanged += 1
            else:
                state_files.back_up(services.state, backup, keep=services.config.dream.backups)
                added += 1
        elif kind == archive.MESSAGE:
            message = untrusted.from_json(text)
            new = _message(services.state, message, moment(message["at"]))
            added, unchanged = added + new, unchanged + (not new)
    if waiting:
        left.append(f"waiting comments: {waiting}; they are published from the machine where they wait")
    return added, unchanged, left


def _settings(root: str, text: str) -> str:
    """Write the project's settings. Returns why not, or an empty string."""
    if settings.config_file(root) is not None:
        return "this project has its own"
    durable.replace(os.path.join(root, SETTINGS_FILE), text.encode("utf-8"))
    return ""


def _message(state: str, message: dict[str, Any], at: datetime) -> bool:
    session = str(message["session"])
    if any(one["id"] == message["id"] for one in archived.messages(state, session)):
        return False
    archived.add(state, session, [{key: value for key, value in message.items() if key != "session"}], at)
    return True
