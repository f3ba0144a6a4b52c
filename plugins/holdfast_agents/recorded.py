"""A client's own recordings of a project's conversations: when the last was written, and whether a file is one."""

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
#: Rows of a recording of Claude Code in which a working folder is looked for.
_FIRST_ROWS = 50


def last(client: str, root: str) -> datetime | None:
    """The time of the last change, in UTC; None when there is no recording, or none that can be told apart."""
    times = [_changed(path) for path in _recordings(client, root)]
    return datetime.fromtimestamp(max(times), UTC) if times else None


def is_of(client: str, path: str, root: str) -> bool:
    """Whether ``path`` is a recording that the client keeps in its own folder, of a session in ``root`` or below.

    A path that was stored is read only when this holds: it could name another project's conversation, or any file.
    """
    real = os.path.realpath(path)
    if client == "claude-code":
        projects = os.path.join(os.path.realpath(folder("CLAUDE_CONFIG_DIR", ".claude")), "projects", "")
        if not real.startswith(projects):
            return False
        cwd = _first_folder(real)
        return _is_inside(cwd, root) if cwd else real.removeprefix(projects).split(os.sep)[0] == _claude_name(root)
    if client == "codex":
        sessions = os.path.join(os.path.realpath(codex_files.home()), "sessions", "")
        return real.startswith(sessions) and _is_in(real, root)
    return False  # opencode's events bring their messages with them


def _claude_name(root: str) -> str:
    return re.sub(r"[^A-Za-z0-9]", "-", os.path.realpath(root))


def _first_folder(path: str) -> str:
    """The first working folder that a recording of Claude Code names; empty when there is none."""
    try:
        with open(path, "rb") as file:
            for _ in range(_FIRST_ROWS):
                row = json.loads(file.readline(1_000_000) or b"null")
                if isinstance(row, dict) and isinstance(row.get("cwd"), str):
                    return str(row["cwd"])
    except (OSError, ValueError, RecursionError):
        pass
    return ""


def _is_inside(cwd: str, root: str) -> bool:
    real, inside = os.path.realpath(cwd), os.path.realpath(root)
    return real == inside or real.startswith(inside + os.sep)


def _recordings(client: str, root: str) -> list[str]:
    if client == "claude-code":
        base = glob.escape(folder("CLAUDE_CONFIG_DIR", ".claude"))
        return glob.glob(os.path.join(base, "projects", _claude_name(root), "*.jsonl"))
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
        return _is_inside(row["payload"]["cwd"], root)
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return False
