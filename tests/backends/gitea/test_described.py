"""The fake server and the client against Gitea's own description of its API, made strict."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.support.gitea.fake_server import FakeServer, routes, shapes
from tests.support.gitea.plain_client import call
from tests.support.gitea.prism import COMMAND, WHY_NOT, Prism
from tests.support.gitea.strict import CALLS, EXACT, REDUCED, UNDOCUMENTED, reduced, strict

from holdfast.storage import delete_fact, update_fact
from holdfast.testing.base import make_block, make_fact
from holdfast_gitea import marker
from holdfast_gitea.backend import GiteaBackend
from holdfast_gitea.wire.client import Gitea

REPO = "agent/memory"
R = f"/repos/{REPO}"

needs_prism = pytest.mark.skipif(not COMMAND, reason=WHY_NOT)


@pytest.fixture(scope="module")
def description() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(REDUCED.read_text(encoding="utf-8"))
    return found


# --- without a validator ---------------------------------------------------------------------------------------------


def test_description__reduced_again__is_the_same(description: dict[str, Any]) -> None:
    assert reduced(description) == description
    assert description["info"]["version"] == "1.26.3"


def test_description__made_strict__wants_every_field_and_no_other(description: dict[str, Any]) -> None:
    made = strict(description)["definitions"]
    for name in EXACT:
        described = set(description["definitions"][name]["properties"]) | set(UNDOCUMENTED.get(name, ()))
        assert (set(made[name]["required"]), made[name]["additionalProperties"]) == (described, False)
    assert made["Issue"]["properties"]["closed_at"]["x-nullable"] is True
    assert "x-nullable" not in description["definitions"]["Issue"]["properties"]["closed_at"]


def test_fake_server__its_calls__are_the_described_ones() -> None:
    def shape(path: str) -> str:
        return re.sub(r"\{\w+\}|\(\?P<\w+>\[\^/\]\+\)", "*", path)

    answered = {
        (shape(route.pattern.pattern.removeprefix("/api/v1")), method.lower())
        for route in routes.ROUTES
        for method in route.handlers
    }
    assert answered == {(shape(path), method) for path, methods in CALLS.items() for method in methods}


def test_fake_server__what_it_sends__has_every_described_field_and_no_other(description: dict[str, Any]) -> None:
    def fields(name: str) -> set[str]:
        return set(description["definitions"][name]["properties"]) | set(UNDOCUMENTED.get(name, ()))

    with FakeServer() as gitea:
        gitea.make_repo(REPO, labels=["a"])
        issue = gitea.make_issue(REPO, "t")
        gitea.make_comment(REPO, issue, "c")

        def ask(path: str) -> Any:
            return call(gitea.url, "GET", f"{R}{path}", token=gitea.token).json

        found = ask(f"/issues/{issue}")
        assert set(found) == fields("Issue")
        assert set(found["user"]) == fields("User")
        assert set(found["repository"]) == fields("RepositoryMeta")
        assert set(ask(f"/issues/{issue}/comments")[0]) == fields("Comment")
        assert set(ask("/labels")[0]) == fields("Label")
        assert set(ask(f"/issues/{issue}/timeline")[0]) == set(
            description["definitions"]["TimelineComment"]["properties"]
        )


# --- with one --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def gitea() -> Iterator[FakeServer]:
    with FakeServer(scopes=["all"]) as running:
        running.make_repo(REPO)
        yield running


@pytest.fixture(scope="module")
def prism(gitea: FakeServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prism]:
    with Prism(gitea.url, tmp_path_factory.mktemp("prism")) as running:
        yield running


@needs_prism
def test_prism__a_field_too_many_or_too_few__is_seen(
    gitea: FakeServer, prism: Prism, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = shapes.label
    for spoil in ({"invented": 1}, {"name": ...}):

        def spoilt(*arguments: Any, with_: dict[str, Any] = spoil) -> dict[str, Any]:
            value = shown(*arguments) | with_
            return {name: each for name, each in value.items() if each is not ...}

        monkeypatch.setattr(shapes, "label", spoilt)
        before = len(prism.wrong)
        reply = call(prism.url, "POST", f"{R}/labels", {"name": "a", "color": "#fff"}, token=gitea.token)
        assert (reply.status, len(prism.wrong) > before) == (500, True)


@needs_prism
def test_fake_server__every_call__passes_the_validator(gitea: FakeServer, prism: Prism) -> None:
    before = prism.wrong

    def ask(method: str, path: str, body: object = None, status: int = 200, token: str = gitea.token) -> Any:
        reply = call(prism.url, method, path, body, token=token)
        assert reply.status == status, (method, path, reply)
        return json.loads(reply.text) if reply.text else None

    ask("GET", "/version")
    ask("GET", "/user")
    ask("GET", "/users/agent")
    ask("GET", R)
    label = ask("POST", f"{R}/labels", {"name": "a", "color": "#00aabb"}, 201)["id"]
    ask("GET", f"{R}/labels")
    ask("GET", f"{R}/labels/{label}")
    issue = ask("POST", f"{R}/issues", {"title": "t", "body": "b", "labels": [label]}, 201)["number"]
    pull = gitea.make_issue(REPO, "pull", pull=True)
    ask("GET", f"{R}/issues?state=all&limit=50&page=1")
    ask("GET", f"{R}/issues/{issue}")
    ask("GET", f"{R}/issues/{pull}")
    ask("GET", f"{R}/pulls?state=all")
    gitea.merge(REPO, pull)
    ask("GET", f"{R}/pulls?state=closed")
    comments = f"{R}/issues/{issue}/comments"
    first, second = (ask("POST", comments, {"body": text}, 201)["id"] for text in ("one", "two"))
    ask("GET", f"{comments}?since=2001-01-01T00:00:00Z&before=2099-01-01T00:00:00Z")
    ask("GET", f"{R}/issues/comments?page=1&limit=50")
    ask("GET", f"{R}/issues/comments/{first}")
    ask("PATCH", f"{R}/issues/comments/{first}", {"body": "changed"})
    ask("PATCH", f"{R}/issues/comments/{first}", {"body": "changed"})
    ask("DELETE", f"{R}/issues/comments/{second}", status=204)
    ask("POST", f"{R}/issues/comments/{first}/reactions", {"content": "eyes"}, 201)
    ask("POST", f"{R}/issues/comments/{first}/reactions", {"content": "eyes"}, 200)
    ask("GET", f"{R}/issues/comments/{first}/reactions")
    ask("POST", f"{R}/issues/{issue}/reactions", {"content": "eyes"}, 201)
    ask("GET", f"{R}/issues/{issue}/reactions")
    ask("PATCH", f"{R}/issues/{issue}", {"body": "new", "content_version": 0}, 201)
    ask("PATCH", f"{R}/issues/{issue}", {"state": "closed"}, 201)
    # The timeline is left out: Swagger 2.0 cannot say that a reference to an issue may be null, and there it mostly is.
    ask("PUT", f"{R}/issues/{issue}/labels", {"labels": [label]})
    ask("GET", f"{R}/issues/{issue}/labels")
    ask("DELETE", f"{R}/issues/{issue}/labels/{label}", status=204)
    ask("PUT", f"{R}/issues/{issue}/lock", {}, 204)
    ask("DELETE", f"{R}/issues/{issue}/lock", status=204)
    ask("GET", f"{R}/issues/999", status=404)
    ask("GET", f"{R}/issues/comments/999999", status=404)
    assert prism.wrong == before


@needs_prism
def test_fake_server__statuses_that_are_not_described__are_the_known_ones(gitea: FakeServer, prism: Prism) -> None:
    before = prism.wrong
    issue = gitea.make_issue(REPO, "t")
    comments = f"{R}/issues/{issue}/comments"
    call(prism.url, "GET", f"{R}/issues/999/comments", token=gitea.token)
    call(prism.url, "PATCH", f"{R}/issues/{issue}", {"body": "x", "content_version": 9}, token=gitea.token)
    call(prism.url, "GET", comments, token="0" * 40)
    call(prism.url, "GET", comments, token=gitea.make_token("agent", ["read:user"]))
    gitea.archive(REPO)
    call(prism.url, "POST", comments, {"body": "x"}, token=gitea.token)
    gitea.archive(REPO, on=False)
    assert prism.wrong == before
    assert prism.undescribed == {401, 403, 409, 500}


@needs_prism
def test_client__what_it_sends_and_reads__passes_the_validator(gitea: FakeServer, prism: Prism) -> None:
    before, count = prism.wrong, prism.count
    with Gitea(prism.url, gitea.token) as server:
        assert server.server_version() == "1.26.3"
        repo = server.repo(REPO)
        issue = repo.create_issue("title", "body")
        record = "0" * 32
        body = marker.frame("a note", "text", id=record)
        assert repo.publish(issue.number, body, record) == repo.publish(issue.number, body, record)
        assert len(repo.comments(issue.number).values) == 1
        repo.edit_issue(issue.number, body="new", content_version=issue.content_version)
        repo.edit_issue(issue.number, state="closed")
        now = datetime.now(UTC)
        assert repo.activity(now - timedelta(minutes=5), now + timedelta(minutes=5))
        assert [one.number for one in repo.issues(kind="all", since=now - timedelta(minutes=5))[0]]
        assert repo.issue(999) is None
        made = repo.create_comment(issue.number, "to go")
        repo.delete_comment(made.id)
        assert repo.comment(made.id) is None
    assert prism.count > count
    assert prism.wrong == before


@needs_prism
def test_store__every_kind_of_write__passes_the_validator(gitea: FakeServer, prism: Prism, tmp_path: Path) -> None:
    before, count = prism.wrong, prism.count
    with contextlib.closing(GiteaBackend(tmp_path, server=prism.url, repository=REPO, token=gitea.token)) as store:
        revision = store.write("MEMORY.md", "one\n")
        store.write("MEMORY.md", "two\n", revision)
        for block_id in "ab":
            store.append("memory/2026-03-01.md", make_block(block_id), "# Daily Memory\n", block_id)
        for number in (1, 2):
            store.add_fact(make_fact(number), 1)
        update_fact(store, make_fact(2).id, content="changed")
        delete_fact(store, make_fact(2).id)
        assert store.names() == ["MEMORY.md", "memory/2026-03-01.md"]
        store.delete("MEMORY.md")
        store.compact()
        assert store.names() == ["memory/2026-03-01.md"]
    assert prism.count - count > 30
    assert prism.wrong == before
