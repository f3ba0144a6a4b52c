"""The same calls to the fake server and, where one is given, to a real server: what holds on one holds on the other.

For a real server set HOLDFAST_GITEA_URL (like ``https://git.example.org``), HOLDFAST_GITEA_TOKEN (with the scope
``write:issue``, of a user who may write in the repository) and HOLDFAST_GITEA_REPO (``owner/name``, one to litter).
"""

import random
import time
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
from attrs import frozen
from tests.backends.gitea import live_kit
from tests.support.gitea.fake_server import FakeServer
from tests.support.gitea.plain_client import Reply, call

from holdfast.text.plain import one_line
from holdfast_app.outbox.trail import quiet
from holdfast_gitea import marker
from holdfast_gitea.wire.client import Gitea

live = pytest.param("live", marks=live_kit.needs_a_repository)


@frozen(kw_only=True)
class Server:
    """Where to ask, and what kind of server it is."""

    url: str
    token: str
    repo: str
    version: str
    next_second: Callable[[], None] = lambda: time.sleep(1.1)

    @property
    def is_forgejo(self) -> bool:
        return "+gitea" in self.version

    @property
    def is_1_26(self) -> bool:
        """From here on issues have a content_version, and every list of the repository comes in pages."""
        return not self.is_forgejo and tuple(map(int, self.version.split("-")[0].split(".")[:2])) >= (1, 26)

    def ask(self, method: str, path: str, body: object = None, **more: Any) -> Reply:
        """``path`` begins after the repository."""
        return call(self.url, method, f"/repos/{self.repo}{path}", body, **{"token": self.token, **more})

    def issue(self, title: str = "") -> int:
        number: int = self.ask("POST", "/issues", {"title": title or f"row {uuid.uuid4().hex}"}).json["number"]
        return number

    def comment(self, number: int, body: str) -> int:
        found: int = self.ask("POST", f"/issues/{number}/comments", {"body": body}).json["id"]
        return found


@pytest.fixture(params=["1.26", "forgejo", live])
def server(request) -> Iterator[Server]:
    if request.param == "live":
        url, token, repo = live_kit.URL, live_kit.TOKEN, live_kit.REPO
        yield Server(url=url, token=token, repo=repo, version=_version(url))
        return
    with FakeServer(version=request.param) as gitea:
        gitea.make_repo("agent/memory")
        yield Server(
            url=gitea.url,
            token=gitea.token,
            repo="agent/memory",
            version=_version(gitea.url),
            next_second=lambda: gitea.skew(1.1),
        )


def _version(url: str) -> str:
    return str(call(url, "GET", "/version").json["version"])


def test_token__unknown__is_401(server):
    assert server.ask("GET", "/issues", token="0" * 40).status == 401


def test_comments_of_an_issue__more_than_a_page__come_all_at_once(server):
    number = server.issue()
    ids = [server.comment(number, str(each)) for each in range(32)]
    reply = server.ask("GET", f"/issues/{number}/comments?page=2&limit=5")
    assert [each["id"] for each in reply.json] == sorted(ids) == ids
    assert (reply.headers["X-Total-Count"], reply.headers["Link"]) == ("32", None)


def test_comments__of_a_missing_issue__are_500_or_404(server):
    assert server.ask("GET", "/issues/99999999").status == 404
    assert server.ask("GET", "/issues/99999999/comments").status == 500
    posted = server.ask("POST", "/issues/99999999/comments", {"body": "b"})
    assert posted.status in ((404, 500) if server.is_forgejo else (500,))  # 500 up to Forgejo 7


def test_comment__read_back__is_what_was_sent(server):
    body = "ünï 🙂\r\n\ttabs  \n<!-- hf:rec id=0 -->\n````\n```\n#12 @name\n````\n trailing \n\n"
    sent = server.ask("POST", f"/issues/{server.issue()}/comments", {"body": body})
    assert (sent.status, sent.json["body"]) == (201, body)
    assert server.ask("GET", f"/issues/comments/{sent.json['id']}").json == sent.json


def test_since__the_second_of_the_last_change__is_inclusive(server):
    number = server.issue()
    first = server.comment(number, "first")
    stamp = server.ask("GET", f"/issues/comments/{first}").json["created_at"]
    moment = datetime.fromisoformat(stamp)
    assert moment.microsecond == 0

    def ids(query: str) -> list[int]:
        return [each["id"] for each in server.ask("GET", f"/issues/{number}/comments?{query}").json]

    def at(seconds: int) -> str:
        return (moment + timedelta(seconds=seconds)).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    assert (ids(f"since={at(0)}"), ids(f"since={at(1)}")) == ([first], [])
    assert (ids(f"before={at(0)}"), ids(f"before={at(-1)}")) == ([first], [])
    server.next_second()
    assert server.ask("PATCH", f"/issues/comments/{first}", {"body": "changed"}).status == 200
    assert ids(f"since={at(1)}") == [first]


