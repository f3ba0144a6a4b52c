"""The private folder: what is in it concerns this machine only, so it ignores itself in git."""

from __future__ import annotations

import os

from holdfast import durable

_IGNORE = ".gitignore"


def make(state: str, *parts: str) -> str:
    """Make the private folder ``state`` (or a folder in it) when it is missing, mode 0700, and return its path.

    It gets a ``.gitignore`` with ``*`` before anything else is in it; one that came into being in another way, or was
    left by a crash in between, gets it now. Costs a look at that file, and one at the folder in it, when all is there:
    hooks come here at each event. Raises: Unavailable.
    """
    if not ignores_itself(state):
        durable.make_private_dir(state)
        ignore(state)
    if not parts:
        return state
    folder = os.path.join(state, *parts)
    if not os.path.isdir(folder):
        durable.make_private_dir(folder)
    return folder


def ignore(state: str) -> None:
    """Write the ``.gitignore``. Raises: Unavailable."""
    durable.replace(os.path.join(state, _IGNORE), b"*\n")


def ignores_itself(state: str) -> bool:
    """Whether git is told to leave the folder alone."""
    return os.path.isfile(os.path.join(state, _IGNORE))
