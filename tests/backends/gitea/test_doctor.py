"""What doctor says of a store on a server before the first flush would find out."""

import socket
from pathlib import Path

import pytest
from tests.support.gitea.fake_server import FakeServer
from tests.support.gitea.faults import Fault, FaultProxy

from holdfast.api import Check, Outcome, StorageError
from holdfast.storage import deadline
from holdfast_app.checkup.examine import examine
from holdfast_gitea.backend import GiteaBackend
from holdfast_gitea.checks import access, inspect

REPO = "agent/memory"


def _with(gitea: FakeServer, tmp_path: Path, *scopes: str, server: str = "") -> GiteaBackend:
    token = gitea.make_token("agent", scopes)
    return GiteaBackend(tmp_path, server=server or gitea.url, repository=REPO, token=token, patience_s=0.5)


def _messages(store: GiteaBackend, outcome: Outcome) -> list[Check]:
    with deadline(30):
        found = [check for check in (*access(store.log), *inspect(store.log)) if check.outcome is outcome]
    store.close()
    return found


def test_doctor__the_token_may_only_read__fails_with_the_next_step(gitea, tmp_path):
    found = _messages(_with(gitea, tmp_path, "read:issue"), Outcome.FAIL)
    assert len(found) == 1
    assert "scope" in found[0].message
    assert "write:issue" in found[0].next_step
    assert gitea.titles(REPO) == {}


def test_doctor__silent_servers__are_asked_for_a_limited_time_and_the_rest_is_named(project, monkeypatch):
    settings = {"STORAGE__BACKEND": "gitea", "STORAGE__REPOSITORY": REPO, "PLUGINS__GITHUB__REPOSITORY": REPO}
    settings |= {"STORAGE__TIMEOUT_S": "0.3", "STORAGE__PATIENCE_S": "0.3", "GITEA_TOKEN": "t", "GITHUB_TOKEN": "t"}
    monkeypatch.setattr("holdfast_app.checkup.examine._REST_S", 0.0)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        for name, value in {**settings, "STORAGE__SERVER": address, "PLUGINS__GITHUB__SERVER": address}.items():
            monkeypatch.setenv(f"HOLDFAST_{name}", value)
        checks = {check.name: check.message for check in examine(str(project))}
    assert checks["store"].endswith("conflicts, stored, facts, dates, provenance, gitea.")
    assert checks["github"] == "Not checked, because other servers did not answer."


@pytest.mark.parametrize("scopes", [("write:issue",), ("write:issue", "read:repository")])
def test_doctor__a_public_store__warns(gitea, tmp_path, scopes):
    assert not _messages(_with(gitea, tmp_path, *scopes), Outcome.WARN)
    gitea.world.repo(REPO).private = False
    found = _messages(_with(gitea, tmp_path, *scopes), Outcome.WARN)
    assert len(found) == 1
    assert "everyone" in found[0].message
    assert "private" in found[0].next_step


def test_doctor__users_who_may_read_a_private_store__are_named(gitea, tmp_path):
    gitea.world.user("ana")
    gitea.world.repo(REPO).rights |= {"ana": "read", "bot": "write"}
    found = _messages(_with(gitea, tmp_path, "write:issue", "read:repository"), Outcome.OK)
    assert any("ana" in check.message and "bot" in check.message for check in found)


def test_server__a_forgotten_path_before_the_interface__says_so(gitea, tmp_path):
    with FaultProxy(gitea.url) as proxy:
        page = Fault(name="404 page", reaches=False, answering="page", status=404)
        proxy.spoil("GET", "", page, times=99)
        store = _with(gitea, tmp_path, "write:issue", server=proxy.url)
        with pytest.raises(StorageError, match="does not answer as Gitea") as caught:
            store.read("MEMORY.md")
        store.close()
    assert "path" in caught.value.next_step
