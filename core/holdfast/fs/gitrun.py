"""Run git on a possibly hostile repository, with every way for a repository to start programs switched off.

These are hooks, the file system monitor, filters, pagers, fetching of missing objects, and another work tree. The
commands that holdfast runs do not read submodule settings.
"""

from __future__ import annotations

import os

_OFF = ("core.fsmonitor=false", "core.hooksPath=" + os.devnull, "core.untrackedCache=false")


def top(root: str) -> str:
    """The folder with ``.git`` at or above ``root``; empty when there is none."""
    folder = root
    while not os.path.lexists(os.path.join(folder, ".git")):
        above = os.path.dirname(folder)
        if above == folder:
            return ""
        folder = above
    return folder


def run(root: str, *words: str, timeout_s: float) -> bytes | None:
    """The output of ``git`` in ``root``, a repository folder; None when it fails, is missing or times out."""
    work_tree = top(root)
    program = _program(work_tree)
    if not work_tree or not program:
        return None
    import subprocess  # imported here because agents' hooks import modules that use this one
    import time

    env = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    env |= {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
    end = time.monotonic() + timeout_s

    def start(off: list[str], *command: str) -> subprocess.CompletedProcess[bytes]:
        options = [word for setting in (*_OFF, *off) for word in ("-c", setting)]
        return subprocess.run(  # noqa: S603 - holdfast chooses the arguments
            [program, "--no-pager", "-C", root, "--work-tree", work_tree, *options, *command],
            env=env, stdin=subprocess.DEVNULL, capture_output=True, check=False,
            timeout=max(0.01, end - time.monotonic()),
        )  # fmt: skip

    try:
        filters = start([], "config", "--name-only", "-z", "--get-regexp", r"^filter\.")
        names = [os.fsdecode(name) for name in filters.stdout.split(b"\0") if name]
        if filters.returncode not in (0, 1) or any("=" in name for name in names):
            return None
        drivers = {name.rpartition(".")[0] for name in names}
        off = [f"{one}.{key}" for one in drivers for key in ("clean=", "smudge=", "process=", "required=false")]
        done = start(off, *words)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout if done.returncode == 0 else None


def _program(work_tree: str) -> str:
    """Git's path, from absolute folders outside the repository only; empty when there is none."""
    inside = os.path.join(os.path.realpath(work_tree), "")
    for folder in os.get_exec_path():
        path = os.path.join(folder, "git.exe" if os.name == "nt" else "git")
        if not os.path.isabs(folder) or not os.access(path, os.X_OK) or not os.path.isfile(path):
            continue
        if not os.path.realpath(path).startswith(inside):
            return path
    return ""
