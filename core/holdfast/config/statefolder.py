"""Finds a project's private state under every layout.

The preset says which folder is private, and a pulled file may name another preset at any time. While another preset's
folder holds this user's state, that preset stays in force, until ``holdfast trust`` moves the state.
"""

from __future__ import annotations

import os

from holdfast.config import settings
from holdfast.errors import HoldfastError
from holdfast.fs import durable, private, safeopen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


def path(root: str, preset: str) -> str:
    """The absolute path of the preset's private folder."""
    return os.path.join(root, *settings.STATE_FOLDERS.get(preset, settings.STATE_FOLDERS["default"]).split("/"))


def former(root: str, preset: str) -> str:
    """The preset in whose folder this user's state is, if ``preset`` names another folder and that holds none; else
    empty. Raises: Unavailable; ConfigError for a key that cannot be used."""
    wanted = path(root, preset)
    others = [
        other for other in _folders(root) if other != wanted and os.path.lexists(os.path.join(other, private.MARK))
    ]
    if not others or (private.is_own(wanted) and private.is_used(wanted)):
        return ""
    there = next((other for other in others if private.is_own(other) and private.is_used(other)), "")
    presets = [name for name in settings.STATE_FOLDERS if there and path(root, name) == there]
    # Two presets share a folder. The documents' own folder distinguishes them.
    is_timmy = "timmy" in presets and os.path.isdir(os.path.join(root, "timmy-home"))
    return "timmy" if is_timmy else next(iter(presets), "")


def of_files(root: str) -> str:
    """The private folder as far as it can be found without settings in force. It has this user's state, or else is
    named in the project's file."""
    try:
        preset = settings.preset(settings.raw(root)[0])
    except HoldfastError:
        preset = "default"
    return path(root, former(root, preset) or preset)


def take_along(root: str, preset: str) -> bool:
    """Move this user's state to the folder of ``preset``; False when it is already there. Running agents then need a
    restart. Raises: Unavailable."""
    before = former(root, preset)
    if not before:
        return False
    old, new = path(root, before), path(root, preset)
    private.check(new)
    durable.make_private_dir(os.path.dirname(new))
    if os.path.lexists(new):
        private.discard(new)
    private.move(old, new)
    return True


def apart(root: str, state: str) -> list[str]:
    """Every folder with private state that is not ``state``, sorted: put aside, of another preset, or renamed. Nothing
    reads them, so unflushed work may be in each."""
    return sorted(found for folder in _folders(root) for found in _beside(folder) if found != state)


def _beside(folder: str) -> Iterator[str]:
    above, name = os.path.split(folder)
    try:
        names = safeopen.names(above)
    except OSError:
        return
    for one in names:
        there = os.path.join(above, one)
        is_private = one == name or os.path.lexists(os.path.join(there, private.MARK))
        if one.startswith(name + private.ASIDE) or (is_private and private.is_used(there)):
            yield there


def _folders(root: str) -> list[str]:
    return [os.path.join(root, *folder.split("/")) for folder in dict.fromkeys(settings.STATE_FOLDERS.values())]
