"""The clients' own folders and settings files, which a clone may have brought. Hooks import this, so it is small."""

import os
import re
from typing import Any, Final

from holdfast.fs import safeopen
from holdfast.text import untrusted
from holdfast_agents.events import NO_REPLY, Event, Reply

#: Larger files are not settings.
_MAX_BYTES: Final = 16 << 20

#: Client -> its folder in a project, and its own: a variable, the default below the home folder, and the rest.
FOLDERS: Final = {
    "claude-code": (".claude", "CLAUDE_CONFIG_DIR", ".claude", ""),
    "codex": (".codex", "CODEX_HOME", ".codex", ""),
    "opencode": (".opencode", "XDG_CONFIG_HOME", ".config", "opencode"),
    "kilo": (".kilo", "XDG_CONFIG_HOME", ".config", "kilo"),
    "pi": (".pi", "PI_CODING_AGENT_DIR", ".pi/agent", ""),
    "deepagents": (".deepagents", "", ".deepagents", ""),
    "qwen": (".qwen", "", ".qwen", ""),
    "gemini": (".gemini", "", ".gemini", ""),
    "copilot": (".github", "COPILOT_HOME", ".copilot", ""),
    "cursor": (".cursor", "", ".cursor", ""),
    "windsurf": (".windsurf", "", ".codeium", "windsurf"),
    "vscode": (".vscode", "XDG_CONFIG_HOME", ".config", "Code/User"),
    "droid": (".factory", "", ".factory", ""),
    "kimi": (".kimi-code", "KIMI_CODE_HOME", ".kimi-code", ""),
    "kiro": (".kiro", "", ".kiro", ""),
    "zed": (".zed", "XDG_CONFIG_HOME", ".config", "zed"),
}


def own_folder(client: str) -> str:
    _, variable, default, rest = FOLDERS[client]
    start = os.environ.get(variable) or os.path.join(os.path.expanduser("~"), default)
    return os.path.abspath(os.path.join(start, rest))


def read(path: str) -> bytes:
    """The file's bytes. Links are followed, because users keep their settings elsewhere, but only to a regular file of
    at most 16 MiB: a clone's settings may be a pipe, or a link to a device. Raises: OSError."""
    return safeopen.read(os.path.realpath(path), _MAX_BYTES, private=False)


def read_or_empty(path: str) -> bytes:
    """The file's bytes. Empty when it cannot be read."""
    try:
        return read(path)
    except (OSError, ValueError):
        return b""


def table(path: str) -> dict[str, Any]:
    """The JSON object in a file. Empty for anything else."""
    return _settings(path) or {}


def at(settings: object, path: tuple[str, ...]) -> object:
    """The value at ``path``, or None."""
    for key in path:
        settings = settings.get(key) if isinstance(settings, dict) else None
    return settings


def hooks_of(group: object) -> list[object]:
    """The hooks in a group of a client's settings. Empty for a value of a wrong type."""
    hooks = at(group, ("hooks",))
    return hooks if isinstance(hooks, list) else []


def is_ours(hook: object, client: str) -> bool:
    """Whether a hook starts ``holdfast hook CLIENT``, by whatever path."""
    command, arguments = at(hook, ("command",)), at(hook, ("args",))
    words = [command, *(arguments if isinstance(arguments, list) else [])]
    line = " ".join(word for word in words if isinstance(word, str))
    return bool(re.search(rf"holdfast\S{{0,10}}\s+hook\s+{re.escape(client)}\b", line))


# Claude Code keeps the compaction hook while a session runs


_PROJECT = (".claude/settings.json", ".claude/settings.local.json")
_USER = "settings.json"


def guards(cwd: str) -> tuple[str, ...]:
    """The settings files that contain holdfast's PreCompact hook."""
    project = os.environ.get("CLAUDE_PROJECT_DIR") or cwd
    files = (*(os.path.join(project, name) for name in _PROJECT), os.path.join(own_folder("claude-code"), _USER))
    return tuple(path for path in files if _holds_hook(_settings(path)))


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


def _settings(path: str) -> dict[str, Any] | None:
    """The JSON object in a file. Empty when it is missing, None when it cannot be read."""
    try:
        settings = untrusted.from_json(read(path).decode("utf-8-sig"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError):
        return None
    return settings if isinstance(settings, dict) else None


def _holds_hook(settings: dict[str, Any] | None) -> bool:
    """Whether a hook before a compaction starts holdfast, as a command or as a program with arguments."""
    groups = at(settings, ("hooks", "PreCompact"))
    return any(
        is_ours(hook, "claude-code")
        for group in (groups if isinstance(groups, list) else ())
        for hook in hooks_of(group)
    )
