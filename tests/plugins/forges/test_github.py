"""GitHub's trail, morning and claims, against a stand-in that follows GitHub's public description."""

import contextlib
import json
import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar

import pytest
from tests.support.github import GitHubServer
from tests.support.stated import flushed, only

from holdfast.api import ConfigError, Holdfast, HoldfastError, PluginContext
from holdfast.testing import ForgeContract
from holdfast_forges import github
from holdfast_forges.github import GitHub

REPO = "acme/shop"


@pytest.fixture
def server(monkeypatch) -> Iterator[GitHubServer]:
    with GitHubServer(REPO) as running:
        monkeypatch.setenv("HOLDFAST_GITHUB_TOKEN", running.token)
        monkeypatch.setattr(github, "PATIENCE_S", 1.5)
        yield running


def forge_of(running: GitHubServer, folder: Path, **settings: object) -> GitHub:
    table = {"server": running.url, "repository": REPO, "operator": "olga", **settings}
    return GitHub(PluginContext("github", table, str(folder), str(folder / "state")))


@pytest.fixture
def opened(server, project, closing) -> Callable[..., Holdfast]:

    def open_project(**settings: object) -> Holdfast:
        table = {"server": server.url, "repository": REPO, "operator": "olga", **settings}
        return closing(Holdfast.open(project, config=only("github", table)))

    return open_project


class TestContract(ForgeContract):
    target: ClassVar[str] = f"{REPO}#1"
    token: ClassVar[str] = "github_pat_secret"
    known: ClassVar = {
        ("state", "#1"): "open", ("state", f"{REPO}#2"): "merged", ("state", "#99"): "absent",
        ("state", "https://elsewhere.example/acme/shop/issues/1"): "", ("state", "other/repo#1"): "",
        ("approved by", "#2"): "ana", ("branch", "main"): "present", ("branch", "gone"): "absent",
        ("user", "ana"): "present", ("user", "nobody"): "absent", ("tag", "v9.9"): "", ("merged by", "#2"): "ana",
    }  # fmt: skip

    @pytest.fixture
    def forge(self, server, tmp_path, monkeypatch) -> GitHub:
        monkeypatch.setattr(github, "PATIENCE_S", 0.3)
        self.server = server
        server.issue("Webhooks are delivered twice")
        server.issue("Deliver once", pull=True)
        server.review(2, "APPROVED")
        server.happen(2, "merged")
        return forge_of(server, tmp_path)

    def happens(self, text: str) -> None:
        self.server.comment(1, text)

    def posted(self) -> list[str]:
        return self.server.bodies(1)

    @contextlib.contextmanager
    def down(self) -> Iterator[None]:
        self.server.down()
        yield
        self.server.up()


def test_morning__a_day_on_github__every_event_is_one_right_line(server, opened):
    old = datetime.now(UTC) - timedelta(days=9)
    server.issue("Old and untouched", at=old)
    server.issue("Webhooks are delivered twice", at=old)
    server.issue("Deliver once", by="olga", pull=True, at=old)
    server.issue("Which database? @olga please decide", body="@olga which one?", by="ana")
    server.happen(2, "assigned", assignee=server.user("olga"))
    server.happen(2, "labeled", label={"name": "blocked", "color": "f00"})
    for event in ("labeled", "unlabeled"):
        server.happen(3, event, label={"name": "blocked", "color": "f00"})
    server.happen(2, "subscribed")
    server.comment(2, "It happens again")
    server.comment(2, "@olga, shall we wait?", by="bot")
    server.comment(3, "This line needs your call, @olga", line=True)
    server.review(3, "CHANGES_REQUESTED", body="Add a test")
    server.check(3, "tests", "failure")
    server.happen(3, "head_ref_force_pushed", by="olga")
    server.happen(3, "review_requested", requested_reviewer=server.user("olga"))
    server.happen(3, "review_request_removed", requested_reviewer=server.user("olga"))
    server.happen(2, "closed")
    server.happen(2, "reopened")
    server.push("main")
    server.push("side")
    server.push("old", "branch_deletion")
    server.release("v1.2")
    morning = opened().morning()
    assert morning.remarks == ()
    told = [line.text[17:] for line in morning.sections["On the forge"]]
    needed = [line.text[17:] for line in morning.sections["What is needed from you"]]
    assert sorted(needed) == [
        f"{REPO}#2 comment by bot: @olga, shall we wait?",
        f"{REPO}#2 issue by ana: assigned to olga: Webhooks are delivered twice",
        f"{REPO}#3 checks: checks failed: tests",
        f"{REPO}#3 comment by ana: This line needs your call, @olga",
        f"{REPO}#3 review by ana: requested changes: Add a test",
        f"{REPO}#4 issue by ana: opened: Which database? @olga please decide",
    ]
    for line in (
        f"{REPO}#2 issue by ana: label blocked added: Webhooks are delivered twice",
        f"{REPO}#2 comment by ana: It happens again",
        f"{REPO}#2 issue by ana: closed: Webhooks are delivered twice",
        f"{REPO}#2 issue by ana: reopened: Webhooks are delivered twice",
        f"{REPO}#3 pull by olga: force-pushed: Deliver once",
        f"{REPO}#3 pull by ana: review request to olga withdrawn: Deliver once",
        f"{REPO} push by ana: branch main pushed directly",
        f"{REPO} push by ana: branch old deleted",
        f"{REPO} release by ana: released: Release v1.2",
    ):
        assert line in told
    assert len(told) == 12
    assert [line.text[17:] for line in morning.sections["What is blocked"]] == [
        f"{REPO}#2 issue by ana: label blocked added: Webhooks are delivered twice"
    ]


