"""Find git-tracked files in the private folder. A pull can bring them, so they are put aside like a foreign folder.

The folder ignores itself, so git tracks such a file only after a forced add. git is asked when its index changed since
the last check.
"""

from __future__ import annotations

import os

from holdfast.fs import durable, gitrun, private, safeopen

_TIMEOUT_S = 20.0
_LINE = 4096  # bytes of a `.git` file


def check(root: str, state: str) -> list[str]:
    """Put aside git-tracked files of the private folder ``state``; returns their names in it, sorted.

    Creates nothing without a private folder or a repository. Raises: Unavailable.
    """
    if not os.path.isdir(state):
        return []
    top = gitrun.top(root)
    index = _index(top) if top else ""
    if not index:
        return []
    seen = os.path.join(state, private.INDEX_SEEN)
    now = _identity(index)
    try:
        if safeopen.read(seen, _LINE).decode("ascii", "replace") == now:
            return []
    except OSError:
        pass
    prefix = os.path.relpath(state, top).replace(os.sep, "/") + "/"
    names = _names(top, prefix)
    moved = [name for name in names if name != ".gitignore" and _is_there(state, name)]
    if moved:
        _put_aside(state, moved)
    durable.replace(seen, now.encode("ascii"), flush=False)
    return moved


def _index(top: str) -> str:
    """The repository's index, including a worktree's or submodule's, where ``.git`` is a file."""
    folder = os.path.join(top, ".git")
    if os.path.isfile(folder):
        try:
            line = safeopen.read(os.path.realpath(folder), _LINE, private=False).decode("utf-8", "replace")
        except OSError:
            return ""
        folder = os.path.join(top, line.partition("gitdir:")[2].strip())
    path = os.path.join(os.path.realpath(folder), "index")
    return path if os.path.isfile(path) else ""


def _identity(index: str) -> str:
    try:
        found = os.stat(index)
    except OSError:
        return ""
    return f"{found.st_dev} {found.st_ino} {found.st_size} {found.st_mtime_ns}"


def _names(top: str, prefix: str) -> list[str]:
    """Git-tracked names below ``prefix``; none without git, because then no pull can bring any."""
    wanted = f":(top,literal){prefix.rstrip('/')}"
    answer = gitrun.run(top, "ls-files", "-z", "--", wanted, timeout_s=_TIMEOUT_S) or b""
    names = (os.fsdecode(name) for name in answer.split(b"\0") if name)
    return sorted(name.removeprefix(prefix) for name in names if name.startswith(prefix))


def _is_there(state: str, name: str) -> bool:
    try:
        safeopen.stat(os.path.join(state, *name.split("/")))
    except OSError:
        return False
    return True


def _put_aside(state: str, names: list[str]) -> None:
    aside = os.path.join(os.path.dirname(state), private.put_aside_name(os.path.basename(state)))
    durable.make_private_dir(aside)
    private.ignore(aside)
    for name in names:
        target = os.path.join(aside, *name.split("/"))
        durable.make_private_dir(os.path.dirname(target))
        private.move(os.path.join(state, *name.split("/")), target)
