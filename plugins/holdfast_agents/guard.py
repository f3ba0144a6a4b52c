"""Keeps the compaction hook in Claude Code's settings while a session runs.

Claude Code applies a change to its settings at once, hooks included. It fires ConfigChange first, and drops a change
that the hook refuses.
"""

from __future__ import annotations

import os

from holdfast.text import untrusted
from holdfast_agents import clientfiles
from holdfast_agents.events import NO_REPLY, Event, Reply

_PROJECT = (".claude/settings.json", ".claude/settings.local.json")
_USER = "settings.json"


def guards(cwd: str) -> tuple[str, ...]:
    """The settings files that contain holdfast's PreCompact hook."""
    return tuple(path for path in _files(cwd) if _holds_hook(_settings(path)))


def changed(event: Event, known: tuple[str, ...]) -> Reply:
    """Refuses a change that removes the hook from the last of the ``known`` files, or that switches hooks off."""
    settings = _settings(event.path) if event.path else {}
    if settings is None:
        return _refused(event, "cannot be read as JSON") if event.path in known else NO_REPLY
    if settings.get("disableAllHooks") is True:
        return _refused(event, "switches all hooks off")
    if event.path in known and not _holds_hook(settings) and not guards(event.cwd):
        return _refused(event, "no longer has holdfast's PreCompact hook")
    return NO_REPLY


def _refused(event: Event, why: str) -> Reply:
    name = os.path.basename(event.path)
    return Reply(
        block=f"holdfast: {name} {why}, so this session would compact unguarded. The change was refused. "
        "Put the hook back, or run `holdfast uninstall claude-code` and start a new session."
    )


def _files(cwd: str) -> tuple[str, ...]:
    project = os.environ.get("CLAUDE_PROJECT_DIR") or cwd
    return (*(os.path.join(project, name) for name in _PROJECT), os.path.join(clientfiles.claude_folder(), _USER))


def _settings(path: str) -> dict[str, object] | None:
    """The file's settings. Empty when it is missing, None when it cannot be read."""
    try:
        settings = untrusted.from_json(clientfiles.read(path).decode("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError):
        return None
    return settings if isinstance(settings, dict) else None


def _holds_hook(settings: dict[str, object] | None) -> bool:
    """Whether a hook before a compaction starts holdfast, as a command or as a program with arguments."""
    groups = clientfiles.at(settings, ("hooks", "PreCompact"))
    return any(
        clientfiles.is_ours(hook, "claude-code")
        for group in (groups if isinstance(groups, list) else ())
        for hook in clientfiles.hooks_of(group)
    )