def test_comment__edited_and_deleted__tells_by_its_times_and_then_is_404(server):
    comment = server.comment(server.issue(), "first")
    path = f"/issues/comments/{comment}"
    assert server.ask("PATCH", path, {"body": "second"}).json["body"] == "second"
    assert [server.ask("DELETE", path).status for _ in range(2)] == [204, 404]
    assert server.ask("GET", path).status == 404
    assert server.ask("PATCH", path, {"body": "third"}).status == 404


def test_title__long__is_cut_without_a_word_and_may_be_there_twice(server):
    title = "я" * 300
    made = [server.ask("POST", "/issues", {"title": title}).json for _ in range(2)]
    cut = ["я" * 126 + "…", *([title] if server.is_forgejo else [])]  # Forgejo 7 keeps it whole
    assert made[0]["title"] == made[1]["title"]
    assert made[0]["title"] in cut
    assert made[0]["number"] != made[1]["number"]


def test_issues__listed__are_open_ones_newest_first_in_pages(server):
    numbers = [server.issue() for _ in range(3)]
    closed = server.ask("PATCH", f"/issues/{numbers[0]}", {"state": "closed"})
    assert (closed.status, closed.json["state"]) == (201, "closed")
    page = server.ask("GET", "/issues?limit=2&page=1")
    assert [each["number"] for each in page.json] == [numbers[2], numbers[1]]
    every = server.ask("GET", "/issues?state=all&type=issues&limit=3&page=1")
    assert [each["number"] for each in every.json] == numbers[::-1]
    assert int(every.headers["X-Total-Count"]) >= 3


def test_issue_body__with_a_stale_content_version__is_409_where_there_is_one(server):
    path = f"/issues/{server.issue()}"
    version = server.ask("GET", path).json.get("content_version")
    assert (version is not None) is server.is_1_26
    assert server.ask("PATCH", path, {"body": "mine", "content_version": version}).status == 201
    stale = server.ask("PATCH", path, {"body": "theirs", "content_version": 0})
    assert (stale.status, server.ask("GET", path).json["body"]) == (
        (409, "mine") if server.is_1_26 else (201, "theirs")
    )


def test_client__publishing_twice__leaves_one_comment_that_reads_as_it_was_written(server):
    with Gitea(server.url, server.token) as gitea:
        repo = gitea.repo(server.repo)
        issue = repo.create_issue("client", "")
        record = uuid.uuid4().hex
        body = marker.frame("note", "text with\r\n``` fences and 🙂", id=record)
        first = repo.publish(issue.number, body, record)
        assert repo.publish(issue.number, body, record) == first
        listed = repo.comments(issue.number)
        assert [one.body for one in listed.values] == [body]
        assert repo.issue(99999999) is None
        assert issue.number in [one.number for one in repo.issues(since=issue.created_at)[0]]


# --- references ------------------------------------------------------------------------------------------------------

#: Pieces of which references are made, and what may stand around them and change how they are read.
PIECES = (
    "#{n}", "!{n}", "{repo}#{n}", "{repo}!{n}", "{url}/{repo}/issues/{n}", "{url}//{repo}/pulls/{n}", "@somebody",
    "`", "``", "```", "\\", "*", "**", "_", "__", "~~", "(", ")", "[", "](x)", "<", ">", "<b>", "<!--", "-->",
    "&#35;", "#", "{n}", "a", "é", "漢", " ", ".", ",", ":", '"', "'", "/", "-", "fixes ", "http://", "|", "\u200b",
)  # fmt: skip


@pytest.mark.parametrize("where", [live])
@pytest.mark.parametrize("seed", range(4))
def test_quiet__any_text__makes_no_reference_on_a_real_server(where, seed):
    """The fake server does not look for references: which texts make one is for a real server to say."""
    url, token, repo = live_kit.URL, live_kit.TOKEN, live_kit.REPO
    server = Server(url=url, token=token, repo=repo, version=_version(url))
    target, source = server.issue(), server.issue()

    def references() -> int:
        found = server.ask("GET", f"/issues/{target}/timeline?limit=50&page=1").json or []
        return sum("ref" in event["type"] for event in found)

    server.comment(source, f"See #{target}.")
    assert references() == 1
    dice = random.Random(seed)
    drawn = ["".join(dice.choice(PIECES) for _ in range(dice.randint(2, 12))) for _ in range(50)]
    for text in ["_#{n}_", "x __#{n}__", "_!{n}_", "http://x@{host}/{repo}/issues/{n}", *drawn]:
        text = one_line(text.format(n=target, repo=repo, url=url, host=urlsplit(url).netloc))
        quieted = quiet(text, server=url, repository=repo)
        server.comment(source, f"**status**: {quieted}")
        assert references() == 1, (text, quieted)
