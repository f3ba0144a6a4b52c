"""Gitea's trail against the forge contract: on the fake server, and on the one that the environment names."""

import contextlib
from collections.abc import Iterator
from typing import ClassVar
from uuid import uuid4

import pytest
from tests.backends.gitea import live_kit
from tests.support.gitea.fake_server import FakeServer

from holdfast.api import PluginContext
from holdfast.testing import ForgeContract
from holdfast_gitea import trail
from holdfast_gitea.trail import GiteaTrail
from holdfast_gitea.wire.client import Gitea

REPO = "acme/shop"


class TestOnTheFakeServer(ForgeContract):
    target: ClassVar[str] = f"{REPO}#1"
    token: ClassVar[str] = ""
    known: ClassVar = {
        ("state", "#1"): "open", ("state", f"{REPO}#2"): "merged", ("state", "#99"): "absent",
        ("state", "https://elsewhere.example/acme/shop/issues/1"): "",
    }  # fmt: skip

    @pytest.fixture
    def forge(self, tmp_path, monkeypatch) -> Iterator[GiteaTrail]:
        with FakeServer(scopes=("write:issue", "read:repository", "read:user")) as self.server:
            self.server.make_repo(REPO)
            self.server.make_issue(REPO, "Webhooks are delivered twice", poster="ana")
            self.server.make_issue(REPO, "Deliver once", poster="ana", pull=True)
            self.server.merge(REPO, 2)
            monkeypatch.setenv("HOLDFAST_GITEA_TOKEN", self.server.token)
            monkeypatch.setattr(trail, "PATIENCE_S", 0.5)
            self.token = self.server.token  # type: ignore[misc]
            table = {"server": self.server.url, "repository": REPO, "operator": "olga"}
            yield GiteaTrail(PluginContext("gitea_trail", table, str(tmp_path), str(tmp_path / "state")))

    def happens(self, text: str) -> None:
        self.server.make_comment(REPO, 1, text, poster="ana")

    def posted(self) -> list[str]:
        return self.server.bodies(REPO, 1)

    @contextlib.contextmanager
    def down(self) -> Iterator[None]:
        self.server.down()
        yield
        self.server.up()


@live_kit.needs_a_repository
class TestOnARealServer(ForgeContract):
    """Every test has an issue of its own in the named repository."""

    token: ClassVar[str] = live_kit.TOKEN

    @pytest.fixture
    def forge(self, tmp_path, monkeypatch) -> Iterator[GiteaTrail]:
        url, token, self.repo = live_kit.URL, live_kit.TOKEN, live_kit.REPO
        monkeypatch.setenv("HOLDFAST_GITEA_TOKEN", token)
        with Gitea(url, token) as self.server:
            self.number = self.server.repo(self.repo).create_issue(f"Contract {uuid4().hex}", "").number
            self.target = f"{self.repo}#{self.number}"  # type: ignore[misc]
            self.known = {("state", self.target): "open", ("state", "#999999"): "absent"}  # type: ignore[misc]
            table = {"server": url, "repository": self.repo, "operator": "olga"}
            self.made = GiteaTrail(PluginContext("gitea_trail", table, str(tmp_path), str(tmp_path / "state")))
            yield self.made

    def happens(self, text: str) -> None:
        self.server.repo(self.repo).create_comment(self.number, text)

    def posted(self) -> list[str]:
        return [one.body for one in self.server.repo(self.repo).comments(self.number).values]

    @contextlib.contextmanager
    def down(self) -> Iterator[None]:
        server, self.made._server = self.made._server, "http://127.0.0.1:9"
        yield
        self.made._server = server
