"""The user's own folder, outside every project: settings, trust records and the key for marking private state.

A cloned project can never write here, so its contents are the user's own decisions. Agents' hooks read it at every
event, so this module imports only ``os``.
"""

import os
import sys

CONFIG_FILE = "config.toml"
KEY_FILE = "key"
VARIABLE = "APPDATA" if sys.platform == "win32" else "XDG_CONFIG_HOME"


def folder() -> str:
    """The absolute path of the user's folder, which may not exist yet, without symbolic links.

    ``$XDG_CONFIG_HOME/holdfast``, by default ``~/.config/holdfast``; ``%APPDATA%\\holdfast`` on Windows. A relative
    ``XDG_CONFIG_HOME`` is ignored, and a relative home begins at the root, because the folder could otherwise be
    inside a project. Source: XDG Base Directory Specification 0.8.
    """
    base = os.environ.get(VARIABLE, "")
    if not os.path.isabs(base):
        base = os.path.join(os.sep, os.path.expanduser("~"), ".config")
    return os.path.realpath(os.path.join(base, "holdfast"))


def path(name: str) -> str:
    return os.path.join(folder(), name)
