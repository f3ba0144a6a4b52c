"""The fake server is as odd as the server it stands for: a test for each thing that surprises."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.support.gitea.fake_server import FakeServer, Flavour
from tests.support.gitea.plain_client import Reply, call

REPO = "agent/memory"
ISSUES = f"/repos/{REPO}/issues"
FLAVOURS: tuple[Flavour, ...] = ("1.26", "1.25", "forgejo")

Ask = Callable[..., Reply]


@pytest.fixture
def now() -> list[float]:
    """The clock of the server, in a list so that a test can move it."""
    return [1_800_000_000.0]


@pytest.fixture
def gitea(now: list[float]) -> Iterator[FakeServer]:
    with FakeServer(clock=lambda: now[0]) as running:
        running.make_repo(REPO)
        yield running


@pytest.fixture
def ask(gitea: FakeServer) -> Ask:
    return asking(gitea)


def asking(gitea: FakeServer) -> Ask:
    def ask(method: str, path: str, body: object = None, **more: Any) -> Reply:
        return call(gitea.url, method, path, body, **{"token": gitea.token, **more})

    return ask


@pytest.fixture(params=FLAVOURS)
def each(request: pytest.FixtureRequest) -> Iterator[FakeServer]:
    """Every server it plays."""
    with FakeServer(version=request.param) as running:
        running.make_repo(REPO)
        yield running


# --- who may do what ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["token", "Bearer", "TOKEN", "bearer"])
def test_authorization__token_or_bearer_in_any_case__is_known(gitea: FakeServer, ask: Ask, scheme: str) -> None:
    assert ask("GET", ISSUES, token=None, headers={"authorization": f"{scheme} {gitea.token}"}).status == 200


@pytest.mark.parametrize("pair", ["{}:x-oauth-basic", "agent:{}"])
def test_authorization__basic_with_the_token_as_user_or_password__is_known(
    gitea: FakeServer, ask: Ask, pair: str
) -> None:
    value = base64.b64encode(pair.format(gitea.token).encode()).decode()
    assert ask("GET", ISSUES, token=None, headers={"Authorization": f"Basic {value}"}).status == 200


def test_authorization__a_token_nobody_has__is_401(ask: Ask) -> None:
    reply = ask("GET", ISSUES, token="0" * 40)
    assert (reply.status, reply.json["message"]) == (401, "invalid username, password or token")


def test_authorization__no_token_on_a_write_to_a_public_repository__is_401(gitea: FakeServer, ask: Ask) -> None:
    gitea.make_repo("agent/open", private=False)
    reply = ask("POST", "/repos/agent/open/issues", {"title": "t"}, token=None)
    assert (reply.status, reply.json["message"]) == (401, "token is required")
    assert ask("GET", "/repos/agent/open/issues", token=None).status == 200


def test_authorization__a_scope_is_lacking__is_403_and_names_it(gitea: FakeServer, ask: Ask) -> None:
    reader = gitea.make_token("agent", ["read:issue"])
    assert ask("GET", ISSUES, token=reader).status == 200
    reply = ask("POST", ISSUES, {"title": "t"}, token=reader)
    assert reply.status == 403
    assert reply.json["message"] == (
        "token does not have at least one of required scope(s), required=[write:issue], token scope=read:issue"
    )
    assert ask("GET", "/user").status == 403
    assert ask("GET", f"/repos/{REPO}").status == 403
    more = gitea.make_token("agent", ["read:user", "read:repository"])
    assert ask("GET", "/user", token=more).json["login"] == "agent"
    assert ask("GET", f"/repos/{REPO}", token=more).json["full_name"] == REPO


def test_repository__private_and_of_somebody_else__is_404(gitea: FakeServer, ask: Ask) -> None:
    stranger = gitea.make_token("stranger", ["all"])
    assert ask("GET", ISSUES, token=stranger).status == 404
    assert ask("POST", ISSUES, {"title": "t"}, token=stranger).status == 404
    assert ask("GET", ISSUES, token=None).status == 404


def test_repository__deleted__is_404(gitea: FakeServer, ask: Ask) -> None:
    gitea.delete_repo(REPO)
    assert ask("GET", ISSUES).status == 404


def test_repository__renamed__is_301_to_the_new_place(gitea: FakeServer, ask: Ask) -> None:
    gitea.rename(REPO, "mind")
    reply = ask("GET", f"{ISSUES}?state=all&type=issues")
    assert (reply.status, reply.headers["Location"]) == (301, "/api/v1/repos/agent/mind/issues?state=all&type=issues")
    assert ask("POST", ISSUES, {"title": "t"}).status == 301
    assert ask("GET", "/repos/agent/mind/issues").status == 200


def test_repository__renamed_and_then_deleted__is_404_under_both_names(gitea: FakeServer, ask: Ask) -> None:
    gitea.rename(REPO, "mind")
    gitea.delete_repo("agent/mind")
    assert [ask("GET", f"/repos/agent/{name}/issues").status for name in ("memory", "mind")] == [404, 404]


def test_repository__archived__refuses_writes_but_not_all_of_them(gitea: FakeServer, ask: Ask) -> None:
    number = gitea.make_issue(REPO, "t")
    comment = gitea.make_comment(REPO, number, "said")
    gitea.archive(REPO)
    reply = ask("POST", f"{ISSUES}/{number}/comments", {"body": "more"})
    assert (reply.status, reply.json["message"]) == (423, "agent/memory is archived")
    assert ask("POST", ISSUES, {"title": "t"}).status == 423
    assert ask("PATCH", f"{ISSUES}/comments/{comment}", {"body": "else"}).status == 423
    assert ask("PATCH", f"{ISSUES}/{number}", {"body": "changed"}).status == 201
    assert ask("DELETE", f"{ISSUES}/comments/{comment}").status == 204
    gitea.archive(REPO, on=False)
    assert ask("POST", f"{ISSUES}/{number}/comments", {"body": "more"}).status == 201


def test_comments__on_a_locked_issue__are_403_for_those_without_write_right(gitea: FakeServer, ask: Ask) -> None:
    gitea.make_repo("agent/open", private=False)
    number = gitea.make_issue("agent/open", "t")
    gitea.lock("agent/open", number)
    path = f"/repos/agent/open/issues/{number}/comments"
    assert ask("POST", path, {"body": "mine"}, token=gitea.make_token("guest")).status == 403
    assert ask("POST", path, {"body": "mine"}).status == 201


# --- comments ----------------------------------------------------------------------------------------------------


def test_comments_of_an_issue__page_and_limit__are_ignored(each: FakeServer) -> None:
    number = each.make_issue(REPO, "t")
    for each_one in range(60):
        each.make_comment(REPO, number, str(each_one))
    reply = asking(each)("GET", f"{ISSUES}/{number}/comments?page=2&limit=5")
    assert [c["body"] for c in reply.json] == [str(one) for one in range(60)]
    assert (reply.headers["X-Total-Count"], reply.headers.get("Link")) == ("60", None)


def test_comments_of_an_issue__two_of_one_second__come_by_id(gitea: FakeServer, ask: Ask, now: list[float]) -> None:
    number = gitea.make_issue(REPO, "t")
    ids = [gitea.make_comment(REPO, number, "later")]
    now[0] -= 60
    ids += [gitea.make_comment(REPO, number, "earlier"), gitea.make_comment(REPO, number, "earlier, too")]
    assert [c["id"] for c in ask("GET", f"{ISSUES}/{number}/comments").json] == [ids[1], ids[2], ids[0]]


def test_comments_of_an_issue__that_is_missing__are_500_not_404(each: FakeServer) -> None:
    assert asking(each)("GET", f"{ISSUES}/99/comments").status == 500
    assert asking(each)("GET", f"{ISSUES}/99").status == 404


@pytest.mark.parametrize(("version", "status"), [("1.26", 500), ("1.25", 500), ("forgejo", 404)])
def test_new_comment__on_a_missing_issue__is_500_in_gitea_and_404_in_forgejo(version: Flavour, status: int) -> None:
    with FakeServer(version=version) as gitea:
        gitea.make_repo(REPO)
        assert asking(gitea)("POST", f"{ISSUES}/99/comments", {"body": "b"}).status == status


@pytest.mark.parametrize("body", [{}, {"body": ""}, {"text": "b"}, {"body": 5}, b"{not json", ["body"]])
def test_new_comment__without_a_body__is_422(gitea: FakeServer, ask: Ask, body: object) -> None:
    number = gitea.make_issue(REPO, "t")
    assert ask("POST", f"{ISSUES}/{number}/comments", body).status == 422


def test_new_comment__stored__comes_back_as_it_was_sent(gitea: FakeServer, ask: Ask) -> None:
    number = gitea.make_issue(REPO, "t")
    body = "ünï 🙂\r\n\ttabs  \n<!-- hidden -->\n```\n#12 @name\n```\n"
    sent = ask("POST", f"{ISSUES}/{number}/comments", {"body": body})
    read = ask("GET", f"{ISSUES}/comments/{sent.json['id']}")
    assert (sent.status, sent.json["body"], read.json) == (201, body, sent.json)


@pytest.mark.parametrize(
    ("version", "query", "shown"),
    [
        ("1.25", "", 60),
        ("1.25", "?limit=5", 60),
        ("1.25", "?page=1", 30),
        ("1.25", "?page=2&limit=99", 10),
        ("1.26", "", 30),
        ("1.26", "?limit=5", 5),
        ("1.26", "?limit=99", 50),
        ("1.26", "?page=2&limit=99", 10),
    ],
)
def test_comments_of_the_repository__before_1_26_without_page__come_whole(
    version: Flavour, query: str, shown: int
) -> None:
    with FakeServer(version=version) as gitea:
        gitea.make_repo(REPO)
        for number in (gitea.make_issue(REPO, "a"), gitea.make_issue(REPO, "b")):
            for each_one in range(30):
                gitea.make_comment(REPO, number, str(each_one))
        reply = asking(gitea)("GET", f"{ISSUES}/comments{query}")
        assert (len(reply.json), reply.headers["X-Total-Count"], reply.headers.get("Link")) == (shown, "60", None)


def test_since_and_before__are_inclusive_and_whole_seconds_of_the_last_change(
    gitea: FakeServer, ask: Ask, now: list[float]
) -> None:
    number = gitea.make_issue(REPO, "t")
    early = gitea.make_comment(REPO, number, "early")
    now[0] += 10.9
    late = gitea.make_comment(REPO, number, "late")
    comments = f"{ISSUES}/{number}/comments"
    stamp = {c["id"]: c["updated_at"] for c in ask("GET", comments).json}
    assert stamp == {early: "2027-01-15T08:00:00Z", late: "2027-01-15T08:00:10Z"}

    def ids(query: str) -> list[int]:
        return [c["id"] for c in ask("GET", f"{comments}?{query}").json]

    assert ids("since=2027-01-15T08:00:10Z") == [late]
    assert ids("since=2027-01-15T08:00:10.9Z") == [late]
    assert ids("since=2027-01-15T09:00:11%2B01:00") == []
    assert ids("before=2027-01-15T08:00:00Z") == [early]
    gitea.edit_comment(REPO, early, "changed")
    assert ids("since=2027-01-15T08:00:10Z") == [early, late]
    gitea.delete_comment(REPO, late)
    assert ids("since=2027-01-15T08:00:00Z") == [early]
    assert ask("GET", f"{comments}?since=yesterday").status == 422


def test_comment__absent_or_of_another_repository__is_404(gitea: FakeServer, ask: Ask) -> None:
    gitea.make_repo("agent/other")
    comment = gitea.make_comment("agent/other", gitea.make_issue("agent/other", "t"), "there")
    for method, body in (("GET", None), ("PATCH", {"body": "b"}), ("DELETE", None)):
        assert ask(method, f"{ISSUES}/comments/{comment}", body).status == 404
        assert ask(method, f"{ISSUES}/comments/999", body).status == 404


@pytest.mark.parametrize("version", ["1.25", "forgejo"])
def test_comment__of_another_repository_before_1_26__is_404_without_a_word(version: Flavour) -> None:
    with FakeServer(version=version) as gitea:
        for name in (REPO, "agent/other"):
            gitea.make_repo(name)
        comment = gitea.make_comment("agent/other", gitea.make_issue("agent/other", "t"), "there")
        reply = asking(gitea)("GET", f"{ISSUES}/comments/{comment}")
        assert (reply.status, reply.text) == (404, "")


def test_comment__that_is_an_event__is_204_without_a_body(gitea: FakeServer, ask: Ask) -> None:
    number = gitea.make_issue(REPO, "t")
    assert ask("PATCH", f"{ISSUES}/{number}", {"state": "closed"}).status == 201
    event = ask("GET", f"{ISSUES}/{number}/timeline").json[0]
    reply = ask("GET", f"{ISSUES}/comments/{event['id']}")
    assert (event["type"], reply.status, reply.text) == ("close", 204, "")
    assert ask("GET", f"{ISSUES}/{number}/comments").json == []


def test_timeline__in_pages__counts_only_the_page(gitea: FakeServer, ask: Ask) -> None:
    number = gitea.make_issue(REPO, "t")
    for each_one in range(12):
        gitea.make_comment(REPO, number, str(each_one))
    reply = ask("GET", f"{ISSUES}/{number}/timeline?page=2&limit=10")
    assert (len(reply.json), reply.headers["X-Total-Count"]) == (2, "2")


def test_comment_edits__one_after_the_other__the_last_wins_silently(gitea: FakeServer, ask: Ask) -> None:
    comment = gitea.make_comment(REPO, gitea.make_issue(REPO, "t"), "first")
    for body in ("second", "third"):
        assert ask("PATCH", f"{ISSUES}/comments/{comment}", {"body": body}).json["body"] == body


def test_comment_edits__that_overlap__the_overtaken_one_is_500(gitea: FakeServer, ask: Ask) -> None:
    comment = gitea.make_comment(REPO, gitea.make_issue(REPO, "t"), "first")
    gitea.world.during_edit = lambda: gitea.edit_comment(REPO, comment, "in between")
    assert ask("PATCH", f"{ISSUES}/comments/{comment}", {"body": "mine"}).status == 500
    assert gitea.bodies(REPO, 1) == ["in between"]


def test_reactions__ones_own__are_201_the_first_time_and_200_after(gitea: FakeServer, ask: Ask) -> None:
    comment = gitea.make_comment(REPO, gitea.make_issue(REPO, "t"), "said")
    path = f"{ISSUES}/comments/{comment}/reactions"
    assert [ask("POST", path, {"content": "eyes"}).status for _ in range(2)] == [201, 200]
    assert ask("POST", path, {"content": "shrug"}).status == 403
    assert [r["content"] for r in ask("GET", path).json] == ["eyes"]
    assert [ask("DELETE", path, {"content": "eyes"}).status for _ in range(2)] == [204, 204]


# --- issues and labels -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        ("x" * 255, "x" * 255),
        ("x" * 256, "x" * 252 + "…"),
        ("é" * 127, "é" * 127),
        ("é" * 128, "é" * 128),
        ("é" * 254, "é" * 254),
        ("é" * 300, "é" * 252 + "…"),
        ("я" * 127, "я" * 127),
        ("я" * 128, "я" * 126 + "…"),
        ("🙂" * 300, "🙂" * 126 + "…"),
        ("two\nlines", "two\nlines"),
    ],
)
def test_title__long__is_cut_by_its_width_without_a_word(gitea: FakeServer, ask: Ask, sent: str, stored: str) -> None:
    made = ask("POST", ISSUES, {"title": sent})
    assert (made.status, made.json["title"]) == (201, stored)
    number = gitea.make_issue(REPO, "t")
    assert ask("PATCH", f"{ISSUES}/{number}", {"title": sent}).json["title"] == stored


def test_title__with_spaces_around_it__loses_them_when_new_and_keeps_them_when_edited(ask: Ask) -> None:
    assert ask("POST", ISSUES, {"title": "  two  spaces "}).json["title"] == "two  spaces"
    assert ask("PATCH", f"{ISSUES}/1", {"title": " kept "}).json["title"] == " kept "


def test_new_issue__title__is_required_and_not_unique(ask: Ask) -> None:
    assert ask("POST", ISSUES, {"body": "no title"}).status == 422
    assert [ask("POST", ISSUES, {"title": "t"}).json["number"] for _ in range(2)] == [1, 2]


def test_issues__by_default__are_the_open_ones_and_pull_requests_newest_first(gitea: FakeServer, ask: Ask) -> None:
    first, second, pull = (gitea.make_issue(REPO, title, pull=title == "pull") for title in ("one", "two", "pull"))
    gitea.close_issue(REPO, first)

    def numbers(query: str) -> list[int]:
        return [i["number"] for i in ask("GET", f"{ISSUES}{query}").json]

    assert numbers("") == [pull, second]
    assert numbers("?state=all&type=issues") == [second, first]
    assert numbers("?state=closed") == [first]
    assert numbers("?type=pulls") == [pull]


def test_issues__many__come_in_pages_with_links_and_a_count(gitea: FakeServer, ask: Ask) -> None:
    for number in range(70):
        gitea.make_issue(REPO, str(number))
    reply = ask("GET", f"{ISSUES}?type=issues&limit=99&page=1")
    assert (len(reply.json), reply.headers["X-Total-Count"]) == (50, "70")
    assert reply.headers["Link"] == ",".join(
        f'<{gitea.url}/api/v1{ISSUES}?limit=99&page=2&type=issues>; rel="{name}"' for name in ("next", "last")
    )
    last = ask("GET", f"{ISSUES}?type=issues&page=3")
    assert len(last.json) == 10
    assert 'rel="first"' in last.headers["Link"]
    assert 'rel="prev"' in last.headers["Link"]
    assert 'rel="next"' not in last.headers["Link"]


def test_issues__several_labels__mean_all_of_them(gitea: FakeServer, ask: Ask) -> None:
    gitea.make_repo(REPO, labels=["a", "b"])
    a, b = (label["id"] for label in ask("GET", f"/repos/{REPO}/labels").json)
    both = ask("POST", ISSUES, {"title": "both", "labels": [a, b]}).json["number"]
    only = ask("POST", ISSUES, {"title": "only", "labels": [a]}).json["number"]
    assert [i["number"] for i in ask("GET", f"{ISSUES}?labels=a,b").json] == [both]
    assert [i["number"] for i in ask("GET", f"{ISSUES}?labels=a").json] == [only, both]


def test_issues__a_label_that_does_not_exist__leaves_the_list_unfiltered(gitea: FakeServer, ask: Ask) -> None:
    number = gitea.make_issue(REPO, "has no label")
    assert [i["number"] for i in ask("GET", f"{ISSUES}?labels=nobody-made-it").json] == [number]


def test_issues__one_of_two_labels_of_one_name__does_not_pass_the_filter(ask: Ask) -> None:
    one, _ = (ask("POST", f"/repos/{REPO}/labels", {"name": "a", "color": "fff"}).json["id"] for _ in range(2))
    ask("POST", ISSUES, {"title": "has one of them", "labels": [one]})
    assert ask("GET", f"{ISSUES}?labels=a").json == []


def test_labels__taken_off_or_deleted__are_gone_without_a_word(gitea: FakeServer, ask: Ask) -> None:
    gitea.make_repo(REPO, labels=["a"])
    label = ask("GET", f"/repos/{REPO}/labels").json[0]["id"]
    number = ask("POST", ISSUES, {"title": "t", "labels": [label]}).json["number"]
    gitea.remove_labels(REPO, number)
    assert ask("GET", f"{ISSUES}/{number}/labels").json == []
    assert [x["name"] for x in ask("POST", f"{ISSUES}/{number}/labels", {"labels": [label, 999]}).json] == ["a"]
    gitea.remove_labels(REPO)
    assert ask("GET", f"/repos/{REPO}/labels").json == []


def test_labels__made_twice__are_two_of_one_name(ask: Ask) -> None:
    made = [ask("POST", f"/repos/{REPO}/labels", {"name": "a", "color": "#0ab"}) for _ in range(2)]
    assert [(m.status, m.json["name"], m.json["color"]) for m in made] == [(201, "a", "00aabb")] * 2
    assert made[0].json["id"] != made[1].json["id"]
    assert ask("POST", f"/repos/{REPO}/labels", {"name": "a", "color": "red"}).status == 422


def test_search__before_the_index_has_caught_up__finds_nothing_new(gitea: FakeServer, ask: Ask) -> None:
    gitea.make_issue(REPO, "needle")
    assert ask("GET", f"{ISSUES}?q=needle").json == []
    gitea.reindex()
    assert len(ask("GET", f"{ISSUES}?q=needle").json) == 1


def test_issue_edit__is_201_and_changes_what_was_sent(gitea: FakeServer, ask: Ask) -> None:
    number = gitea.make_issue(REPO, "t", "b")
    reply = ask("PATCH", f"{ISSUES}/{number}", {"title": "new"})
    assert (reply.status, reply.json["title"], reply.json["body"]) == (201, "new", "b")
    closed = ask("PATCH", f"{ISSUES}/{number}", {"state": "closed"})
    assert (closed.status, closed.json["state"], closed.json["closed_at"] is None) == (201, "closed", False)


def test_issue_edit__stale_content_version__is_409_before_anything_changes(gitea: FakeServer, ask: Ask) -> None:
    number = gitea.make_issue(REPO, "t", "b")
    version = ask("GET", f"{ISSUES}/{number}").json["content_version"]
    first = ask("PATCH", f"{ISSUES}/{number}", {"body": "mine", "content_version": version})
    assert (first.status, first.json["content_version"]) == (201, version + 1)
    stale = ask("PATCH", f"{ISSUES}/{number}", {"title": "theirs", "body": "theirs", "content_version": version})
    assert stale.status == 409
    assert (gitea.titles(REPO)[number], gitea.body(REPO, number)) == ("t", "mine")


@pytest.mark.parametrize("version", ["1.25", "forgejo"])
def test_issue_edit__on_servers_without_content_version__the_last_wins(version: Flavour) -> None:
    with FakeServer(version=version) as gitea:
        gitea.make_repo(REPO)
        number = gitea.make_issue(REPO, "t", "b")
        assert "content_version" not in asking(gitea)("GET", f"{ISSUES}/{number}").json
        assert asking(gitea)("PATCH", f"{ISSUES}/{number}", {"body": "m", "content_version": 99}).status == 201
        assert gitea.body(REPO, number) == "m"


@pytest.mark.parametrize(("version", "status"), [("1.26", 409), ("1.25", 400)])
def test_issue_edit__overtaken_while_it_is_made__is_refused(version: Flavour, status: int) -> None:
    with FakeServer(version=version) as gitea:
        gitea.make_repo(REPO)
        number = gitea.make_issue(REPO, "t", "b")
        gitea.world.during_edit = lambda: gitea.edit_issue(REPO, number, body="in between")
        assert asking(gitea)("PATCH", f"{ISSUES}/{number}", {"body": "mine"}).status == status
        assert gitea.body(REPO, number) == "in between"


def test_pulls__listed__are_only_pull_requests(gitea: FakeServer, ask: Ask) -> None:
    gitea.make_issue(REPO, "issue")
    number = gitea.make_issue(REPO, "pull", pull=True)
    gitea.merge(REPO, number)
    token = gitea.make_token("agent", ["read:repository"])
    assert ask("GET", f"/repos/{REPO}/pulls", token=token).json == []
    found = ask("GET", f"/repos/{REPO}/pulls?state=closed", token=token).json
    assert [(p["number"], p["merged"]) for p in found] == [(number, True)]


# --- the server itself -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "told"), [("1.26", "1.26.3"), ("1.25", "1.25.4"), ("forgejo", "11.0.1+gitea-1.22.0")]
)
def test_version__of_each_server__is_told_without_a_token(version: Flavour, told: str) -> None:
    with FakeServer(version=version) as gitea:
        assert call(gitea.url, "GET", "/version").json == {"version": told}


def test_clock__skewed__shows_in_the_date_header_and_in_the_times(gitea: FakeServer, ask: Ask) -> None:
    gitea.skew(-3600.5)
    reply = ask("POST", ISSUES, {"title": "t"})
    assert (reply.headers["Date"], reply.json["created_at"]) == (
        "Fri, 15 Jan 2027 06:59:59 GMT",
        "2027-01-15T06:59:59Z",
    )


def test_requests__answered__are_logged_in_turn(gitea: FakeServer, ask: Ask) -> None:
    ask("POST", ISSUES, {"title": "t"})
    ask("GET", f"{ISSUES}/7?x=1")
    assert [tuple(seen[:4]) for seen in gitea.requests] == [
        ("POST", f"/api/v1{ISSUES}", "", 201),
        ("GET", f"/api/v1{ISSUES}/7", "x=1", 404),
    ]
    assert gitea.requests[0].size > gitea.requests[1].size > 0


def test_server__down_and_up_again__has_its_address_and_its_state(gitea: FakeServer, ask: Ask) -> None:
    ask("POST", ISSUES, {"title": "kept"})
    address = gitea.url
    gitea.down()
    with pytest.raises(ConnectionRefusedError):
        ask("GET", ISSUES)
    gitea.up()
    assert (gitea.url, [i["title"] for i in ask("GET", ISSUES).json]) == (address, ["kept"])
