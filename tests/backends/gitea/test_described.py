"""The fake server against Gitea's own description of its API."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.support.gitea.fake_server import FakeServer, routes
from tests.support.gitea.plain_client import call

REPO = "agent/memory"
R = f"/repos/{REPO}"
REDUCED = Path(__file__).parents[2] / "data" / "gitea" / "swagger.json"


@pytest.fixture(scope="module")
def description() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(REDUCED.read_text(encoding="utf-8"))
    return found


def test_fake_server__its_calls__are_the_described_ones(description):
    def shape(path: str) -> str:
        return re.sub(r"\{\w+\}|\(\?P<\w+>\[\^/\]\+\)", "*", path)

    answered = {
        (shape(route.pattern.pattern.removeprefix("/api/v1")), method.lower())
        for route in routes.ROUTES
        for method in route.handlers
    }
    assert answered == {(shape(path), method) for path, methods in description["paths"].items() for method in methods}


def test_fake_server__what_it_sends__has_every_described_field_and_no_other(description):
    def fields(name: str) -> set[str]:
        return set(description["definitions"][name]["properties"]) | ({"username"} if name == "User" else set())

    with FakeServer() as gitea:
        gitea.make_repo(REPO)
        issue = gitea.make_issue(REPO, "t")
        gitea.make_comment(REPO, issue, "c")

        def ask(path: str) -> Any:
            return call(gitea.url, "GET", f"{R}{path}", token=gitea.token).json

        found = ask(f"/issues/{issue}")
        assert set(found) == fields("Issue")
        assert set(found["user"]) == fields("User")
        assert set(found["repository"]) == fields("RepositoryMeta")
        assert set(ask(f"/issues/{issue}/comments")[0]) == fields("Comment")
        assert set(ask(f"/issues/{issue}/timeline")[0]) == set(
            description["definitions"]["TimelineComment"]["properties"]
        )
