"""The files with uncommitted changes, for a flush's note."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from holdfast.config.settings import CONFIG_FILES
from holdfast.fs import gitrun
from holdfast.text.plain import one_line

if TYPE_CHECKING:
    from holdfast_app.base import Services

#: Maximum number of listed files, and maximum characters of a name.
MAX_FILES: Final = 10
MAX_CHARS: Final = 120
#: Limit for git. A repository for which it is too short has no list.
TIMEOUT_S: Final = 2.0
TITLE: Final = "Uncommitted files (git):"
_STATUS: Final = (
    "status",
    "--porcelain=v1",
    "-z",
    "--untracked-files=normal",
    "--ignore-submodules=all",
    "--no-renames",
)
_ENTRY_CHARS: Final = 4  # two letters, a blank and at least one character of a name


def added(services: Services, summary: str) -> str:
    """``summary`` with the project's uncommitted files below it, without holdfast's own."""
    return "\n\n".join(filter(None, (summary, text(services.root, without=os.path.dirname(services.state)))))


def text(root: str, *, without: str = "") -> str:
    """The files as a list under a title. Empty without such files, outside a repository, or when git is too slow."""
    found = files(root, without=without)
    lines = [f"- {line if len(line) <= MAX_CHARS else line[: MAX_CHARS - 1] + '…'}" for line in found[:MAX_FILES]]
    if len(found) > MAX_FILES:
        lines.append(f"- … and {len(found) - MAX_FILES} more")
    return "\n".join([TITLE, *lines]) if lines else ""


def files(root: str, *, without: str = "") -> list[str]:
    """``changed: PATH``, ``deleted: PATH`` or ``new: PATH`` for each file in ``root`` with uncommitted changes, in the
    order of git: changed files, then new ones. Paths are relative to ``root``. Files in the folder ``without`` are left
    out, and with it holdfast's settings."""
    root = os.path.realpath(root)
    top = gitrun.top(root)
    ignored = gitrun.own_setting(root, "core.excludesFile", kind="--path")[-1:] if top else []
    options = [word for path in ignored for word in ("-c", f"core.excludesFile={path}")]
    answer = gitrun.run(root, *options, *_STATUS, "--", ".", timeout_s=TIMEOUT_S) if top else None
    own = os.path.relpath(os.path.realpath(without), root).replace(os.sep, "/") + "/" if without else ""
    found = []
    for entry in os.fsdecode(answer or b"").split("\0"):
        if len(entry) < _ENTRY_CHARS or entry[2] != " ":
            continue
        name = os.path.relpath(os.path.join(top, entry[3:]), root).replace(os.sep, "/")
        name += "/" if entry.endswith("/") else ""
        if own and (name.startswith(own) or name in CONFIG_FILES[:2]):
            continue
        kind = "new" if "?" in entry[:2] or "A" in entry[:2] else "deleted" if "D" in entry[:2] else "changed"
        found.append(f"{kind}: {one_line(name.encode('utf-8', 'replace').decode())}")
    return found
