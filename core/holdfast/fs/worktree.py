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
