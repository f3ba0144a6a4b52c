"""A store for the conformance suite, one repository a folder: on a real server where one is given (live_kit), otherwise
on one fake server for a process."""

import atexit
import functools
import hashlib
import json
import os
from pathlib import Path
from typing import Any

from tests.backends.gitea import live_kit
from tests.support.gitea.fake_server import FakeServer
from tests.support.gitea.plain_client import Reply, call

from holdfast_gitea import marker, replay
from holdfast_gitea.backend import GiteaBackend

ADDRESS = "gitea.json"
REPO = "agent/memory"
DAY, HEADER = "memory/2026-03-01.md", "# Daily Memory: 2026-03-01\n"
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
    if live_kit.URL:
        return live_kit.address(root)
    path = root / ADDRESS
    if not path.exists():
        name = f"agent/m{hashlib.sha256(os.fspath(root).encode()).hexdigest()[:12]}"
        server().make_repo(name)
        path.write_text(json.dumps({"server": server().url, "token": server().token, "repository": name}))
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def ask(method: str, path: str, body: object = None) -> Reply:
    """A request to the server, as of a person. ``path`` begins after ``/api/v1``."""
    if live_kit.URL:
        return live_kit.ask(method, path, body)
    return call(server().url, method, path, body, token=server().token)


def archive(root: Path, *, on: bool) -> None:
    """Make the repository read-only, or writable again."""
    repository = address(root)["repository"]
    if live_kit.URL:
        assert live_kit.ask("PATCH", f"/repos/{repository}", {"archived": on}).status == 200
    else:
        server().archive(repository, on=on)


def open_store(root: Path) -> GiteaBackend:
    """The factory of the suite, for this process and for others that find the address in the folder."""
    return GiteaBackend(root, patience_s=20.0 if live_kit.URL else 1.0, **address(Path(root)))


def text_of(store: GiteaBackend, name: str = "MEMORY.md") -> str | None:
    """The document's text, None when there is none."""
    document = store.read(name)
    return document.text if document else None


def issue_of(gitea: FakeServer, name: str, repo: str = REPO) -> int:
    """The issue with that title, without the store's prefix."""
    return next(number for number, title in gitea.titles(repo).items() if title == f"holdfast:{name}")


def rewritten(body: str, text: str, **more: str) -> str:
    """A record's comment with another text and the checksum of that."""
    fields = {key: value for key, value in (marker.fields(body) or {}).items() if key not in ("sha256", "n")}
    return marker.frame("x", text, **fields, **more)


def record(kind: str, text: str, **fields: str) -> str:
    """A comment with a record, as anybody may write one."""
    return marker.frame("Hello.", text, id=fields.pop("id", replay.new_id()), kind=kind, **fields)