def test_morning__more_rows_than_a_page__all_are_read_and_no_other_server_is_asked(server, opened):
    for number in range(120):
        server.issue(f"Issue {number}")
    told = [line.text for line in opened().morning().sections["On the forge"]]
    assert len([line for line in told if "opened: Issue" in line]) == 120
    assert [path for _, path in server.requests].count(f"/repos/{REPO}/issues") == 2


@pytest.mark.parametrize(
    ("missing", "says"),
    [
        ("contents", f"Pushes and releases of {REPO} are missing, because the token lacks `contents`."),
        ("checks", f"Reviews and checks of {REPO} are missing"),
        ("issues", "The token lacks a scope for that (issues=read)"),
    ],
)
def test_morning__a_permission_is_missing__is_named_first(server, opened, missing, says):
    server.issue("Deliver once", pull=True)
    server.permissions.discard(missing)
    morning = opened().morning()
    assert any(says in remark for remark in morning.remarks)
    assert says in str(morning).partition("## ")[0]


def test_trail__rate_limit_lost_answer_and_rename__nothing_twice_and_a_next_step(server, opened):
    server.issue("Deliver once")
    server.limited, server.lost = 1, 1
    memory = opened()
    receipt = flushed(memory, ("status", "#1", "deployed, see #2 and @ana"))
    assert receipt.pending == 1
    memory.outbox.send()
    assert not memory.outbox.items()
    [body] = server.bodies(1)
    assert body.startswith("**status**: deployed, see `#2` and `@ana`")
    server.moved = "new/name"
    receipt = flushed(memory, ("status", "#1", "rolled back"))
    assert receipt.pending == 1
    assert f"The repository {REPO} was renamed or moved." in receipt.evidence[0].note
    server.moved = ""
    server.limited = 99
    assert "limits the number of requests" in flushed(memory, ("status", "#1", "again")).evidence[0].note
    server.limited = 0
    memory.outbox.send()
    said = [body.partition("\n")[0] for body in server.bodies(1)[1:]]
    assert said == ["**status**: rolled back", "**status**: again"]


def test_morning__own_comment_and_a_claim_that_github_denies__said_once_and_flagged(server, opened):
    server.issue("Deliver once", pull=True)
    memory = opened()
    flushed(memory, ("status", "#1", "deployed"), decisions=("Merged #1 at last",))
    morning = memory.morning()
    assert sum("deployed" in line.text for lines in morning.sections.values() for line in lines) == 1
    [line] = morning.sections["What does not fit together"]
    assert line.text.startswith("The notes say that #1 is merged, but on GitHub it is open")


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"repository": "shop"}, "'shop' is not a repository"),
        ({"server": "git.example.org"}, "server is missing or no address"),
        ({"server": "http://git.example.org"}, "plain HTTP to another machine"),
    ],
)
def test_settings__unusable__say_what_is_wrong(server, tmp_path, settings, says):
    with pytest.raises(ConfigError, match=says):
        forge_of(server, tmp_path, **settings).check()


def test_token__none_or_wrong__says_so_without_it(server, tmp_path, monkeypatch):
    monkeypatch.setenv("HOLDFAST_GITHUB_TOKEN", "wrong")
    with pytest.raises(HoldfastError, match="does not know the token") as caught:
        forge_of(server, tmp_path).check()
    assert "issues (read and write)" in caught.value.next_step
    monkeypatch.delenv("HOLDFAST_GITHUB_TOKEN")
    monkeypatch.delenv("GITHUB_TOKEN", raising=False)
    monkeypatch.delenv("GH_TOKEN", raising=False)
    with pytest.raises(ConfigError, match="no token for the GitHub server"):
        forge_of(server, tmp_path).check()


@pytest.mark.skipif("GITHUB_API_DESCRIPTION" not in os.environ, reason="GITHUB_API_DESCRIPTION is not set")
def test_stand_in__every_list__is_as_the_public_description_says(server, tmp_path):
    jsonschema = pytest.importorskip("jsonschema")
    with open(os.environ["GITHUB_API_DESCRIPTION"], encoding="utf-8") as file:
        schemas = json.load(file)
    server.issue("One", pull=True)
    server.comment(1, "A comment")
    server.comment(1, "On a line", line=True)
    server.review(1, "APPROVED")
    server.happen(1, "labeled", label={"name": "bug", "color": "f00"})
    server.push("main")
    server.release("v1")
    server.check(1, "tests", "failure")
    now = datetime.now(UTC)
    forge_of(server, tmp_path).activity(now - timedelta(days=1), now)
    names = {
        "/issues": "issue", "/issues/comments": "issue-comment", "/pulls/comments": "pull-request-review-comment",
        "/issues/events": "issue-event", "/activity": "activity", "/releases": "release",
        "/pulls/1/reviews": "pull-request-review", f"/commits/{1:040}/check-runs": "check-run",
    }  # fmt: skip
    seen = {}
    for _, path, data in server.answers:
        if name := names.get(path.removeprefix(f"/repos/{REPO}")):
            schema = {"$ref": f"#/components/schemas/{name}", "components": schemas["components"]}
            rows = data["check_runs"] if name == "check-run" else data
            for row in rows:
                jsonschema.Draft4Validator(_nullable(schema)).validate(row)
                seen[name] = True
    assert sorted(seen) == sorted(names.values())


def _nullable(value: Any) -> Any:
    """OpenAPI 3.0's ``nullable`` as JSON Schema says it."""
    if isinstance(value, list):
        return [_nullable(one) for one in value]
    if not isinstance(value, dict):
        return value
    made = {key: _nullable(one) for key, one in value.items()}
    return {"anyOf": [{"type": "null"}, made]} if made.get("nullable") is True else made
