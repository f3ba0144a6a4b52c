"""Finds a project's private state under every layout.

The preset says which folder is private, and a pulled file may name another preset at any time. While another preset's
folder holds this user's state, that preset stays in force, until ``holdfast trust`` moves the state.
"""

import os
from typing import Final

from holdfast.config.settings import STATE_FOLDERS, state_folder
from holdfast.fs import private, safeopen

#: Records which git index was last searched for files of the private folder.
INDEX_SEEN: Final = "git-index"
#: Begins a line in it that holds a tracked file's object and name.
TRACKED: Final = "*"
#: The files of a private folder that holds nothing.
ITS_OWN: Final = (private.IGNORE, private.MARK, INDEX_SEEN)


def former(root: str, preset: str) -> str:
    """The preset in whose folder this user's state is, if ``preset`` names another folder and that holds none; else
    empty. Raises: Unavailable; ConfigError for a key that cannot be used."""
    wanted = state_folder(root, preset)
    others = [
        other for other in folders(root) if other != wanted and os.path.lexists(os.path.join(other, private.MARK))
    ]
    if not others or (is_own(wanted) and is_used(wanted)):
        return ""
    there = next((other for other in others if is_own(other) and is_used(other)), "")
    presets = [name for name in STATE_FOLDERS if there and state_folder(root, name) == there]
    # Two presets share a folder. The documents' own folder distinguishes them.
    is_timmy = "timmy" in presets and os.path.isdir(os.path.join(root, "timmy-home"))
    return "timmy" if is_timmy else next(iter(presets), "")


def folders(root: str) -> list[str]:
    return [os.path.join(root, *folder.split("/")) for folder in dict.fromkeys(STATE_FOLDERS.values())]


def is_own(state: str) -> bool:
    """Whether the folder has this user's mark. Raises: Unavailable; ConfigError for a key that cannot be used."""
    return os.path.lexists(os.path.join(state, private.MARK)) and private.is_marked(state)


def is_used(state: str) -> bool:
    """Whether anything but the folder's own mark is in it; also true for a link, a file, and an unreadable folder."""
    try:
        return any(name not in ITS_OWN for name in safeopen.names(state))
    except FileNotFoundError:
        return False
    except OSError:
        return True
