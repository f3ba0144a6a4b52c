"""The clients' own folders and settings files, which a clone may have brought. Hooks import this, so it is small."""

from __future__ import annotations

import os
import re
from typing import Any, Final

from holdfast.fs import safeopen
from holdfast.text import untrusted

#: Larger files are not settings.
_MAX_BYTES: Final = 16 << 20


def folder(variable: str, *default: str) -> str:
    """A client's own folder, from its environment variable or the default below the home folder."""
    return os.path.abspath(os.environ.get(variable) or os.path.join(os.path.expanduser("~"), *default))


def claude_folder() -> str:
    """Claude Code's own folder."""
    return folder("CLAUDE_CONFIG_DIR", ".claude")


def codex_folder() -> str:
    """Codex's own folder."""
    return folder("CODEX_HOME", ".codex")


def pi_folder() -> str:
    """pi's own folder."""
    return folder("PI_CODING_AGENT_DIR", ".pi", "agent")


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
    try:
        value = untrusted.from_json(read_or_empty(path).decode("utf-8-sig"))
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


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
