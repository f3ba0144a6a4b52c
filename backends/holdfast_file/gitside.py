"""Whether git removed facts, because acknowledged facts are in a commit and the file continues from a later one."""

from __future__ import annotations

import os
from collections.abc import Callable

from holdfast.fs import gitrun
from holdfast_file.place import Place

_VERSIONS = 64  # the newest versions to check
_TIMEOUT_S = 5.0


def removed(place: Place, body: bytes, goes_on: Callable[[bytes], bool]) -> bool:
    """Whether ``body`` starts with HEAD's version, and ``goes_on`` is true of a version in HEAD's history."""
    name = os.path.relpath(os.path.join(place.folder, place.facts), place.root).replace(os.sep, "/")
    head = gitrun.run(place.root, "cat-file", "blob", f"HEAD:./{name}", timeout_s=_TIMEOUT_S)
    if not head or not body.startswith(head):
        return False
    words = ("log", "--full-history", "-m", "--format=", "--raw", "--no-abbrev", "--no-renames", "-n", str(_VERSIONS))
    changes = gitrun.run(place.root, *words, "--", f"./{name}", timeout_s=_TIMEOUT_S) or b""
    rows = [line.split()[2:4] for line in changes.splitlines() if line.startswith(b":")]
    for blob in dict.fromkeys(blob.decode() for row in rows for blob in row if blob.strip(b"0")):
        version = gitrun.run(place.root, "cat-file", "blob", blob, timeout_s=_TIMEOUT_S)
        if version and goes_on(version):
            return True
    return False
