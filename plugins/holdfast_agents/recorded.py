"""When a client last wrote down a conversation of a project, whether or not a hook ran."""

from __future__ import annotations

import glob
import json
import os
import re
from datetime import UTC, datetime

from holdfast_agents import codex_files
from holdfast_agents.clients import folder

#: Of Codex's recordings, which lie together for all projects, so many of the newest are looked at.
_NEWEST = 50


def last(client: str, root: str) -> datetime | None:
    """The time of the last change, in UTC; None when there is no recording, or none that can be told apart."""
    times = [_changed(path) for path in _recordings(client, root)]
    return datetime.fromtimestamp(max(times), UTC) if times else None


def _recordings(client: str, root: str) -> list[str]:
    if client == "claude-code":
        name = re.sub(r"[^A-Za-z0-9]", "-", os.path.realpath(root))
        return glob.glob(os.path.join(glob.escape(folder("CLAUDE_CONFIG_DIR", ".claude")), "projects", name, "*.jsonl"))
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
    """Whether the session's first row says that it was held in ``root`` or below."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            row = json.loads(file.readline(1_000_000))
        cwd = os.path.realpath(row["payload"]["cwd"])
    except (OSError, ValueError, LookupError, TypeError):
        return False
    inside = os.path.realpath(root)
    return bool(cwd == inside or cwd.startswith(inside + os.sep))
