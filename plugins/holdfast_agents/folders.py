"""The folders where clients keep this user's files. Hooks import it, so it does not import the installer."""

from __future__ import annotations

import os


def folder(variable: str, *default: str) -> str:
    """A client's own folder, from its environment variable or the default below the home folder."""
    return os.path.abspath(os.environ.get(variable) or os.path.join(os.path.expanduser("~"), *default))


def codex_home() -> str:
    """Codex's own folder."""
    return folder("CODEX_HOME", ".codex")
