"""Finds the past sessions of Claude Code, Codex, opencode and pi on this machine, and reads them.

Nothing is written. Places: ``CLAUDE_CONFIG_DIR`` (default ``~/.claude``), ``CODEX_HOME`` (``~/.codex``), opencode's
database in ``XDG_DATA_HOME`` and pi's folder ``~/.pi``. Observed with Claude Code 2.1.332, Codex 0.169 and opencode
1.18.33; pi by its documentation.
"""

import json
import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime
from glob import iglob
from itertools import islice
from typing import Final, NamedTuple

from holdfast.errors import ConfigError
from holdfast_app.history.memories import opened
from holdfast_app.message_formats.reading import Reading, Transcript, mapping
from holdfast_app.transcripts import opencode, read
from holdfast_app.transcripts.rows import lines

#: Clients whose hooks may still write to a session.
FOLLOWED: Final = frozenset({"claude-code", "codex", "opencode", "pi"})
#: Rows of a file that may name the working directory.
_HEAD: Final = 50


class Past(NamedTuple):
    """One recorded session: the client, its file or its id in opencode's database, the working directory (or an
    empty string), when it last changed, aware, and its conversation if it was read already."""

    client: str
    path: str
    id: str
    folder: str
    at: datetime
    transcript: Transcript | None = None

    @property
    def name(self) -> str:
        return self.id or self.path

    def read(self) -> Transcript:
        """The conversation. Raises: ConfigError, Corrupt."""
        return self.transcript or (_from_database(self) if self.id else read(self.path))

    def is_in(self, root: str) -> bool:
        """Whether it ran in the project at ``root``."""
        folder, root = os.path.realpath(self.folder), os.path.realpath(root)
        return os.path.isabs(self.folder) and (folder == root or folder.startswith(os.path.join(root, "")))


def found(environ: Mapping[str, str] = os.environ) -> list[Past]:
    """All sessions, oldest change first. Files that cannot be read are left out."""
    return sorted([*_files(environ), *_database(environ)], key=lambda past: (past.at, past.path, past.id))


def _files(environ: Mapping[str, str]) -> Iterator[Past]:
    claude = environ.get("CLAUDE_CONFIG_DIR") or os.path.expanduser("~/.claude")
    codex = environ.get("CODEX_HOME") or os.path.expanduser("~/.codex")
    places = (
        ("claude-code", os.path.join(claude, "projects"), "*/*.jsonl"),
        ("codex", os.path.join(codex, "sessions"), "**/rollout-*.jsonl"),
        ("pi", os.path.expanduser("~/.pi/agent/sessions"), "**/*.jsonl"),
    )
    for client, place, pattern in places:
        for name in iglob(pattern, root_dir=place, recursive=True):
            path = os.path.join(place, name)
            try:
                yield Past(client, path, "", _folder(path), datetime.fromtimestamp(os.path.getmtime(path), tz=UTC))
            except OSError:
                continue


def _folder(path: str) -> str:
    with open(path, "rb") as stream:
        for row in islice(lines(stream), _HEAD):
            value = mapping(row.value)
            for folder in (value.get("cwd"), mapping(value.get("payload")).get("cwd")):
                if isinstance(folder, str) and folder:
                    return folder
    return ""


def _database(environ: Mapping[str, str]) -> Iterator[Past]:
    data = environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    path = os.path.join(data, "opencode", "opencode.db")
    if not os.path.isfile(path):
        return
    # A session with a parent is a sub-agent's.
    select = "SELECT id, directory, time_updated FROM session WHERE parent_id IS NULL"
    try:
        with closing(opened(path)) as database:
            rows = database.execute(select).fetchall()
    except sqlite3.Error:
        return
    for key, folder, updated in rows:
        yield Past("opencode", path, key, folder, datetime.fromtimestamp(updated / 1000, tz=UTC))


def _from_database(past: Past) -> Transcript:
    reading, parts = Reading(), dict[str, list[object]]()
    try:
        with closing(opened(past.path)) as database:
            select = "SELECT message_id, data FROM part WHERE session_id = ? ORDER BY id"
            for key, data in database.execute(select, (past.id,)):
                parts.setdefault(key, []).append(json.loads(data))
            select = "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id"
            for number, (key, data) in enumerate(database.execute(select, (past.id,))):
                info = {**json.loads(data), "id": key, "sessionID": past.id}
                opencode.take({"info": info, "parts": parts.get(key, [])}, number, reading)
    except (sqlite3.Error, ValueError) as error:
        problem = f"opencode's session {past.id} cannot be read: {error}."
        raise ConfigError(problem, next_step="Update holdfast.") from error
    return reading.finish("opencode", next_offset=0, truncated=False)
