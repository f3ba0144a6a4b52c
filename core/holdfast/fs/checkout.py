"""A git checkout, read without git: its folders, and whether it lost its private folder, because git removes ignored
files where a commit has a file in their place.

The user's folder notes which private folder a checkout had. A new clone at the same path is another checkout.
"""

import os
from collections.abc import Iterable
from contextlib import suppress
from typing import Final

from holdfast.errors import Unavailable
from holdfast.fs import durable, ownership_mark, paths, safeopen

_FOLDER: Final = "checkouts"
_POINTER: Final = 4096  # bytes of a file that names a folder
_MOST: Final = 512  # bytes of a note or a mark
#: Files that git writes when it makes a linked work tree, or a repository, and then leaves.
_MADE: Final = ("gitdir", "description")


def is_lost(state: str, aside: Iterable[str] = ()) -> bool:
    """Whether this checkout had a private folder that is neither ``state``, which may be missing, nor put ``aside``."""
    noted = _read(ownership_mark.away_path(_FOLDER, state)).split()
    return len(noted) == 2 and noted[0] == _made(state) and noted[1] not in map(mark_of, (state, *aside))


def note(state: str, *, anew: bool = False) -> None:
    """Note the private folder of this checkout, unless it had another one before and is not to begin ``anew``. Never
    fails, because without the note only a removed folder goes unnoticed."""
    made, mark = _made(state), mark_of(state)
    if made and mark and (anew or not is_lost(state)):
        path = ownership_mark.away_path(_FOLDER, state)
        with suppress(Unavailable, OSError):
            durable.make_private_dir(os.path.dirname(path))
            durable.replace(path, f"{made} {mark}\n".encode("ascii"))


def _made(state: str) -> str:
    """Identifies the checkout; empty outside of one."""
    project = os.path.dirname(os.path.dirname(os.path.abspath(state)))
    top = next((path for path in paths.upwards(project) if os.path.lexists(os.path.join(path, ".git"))), project)
    own, _ = git_folders(top)
    for name in _MADE:
        with suppress(OSError):
            status = os.stat(os.path.join(own, name))
            return f"{status.st_ino}-{status.st_mtime_ns}"
    return ""


def mark_of(state: str) -> str:
    """The random number in the mark of the folder ``state``; empty without one."""
    return "".join(_read(os.path.join(state, ownership_mark.FILE)).split()[1:2])


def _read(path: str) -> str:
    with suppress(OSError):
        return safeopen.read(path, _MOST, private=False).decode("ascii", "replace")
    return ""


def git_folders(work_tree: str) -> tuple[str, str]:
    """The work tree's own git folder and the folder that it shares with other work trees, usually the same."""
    own = os.path.realpath(os.path.join(work_tree, ".git"))
    if not os.path.isdir(own):
        own = os.path.realpath(os.path.join(work_tree, pointer(own).removeprefix("gitdir:").strip()))
    return own, os.path.realpath(os.path.join(own, pointer(os.path.join(own, "commondir"))))


def is_linked(work_tree: str, own: str, common: str) -> bool:
    """Whether the work tree and its main checkout name each other."""
    back = os.path.realpath(os.path.join(own, pointer(os.path.join(own, "gitdir"))))
    is_named = back == os.path.realpath(os.path.join(work_tree, ".git"))
    return is_named and os.path.dirname(own) == os.path.join(common, "worktrees")


def branch(folder: str) -> str:
    """The branch checked out around ``folder``, with the name of a linked work tree; empty without one."""
    top = next((path for path in paths.upwards(folder) if os.path.lexists(os.path.join(path, ".git"))), "")
    own, common = git_folders(top) if top else ("", "")
    name = pointer(os.path.join(own, "HEAD")).partition("ref: refs/heads/")[2] if top else ""
    return f"{name} (worktree {os.path.basename(top)})" if name and is_linked(top, own, common) else name


def pointer(path: str) -> str:
    """A small file of git as text; empty when it cannot be read."""
    with suppress(OSError):
        return safeopen.read(path, _POINTER, private=False).decode("utf-8", "surrogateescape").strip()
    return ""
