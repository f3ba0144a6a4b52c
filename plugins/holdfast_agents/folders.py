"""Where clients keep their own files, for this user. Hooks import it, so it needs nothing of what installs a client."""

from __future__ import annotations

import os


def folder(variable: str, *default: str) -> str:
    """A client's own folder: what its environment variable says, else one below the home folder."""
    return os.path.abspath(os.environ.get(variable) or os.path.join(os.path.expanduser("~"), *default))


def codex_home() -> str:
    """Codex's own folder."""
    return folder("CODEX_HOME", ".codex")
