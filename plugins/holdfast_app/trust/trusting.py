"""Writes the records of trusted projects, which :mod:`holdfast_app.project_settings.trust` reads."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from holdfast.fs import durable, userdir
from holdfast_app.project_settings.trust import FILE, VERSION, Record, digest, projects_of


def record(root: str, settings: Mapping[str, object]) -> Record:
    """Record the user's trust in the project at ``root`` for exactly ``settings``, durably, and return the record.

    Raises: Corrupt, Unavailable.
    """
    at = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    made = Record(os.path.realpath(root), digest(settings), dict(settings), at)
    with _changing() as projects:
        projects[made.root] = {"digest": made.digest, "settings": made.settings, "at": at}
    return made


def revoke(root: str) -> bool:
    """Remove the record for the project at ``root``, which may no longer exist; False when there was none.

    Raises: Corrupt, Unavailable.
    """
    real = os.path.realpath(root)
    if real not in projects_of():
        return False
    with _changing() as projects:
        return projects.pop(real, None) is not None


@contextmanager
def _changing() -> Iterator[dict[str, Any]]:
    """The projects of ``trust.json`` under its lock; written when the block ends without an error."""
    path = userdir.path(FILE)
    durable.make_private_dir(os.path.dirname(path))
    with durable.lock(f"{path}.lock"):
        projects = projects_of()
        yield projects
        text = json.dumps({"v": VERSION, "projects": projects}, indent=1, sort_keys=True, default=str)
        durable.replace(path, (text + "\n").encode())
