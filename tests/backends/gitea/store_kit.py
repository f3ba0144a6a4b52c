"""A store on a fake server server for the conformance suite: one server for a process, one repository a folder."""

from __future__ import annotations

import atexit
import functools
import hashlib
import json
import os
from pathlib import Path
from typing import Any

from tests.support.gitea.fake_server import FakeServer

from holdfast_gitea import marker, replay
from holdfast_gitea.backend import GiteaBackend

ADDRESS = "gitea.json"
FACTORY = "tests.backends.gitea.store_kit:open_store"


@functools.cache
def server() -> FakeServer:
    """The fake server of this process, up until it ends."""
    gitea = FakeServer()
    gitea.up()
    atexit.register(gitea.down)
    return gitea


def address(root: Path) -> dict[str, Any]:
    """Where the store of that folder is; the repository is made when the folder has none yet."""
    path = root / ADDRESS
    if not path.exists():
        name = f"agent/m{hashlib.sha256(os.fspath(root).encode()).hexdigest()[:12]}"
        server().make_repo(name)
        path.write_text(json.dumps({"server": server().url, "token": server().token, "repository": name}))
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def open_store(root: Path) -> GiteaBackend:
    """The factory of the suite, for this process and for others that find the address in the folder."""
    return GiteaBackend(root, patience_s=1.0, **address(Path(root)))


def text_of(store: GiteaBackend, name: str = "MEMORY.md") -> str | None:
    """The document's text, None when there is none."""
    document = store.read(name)
    return document.text if document else None


def issue_of(gitea: FakeServer, name: str, repo: str = "agent/memory") -> int:
    """The issue with that title, without the store's prefix."""
    return next(number for number, title in gitea.titles(repo).items() if title == f"holdfast:{name}")


def record(kind: str, text: str, **fields: str) -> str:
    """A comment with a record, as anybody may write one."""
    return marker.frame("Hello.", text, id=fields.pop("id", replay.new_id()), kind=kind, **fields)
