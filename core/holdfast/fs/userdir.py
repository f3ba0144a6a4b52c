"""The user's own folder, outside of every project: settings, trust records and the key that marks private state.

A cloned project can never write here, so what it holds is the user's word. Agents' hooks read it at every event, so it
imports nothing but ``os``.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

CONFIG_FILE = "config.toml"
TRUST_FILE = "trust.json"
KEY_FILE = "key"


def folder(env: Mapping[str, str] | None = None) -> str:
    """The absolute path of the user's folder, without symbolic links; it may not exist yet.

    ``$XDG_CONFIG_HOME/holdfast``, by default ``~/.config/holdfast``; ``%APPDATA%\\holdfast`` on Windows. A relative
    ``XDG_CONFIG_HOME`` is ignored, because a project could then hold the folder.
    Source: XDG Base Directory Specification 0.8.
    """
    env = os.environ if env is None else env
    base = env.get("APPDATA" if sys.platform == "win32" else "XDG_CONFIG_HOME", "")
    if not os.path.isabs(base):
        home = env.get("USERPROFILE" if sys.platform == "win32" else "HOME", "")
        base = os.path.join(home if os.path.isabs(home) else os.path.expanduser("~"), ".config")
    return os.path.realpath(os.path.join(base, "holdfast"))


def path(name: str, env: Mapping[str, str] | None = None) -> str:
    """The absolute path of one file in the user's folder."""
    return os.path.join(folder(env), name)
