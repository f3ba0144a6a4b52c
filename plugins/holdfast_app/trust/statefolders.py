"""The project's other private folders: those put aside, renamed or of another layout."""

import os
from contextlib import suppress

from holdfast.config import settings
from holdfast.config.settings import state_folder
from holdfast.errors import HoldfastError
from holdfast.fs import durable, private, safeopen
from holdfast.fs.safeopen import Folder
from holdfast_app.project_settings import files
from holdfast_app.project_settings.statefolder import ITS_OWN, folders, former, is_used


def take_along(root: str, preset: str) -> bool:
    """Move this user's state to the folder of ``preset``; False when it is already there. Running agents then need a
    restart. Raises: Unavailable."""
    before = former(root, preset)
    if not before:
        return False
    old, new = state_folder(root, before), state_folder(root, preset)
    private.check(new)
    durable.make_private_dir(os.path.dirname(new))
    if os.path.lexists(new):
        discard(new)
    move(old, new)
    return True


def of_files(root: str) -> str:
    """The private folder without settings in force: it has this user's state, or the project's file names it."""
    try:
        preset = settings.preset(files.raw(root)[0])
    except HoldfastError:
        preset = "default"
    return state_folder(root, former(root, preset) or preset)


def apart(root: str, state: str) -> list[str]:
    """Every folder with private state that is not ``state``, sorted: put aside, of another preset, or renamed. Nothing
    reads them, so unflushed work may be in each."""
    others = []
    for folder in folders(root):
        above, name = os.path.split(folder)
        with suppress(OSError):
            for sibling in safeopen.names(above):
                there = os.path.join(above, sibling)
                is_private = sibling == name or os.path.lexists(os.path.join(there, private.MARK))
                if sibling.startswith(name + private.ASIDE) or (is_private and is_used(there)):
                    others.append(there)
    return sorted(there for there in others if there != state)


def discard(state: str) -> None:
    """Remove a folder in which only its own mark is. Raises: Unavailable."""
    with durable.reporting(state, "remove"):
        with Folder(state) as folder:
            for name in folder.names():
                if name in ITS_OWN:
                    folder.unlink(name)
        os.rmdir(state)


def move(source: str, target: str) -> None:
    """Move a file or folder to another folder, durably. Raises: Unavailable."""
    with (
        durable.reporting(source, "move"),
        Folder(os.path.dirname(source), syncable=True) as old,
        Folder(os.path.dirname(target), syncable=True) as new,
    ):
        new.take(os.path.basename(target), old, os.path.basename(source))
        new.sync()
        old.sync()
