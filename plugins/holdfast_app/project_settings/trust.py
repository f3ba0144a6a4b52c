"""Records of trusted projects: which of their settings are trusted. For memory see docs/trust.md.

``trust.json`` in the user's folder (:mod:`holdfast.fs.userdir`), mode 0600: ``{"v": 1, "projects": {REALPATH:
{"digest": SHA-256 of the settings, "settings": {KEY: VALUE}, "at": ISO-8601}}}``. A cloned project
cannot write there, so a record is the user's decision. :mod:`holdfast_app.project_settings.resolved` decides which
settings need trust. Agents' hooks use this at every event, so the parser is imported only when there is a record.
"""

import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from holdfast.fs import userdir
from holdfast.text import untrusted

#: Environment variable with a digest of one project's settings, for trust without a user, as in CI.
VARIABLE = "HOLDFAST_TRUST"
VERSION = 1
FILE = "trust.json"
_MAX_BYTES = 16 * 1024 * 1024


class Record(NamedTuple):
    """The user's trust in the project at ``root``, a real path.

    ``settings`` maps dotted keys to values, and ``digest`` is their digest. ``at`` is the ISO-8601 time of the last
    change.
    """

    root: str
    digest: str
    settings: Mapping[str, object]
    at: str


def digest(settings: Mapping[str, object]) -> str:
    """SHA-256 of the settings as canonical JSON, 64 hexadecimal digits. Order of keys does not matter."""
    import json

    from holdfast.text.digests import sha256

    return sha256(json.dumps(settings, sort_keys=True, separators=(",", ":"), ensure_ascii=True, default=str))


def records() -> dict[str, Record]:
    """Every record by the real path of its project, sorted. An entry in another form counts as no trust. Raises:
    Corrupt when the file is damaged; Unavailable."""
    trusted = {}
    for root, table in sorted(projects_of().items()):
        match table:
            case {"digest": str(named), "settings": dict(settings)}:
                trusted[root] = Record(root, named, settings, str(table.get("at", "")))
    return trusted


def record_of(root: str) -> Record | None:
    """The trust record for the project at ``root``, or None. A damaged file counts as no trust; see :func:`records`."""
    from holdfast.errors import HoldfastError

    try:
        return records().get(os.path.realpath(root))
    except HoldfastError:
        return None


def are_trusted(root: str, settings: Mapping[str, object], portable: Callable[[], Mapping[str, object]]) -> bool:
    """Whether the user trusts the project at ``root`` for exactly ``settings``, by a record or ``HOLDFAST_TRUST``.

    ``portable`` returns the settings that need trust if the user has set nothing. Their digest is the same on every
    machine, so ``HOLDFAST_TRUST`` may hold it if they cover all of ``settings``.
    """
    if named := os.environ.get(VARIABLE, "").strip():
        everywhere = portable()
        if named == digest(everywhere) and all(key in everywhere for key in settings):
            return True
    record = record_of(root)
    return record is not None and digest(record.settings) == digest(settings)


def projects_of() -> dict[str, Any]:
    path = userdir.path(FILE)
    try:
        with open(path, "rb") as file:
            raw = file.read(_MAX_BYTES + 1)
    except FileNotFoundError:
        return {}
    except OSError as error:
        from holdfast.fs.durable import unavailable

        raise unavailable(error, path, "read") from error

    from holdfast.errors import Corrupt

    table = untrusted.table(raw) or {}
    projects = table.get("projects")
    if table.get("v") != VERSION or not isinstance(projects, dict):
        raise Corrupt(
            "The trust records (trust.json in holdfast's settings folder) cannot be read, so no project is trusted.",
            next_step=f"Move {path!r} away, then run `holdfast trust` in your projects again.",
        )
    return projects
