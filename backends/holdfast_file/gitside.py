"""How many acknowledged facts a change by git lost: those that neither the file nor its tombstones know."""

from __future__ import annotations

import os
from collections.abc import Callable

from holdfast.storage import tombstone
from holdfast_file import gitrun
from holdfast_file.lines import FactIndex, decode
from holdfast_file.place import Place

_VERSIONS = 64  # the newest versions to check
_TIMEOUT_S = 5.0


def missing(place: Place, body: bytes, acknowledged: Callable[[bytes], bytes | None]) -> int | None:
    """Of the first version in HEAD's history with an ``acknowledged`` part: how many of that part's facts ``body`` has
    neither as a fact nor as removed. None when no version has such a part."""
    name = os.path.relpath(os.path.join(place.folder, place.facts), place.root).replace(os.sep, "/")
    words = ("log", "--full-history", "-m", "--format=", "--raw", "--no-abbrev", "--no-renames", "-n", str(_VERSIONS))
    changes = gitrun.run(place.root, *words, "--", f"./{name}", timeout_s=_TIMEOUT_S) or b""
    rows = [line.split()[2:4] for line in changes.splitlines() if line.startswith(b":")]
    for blob in dict.fromkeys(blob.decode() for row in rows for blob in row if blob.strip(b"0")):
        version = gitrun.run(place.root, "cat-file", "blob", blob, timeout_s=_TIMEOUT_S)
        part = acknowledged(version) if version else None
        if part is not None:
            now = _index(body)
            return sum(1 for fact in _index(part) if fact.id not in now and tombstone(fact.id) not in now.gone)
    return None


def _index(body: bytes) -> FactIndex:
    index = FactIndex()
    try:
        for line in filter(bytes.strip, body.split(b"\n")):
            index.follow(decode(line))
    except ValueError:
        pass  # a torn or damaged end, which the store reports
    return index
