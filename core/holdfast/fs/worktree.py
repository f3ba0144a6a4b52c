"""A git work tree's folders, read without git."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Final

from holdfast.fs import safeopen

_POINTER: Final = 4096  # bytes of a file that names a folder


def git_folders(work_tree: str) -> tuple[str, str]:
    """The work tree's own git folder and the folder that it shares with other work trees, usually the same."""
    own = os.path.realpath(os.path.join(work_tree, ".git"))
    if not os.path.isdir(own):
        own = os.path.realpath(os.path.join(work_tree, pointer(own).removeprefix("gitdir:").strip()))
    return own, os.path.realpath(os.path.join(own, pointer(os.path.join(own, "commondir"))))


def main_checkout(work_tree: str) -> str:
    """The main checkout of a linked work tree; empty for any other folder, including a submodule.

    Both sides must name each other, as git does, because an unpacked archive could name an unrelated repository, also
    by a link to another work tree's file.
    """
    own, common = git_folders(work_tree)
    is_link = os.path.islink(os.path.join(work_tree, ".git"))
    has_main = not is_link and is_linked(work_tree, own, common) and os.path.basename(common) == ".git"
    return os.path.dirname(common) if has_main else ""


def is_linked(work_tree: str, own: str, common: str) -> bool:
    """Whether the work tree and its main checkout name each other."""
    back = os.path.realpath(os.path.join(own, pointer(os.path.join(own, "gitdir"))))
    is_named = back == os.path.realpath(os.path.join(work_tree, ".git"))
    return is_named and os.path.dirname(own) == os.path.join(common, "worktrees")


def pointer(path: str) -> str:
    """A small file of git as text; empty when it cannot be read."""
    with suppress(OSError):
        return safeopen.read(path, _POINTER, private=False).decode("utf-8", "surrogateescape").strip()
    return ""
