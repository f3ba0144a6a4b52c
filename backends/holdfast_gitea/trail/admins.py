"""New administrators of a repository. The server does not say since when, so the first report that sees one notes it.

Requests: 1, and 1 for each collaborator, if the token is an administrator's. Others may not ask.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from typing import Final
from urllib.parse import quote

from holdfast.errors import StorageError
from holdfast.fs import durable, private
from holdfast_app.outbox.forge import Activity
from holdfast_gitea.wire import models, pages
from holdfast_gitea.wire.client import Repo

_FILE: Final = "forge-admins.json"
#: Maximum collaborators whose rights are read.
_MOST: Final = 20


def of(repo: Repo, me: str, state: str, since: datetime, until: datetime) -> Iterator[Activity]:
    """Collaborators other than ``me`` who are administrators and were not in an earlier report, as noted in the
    private folder ``state``."""
    path = os.path.join(private.make(state), _FILE)
    seen = private.table(path)
    before = seen.get(repo.url)
    now: dict[str, str] = {}
    with suppress(StorageError):  # a report can do without them
        listed = pages.page(repo.get, "/collaborators", 1).rows[:_MOST]
        for login in sorted({models.text(one, "login") for one in listed} - {me}):
            if models.text(repo.get(f"/collaborators/{quote(login)}/permission").data, "permission") == "admin":
                now[login] = before.get(login, until.isoformat()) if isinstance(before, dict) else ""
        if now != before:
            durable.replace(path, json.dumps({**seen, repo.url: now}).encode())
    for login, at in now.items():
        if at and since <= (first := datetime.fromisoformat(at)) <= until:
            yield Activity("repository", repo.name, repo.url, f"{login} is an administrator now", first)
