"""When a client last wrote down a conversation of a project, whether or not a hook ran."""

from __future__ import annotations

import glob
import json
import os
import re
from datetime import UTC, datetime

from holdfast_agents import codex_files
from holdfast_agents.clients import folder

#: Recordings that may belong to another project: this many of the newest are read, this many rows of each.
_NEWEST, _FIRST = 50, 10


def last(client: str, root: str) -> datetime | None:
    """The time of the last change, in UTC; None when there is no recording, or none that can be told apart."""
    times = [_changed(path) for path in _recordings(client, root)]
    return datetime.fromtimestamp(max(times), UTC) if times else None


def _recordings(client: str, root: str) -> list[str]:
    if client == "claude-code":
        name = re.sub(r"[^A-Za-z0-9]", "-", os.path.realpath(root))
        projects = os.path.join(glob.escape(folder("CLAUDE_CONFIG_DIR", ".claude")), "projects")
        below = glob.glob(os.path.join(projects, f"{name}-*", "*.jsonl"))  # a subfolder's, or of a project named alike
        newest = sorted(below, key=_changed)[-_NEWEST:]
        return glob.glob(os.path.join(projects, name, "*.jsonl")) + [path for path in newest if _is_in(path, root)]
    if client == "codex":
        sessions = os.path.join(glob.escape(codex_files.home()), "sessions", "*", "*", "*", "rollout-*.jsonl")
        newest = sorted(glob.glob(sessions), key=_changed)[-_NEWEST:]
        return next(([path] for path in reversed(newest) if _is_in(path, root)), [])
    return []  # opencode keeps all of them in one database


def _changed(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


def _is_in(path: str, root: str) -> bool:
    """Whether one of the session's first rows says that it was held in ``root`` or below."""
    inside = os.path.realpath(root)
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = [file.readline(1_000_000) for _ in range(_FIRST)]
            rows = [json.loads(line) for line in lines if line]
    except (OSError, ValueError):
        return False
    named = [place.get("cwd") for row in rows if isinstance(row, dict) for place in (row, row.get("payload") or {})]
    folders = [os.path.realpath(name) for name in named if isinstance(name, str)]
    return any(folder == inside or folder.startswith(inside + os.sep) for folder in folders)
