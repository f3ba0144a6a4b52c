"""A real server, where the environment names one: a repository a folder, made with the token that was given."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.support.gitea.plain_client import Reply, call

#: Read at import: the environment of a test has no HOLDFAST_ variables.
URL, TOKEN, REPO = (os.environ.get(f"HOLDFAST_GITEA_{name}", "") for name in ("URL", "TOKEN", "REPO"))
ADDRESS = "gitea.json"
needs_a_repository = pytest.mark.skipif(
    not (URL and TOKEN and REPO), reason="no real server given: HOLDFAST_GITEA_URL, _TOKEN and _REPO are not set"
)


def ask(method: str, path: str, body: object = None) -> Reply:
    """``path`` begins after ``/api/v1``."""
    return call(URL, method, path, body, token=TOKEN, timeout_s=60)


def may_make_repositories() -> bool:
    """Whether the token may, which takes write:repository and write:user; asked with a name that cannot be one."""
    return bool(URL) and ask("POST", "/user/repos", {"name": ""}).status == 422


def address(root: Path) -> dict[str, Any]:
    """Where the store of that folder is; the repository is made when the folder has none yet."""
    path = root / ADDRESS
    if not path.exists():
        name = f"holdfast-{hashlib.sha256(os.fspath(root).encode() + os.urandom(8)).hexdigest()[:16]}"
        made = ask("POST", "/user/repos", {"name": name, "private": True})
        assert made.status == 201, made
        path.write_text(json.dumps({"server": URL, "token": TOKEN, "repository": made.json["full_name"]}))
    found: dict[str, Any] = json.loads(path.read_text())
    return found
