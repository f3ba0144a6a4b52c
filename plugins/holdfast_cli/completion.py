"""The stored names that a shell offers at TAB: ``holdfast completion values KIND``, run by the scripts of
:mod:`holdfast_cli.usage`. Only the standard library and plain files, because each press starts a process.

Names can come with a clone, and a shell may expand them, so only names of plain characters are offered.
"""

from __future__ import annotations

import os
import stat

from holdfast.config import settings, statefolder
from holdfast.text.lazy import Lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_PLAIN = Lazy(r"[^\W_][\w./:-]*")
_FACT = Lazy(r'"id": ?"(fact_[0-9a-f]+)"')
#: The layouts' document folders under the project, each with its documents' name prefix.
_PLACES = (
    (".holdfast", ""),
    (".opencode/holdfast", "holdfast/"),
    (".opencode/context/01_memory", "context/01_memory/"),
    ("timmy-config", "timmy-config/"),
    ("timmy-home", "timmy-home/"),
)
#: The most files to look at, and the largest one to read, in bytes.
_MOST, _LARGEST = 5_000, 1 << 24


def values(kind: str, root: str | None) -> list[str]:
    """The ``sessions``, ``facts`` or ``documents`` of a store in files. Raises: ConfigError."""
    folder = settings.find_root(root)
    if kind == "sessions":
        names = _listed(os.path.join(statefolder.of_files(folder), "sessions"))
        found = {name.removesuffix(".jsonl") for name in names if name.endswith(".jsonl")}
    elif kind in ("facts", "documents"):
        found = set(_stored(kind, folder))
    else:
        found = set()
    return sorted(name for name in found if _PLAIN.fullmatch(name))


def _stored(kind: str, root: str) -> Iterator[str]:
    for place, prefix in _PLACES:
        top = os.path.join(root, place)
        for folder, folders, names in os.walk(top):
            folders[:] = [one for one in folders if one != "state" or folder != top]
            inside = "" if folder == top else os.path.relpath(folder, top).replace(os.sep, "/") + "/"
            for name in names[:_MOST]:
                if name.endswith(".db"):
                    yield from _in_database(kind, os.path.join(folder, name))
                elif kind == "documents" and name.endswith(".md"):
                    yield prefix + inside + name
                elif kind == "facts" and name.endswith(".jsonl"):
                    yield from _FACT.findall(_text(os.path.join(folder, name)))


def _in_database(kind: str, path: str) -> list[str]:
    import sqlite3

    column = {"facts": "id FROM facts", "documents": "name FROM documents"}[kind]
    try:
        database = sqlite3.connect(f"file:{path.replace('?', '%3f').replace('#', '%23')}?mode=ro&immutable=1", uri=True)
        try:
            return [str(row[0]) for row in database.execute(f"SELECT {column} LIMIT {_MOST}")]
        finally:
            database.close()
    except sqlite3.Error:
        return []


def _text(path: str) -> str:
    try:
        about = os.lstat(path)
        if not stat.S_ISREG(about.st_mode) or about.st_size > _LARGEST:
            return ""
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def _listed(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []
