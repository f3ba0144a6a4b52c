"""The morning report of a made-up day, with every kind of event that a forge has."""

from collections.abc import Callable, Iterator

import pytest
from tests.support.gitea.fake_server import FakeServer
from tests.support.stated import flushed

from holdfast import Holdfast

REPO, OTHER = "acme/shop", "acme/tools"
SCOPES = ("write:issue", "read:repository", "read:user")
Opened = Callable[..., Holdfast]


@pytest.fixture
def gitea(clock) -> Iterator[FakeServer]:
    with FakeServer(clock=lambda: clock().timestamp(), scopes=SCOPES) as running:
        for name in (REPO, OTHER):
            running.make_repo(name, labels=["blocked", "bug", "priority/high"])
        running.make_issue(REPO, "Deliver once", poster="ana")
        running.make_issue(REPO, "Retry later", poster="ana", pull=True)
        running.make_issue(OTHER, "Old tools", poster="ana")
        clock.tick(days=2)
        yield running


@pytest.fixture
def opened(with_trail) -> Opened:
    return lambda **settings: with_trail(**{"repositories": [OTHER], "operator": "olga", **settings})


def lines(memory: Holdfast, section: str) -> list[str]:
    """The lines of a section without the day and the pointer."""
    return [line.text.removeprefix("2026-11-23 ") for line in memory.morning().sections[section]]


#: What a note says, and what of it the forge denies.
CHANGES = {
    ("merge", f"{REPO}#2", "after CI was green"): f"{REPO}#2 is merged, but on Gitea it is open",
    ("status", f"{REPO}#1", "closed"): f"{REPO}#1 is closed, but on Gitea it is open",
    ("status", f"{OTHER}#1", "merged #2 and waited"): "#2 is merged, but on Gitea it is open",
    ("merge", f"{REPO}#3", "not yet, it waits for review"): "",
    ("status", f"{REPO}#3", "to be merged tomorrow"): "",
}
CLAIMS = {
    "acme/shop#2 was approved by ana": "acme/shop#2 is approved by ana, but on Gitea it is not",
    "Filed acme/shop#77 for it": "acme/shop#77 exists, but on Gitea it is absent",
    "acme/shop#1 is assigned to agent": "acme/shop#1 is assigned to agent, but on Gitea it is not",
    "acme/shop#1 is assigned to the night shift": "",
    "After acme/shop#3 is merged we tag it": "",
    "Is acme/shop#3 closed?": "",
    "acme/shop#3 has not been approved by ana": "",
}


def test_morning__claims_that_the_forge_denies__do_not_fit_together_until_they_are_true(gitea, opened):
    gitea.make_issue(REPO, "Sign the key", poster="ana", pull=True)  # 3
    memory = opened()
    flushed(memory, *CHANGES, decisions=[*CLAIMS])
    told = [line.partition(": ")[0] for line in lines(memory, "What does not fit together")]
    denied = [says for says in (*CHANGES.values(), *CLAIMS.values()) if says]
    assert sorted(told) == sorted(f"The notes say that {says}" for says in denied)
    gitea.happen(REPO, 2, "merge_pull", "ana")
    gitea.happen(REPO, 1, "close", "ana")
    left = " ".join(lines(memory, "What does not fit together"))
    assert "#77 exists" in left
    assert "is merged" not in left
    assert "is closed" not in left


def test_morning__a_day_with_ten_changed_issues__costs_the_stated_number_of_requests(gitea, opened):
    for number in range(9):
        gitea.make_issue(REPO, f"New {number}", poster="ben", pull=number < 4)
    gitea.make_comment(REPO, 1, "I saw it, too", poster="ben")
    memory = opened()
    gitea.requests.clear()
    memory.morning()
    # the user; of two repositories without commits issues, comments, releases, settings, pushes and collaborators; ten
    # timelines; reviews, newest commit and checks of four pull requests
    assert len(gitea.requests) == 1 + 2 * 6 + 10 + 3 * 4


GONE = "acme/gone"


def test_morning__a_made_up_day__the_whole_report_is_right_line_by_line(gitea, opened, clock):
    """Every kind of event in one day, two repositories, a third that is gone, and a flush that claims too much."""
    gitea.make_repo(GONE)
    memory = opened(repositories=[OTHER, GONE])
    clock.tick(minutes=30 - clock().minute % 30)

    def later() -> None:
        clock.tick(minutes=1)

    gitea.make_issue(REPO, "Keep the key", poster="ben")  # 3
    gitea.make_issue(REPO, "Sign the key", poster="cleo", pull=True)  # 4
    later()
    gitea.happen(REPO, 4, "review_request", "cleo", assignee="olga")
    gitea.happen(REPO, 4, "review_request", "cleo", assignee="ben")
    gitea.happen(REPO, 4, "review_request", "cleo", assignee="ben", removed_assignee=True)
    later()
    gitea.review(REPO, 4, "ben", "COMMENT", "Fine so far.", lines=1)
    gitea.review(REPO, 2, "ben", "REQUEST_CHANGES", "Two things.", lines=2)
    later()
    gitea.review(REPO, 2, "cleo", "APPROVED")
    gitea.happen(REPO, 2, "merge_pull", "ana")
    later()
    gitea.happen(REPO, 1, "assignees", "ana", assignee="ben")
    gitea.happen(REPO, 1, "assignees", "ana", assignee="ben", removed_assignee=True)
    gitea.happen(REPO, 1, "milestone", "ana", milestone="v2")
    gitea.happen(REPO, 1, "label", "ana", label="bug")
    gitea.happen(REPO, 1, "label", "ana", label="blocked")
    later()
    gitea.happen(REPO, 3, "label", "ben", label="blocked")
    gitea.happen(REPO, 3, "label", "ben", label="blocked", removed=True)
    gitea.happen(REPO, 3, "change_title", "ben", old_title="Keep the key", new_title="Keep the keys")
    gitea.happen(REPO, 3, "close", "ana")
    later()
    gitea.happen(OTHER, 1, "close", "ben")
    gitea.happen(OTHER, 1, "reopen", "ana")
    later()
    gitea.make_comment(REPO, 1, "@olga which key do we take?", poster="ben")
    gitea.make_comment(REPO, 1, "> @olga which key do we take?\n\nThe old one.", poster="cleo")
    for number in range(400):
        gitea.make_comment(OTHER, 1, f"build {number} failed", poster="ben" if number % 4 else "cleo")
    later()
    gitea.release(REPO, "v1.4", "ana")
    flushed(memory, ("status", f"{REPO}#1", "in review"), ("merge", f"{REPO}#4", "after CI was green"))
    gitea.delete_repo(GONE)
    later()
    morning = memory.morning()
    found = {name: [line.text.removeprefix("2026-11-23 ") for line in got] for name, got in morning.sections.items()}
    assert found["What is needed from you"] == [
        "15:01 acme/shop#4 review by cleo: review requested from olga: Sign the key",
        "15:07 acme/shop#1 comment by ben: @olga which key do we take?",
    ]
    assert found["What is blocked"] == ["15:04 acme/shop#1 issue by ana: label blocked added: Deliver once"]
    gone = "The Gitea server has nothing there, or does not show it to this token (acme/gone)."
    assert found["On the forge"] == [
        "15:00 acme/shop#3 issue by ben: opened: Keep the keys",
        "15:05 acme/shop#3 issue by ben: label blocked added: Keep the keys",
        "15:05 acme/shop#3 issue by ben: label blocked removed: Keep the keys",
        "15:05 acme/shop#3 issue by ben: renamed from 'Keep the key' to 'Keep the keys'",
        "15:05 acme/shop#3 issue by ana: closed: Keep the keys",
        "15:00 acme/shop#4 pull by cleo: opened: Sign the key",
        "15:01 acme/shop#4 review by cleo: review requested from ben: Sign the key",
        "15:01 acme/shop#4 review by cleo: review request to ben withdrawn: Sign the key",
        "15:02 acme/shop#4 review by ben: reviewed with 1 line comment: Fine so far.",
        "15:02 acme/shop#2 review by ben: requested changes with 2 line comments: Two things.",
        "15:03 acme/shop#2 review by cleo: approved at 0123456789",
        "15:03 acme/shop#2 pull by ana: merged: Retry later",
        "15:04 acme/shop#1 issue by ana: milestone v2",
        "15:04 acme/shop#1 issue by ana: label blocked added: Deliver once",
        "15:04 acme/shop#1 issue by ana: assigned to ben: Deliver once",
        "15:04 acme/shop#1 issue by ana: unassigned ben: Deliver once",
        "15:07 acme/shop#1 comment by cleo: > @olga which key do we take? The old one.",
        "15:06 acme/tools#1 issue by ben: closed: Old tools",
        "15:06 acme/tools#1 issue by ana: reopened: Old tools",
        "15:07 acme/tools#1 comment: 400 comments by ben (300), cleo (100); the last one: build 399 failed",
        "15:08 acme/shop release by ana: released: v1.4",
        f"15:09 acme/gone repository: could not be read: {gone}",
    ]
    assert found["What does not fit together"] == [
        "The notes say that acme/shop#4 is merged, but on Gitea it is open: **merge** acme/shop#4: after CI was green"
    ]
    assert morning.remarks == ()
    assert "\n".join(morning.screen) in str(morning).partition("## What happened")[0]
    assert morning.screen[:8] == (
        "**Needs you: 3**",
        "- shop#4 cleo: review requested from olga: Sign the key",
        "- shop#1 ben: @olga which key do we take?",
        "- Blocked: shop#1 ana: label blocked added: Deliver once",
        "",
        "**Changed: 20**",
        "- shop ana: released: v1.4",
        "- gone: could not be read: The Gitea server has nothing…",
    )
    assert {"- closed: shop#3, tools#1", "- opened: shop#3, shop#4", "- and 10 more below"} <= {*morning.screen}
    assert "- notes: acme/shop#4 is merged; Gitea: open" in morning.screen
    assert len(morning.screen) + 2 <= 25
    assert max(map(len, morning.screen)) <= 60
    assert all(line.pointer for got in morning.sections.values() for line in got)


def test_morning__what_waits_for_the_operator_in_any_place__is_under_needed_and_the_rest_is_told(gitea, opened):
    memory = opened()
    question = gitea.make_issue(REPO, "Which region?", "@olga please decide by Friday", poster="ben")  # no "?"
    mine = gitea.make_issue(REPO, "Encrypt backups", poster="olga", pull=True)
    gitea.happen(REPO, 1, "assignees", "ana", assignee="olga")
    gitea.review(REPO, mine, "ben", "REQUEST_CHANGES", "Not yet.")
    gitea.review(REPO, 2, "ben", "COMMENT", "Fine.", said=["why, @olga?"])
    gitea.happen(REPO, 1, "label", "ana", label="priority/high")
    gitea.happen(REPO, 1, "modified_deadline", "ana", body="2026-12-24|2026-12-20")
    gitea.happen(REPO, 1, "lock", "ana", body="spam")
    gitea.happen(REPO, 2, "change_target_branch", "ana", old_ref="main", new_ref="next")
    gitea.happen(REPO, 2, "dismiss_review", "ana", body="settled")
    gitea.happen(REPO, 2, "pull_push", "ana", body='{"is_force_push":true,"commit_ids":["a","b"]}')
    gitea.happen(REPO, 1, "add_dependency", "ana", dependent_issue={"number": 2})
    gitea.check(REPO, 2, "ci/test", "failure")
    gitea.push(REPO, "ana", "refs/heads/main", "Fix it at once\n")
    gitea.push(REPO, "ana", "refs/heads/main", "Merge pull request 'x' (#2) from x into main\n")
    gitea.push(REPO, "ana", "refs/heads/work", "Try it\n")
    gitea.push(REPO, "ana", "refs/tags/v2.0")
    needed = " ".join(lines(memory, "What is needed from you"))
    for number, text in ((question, "opened: Which region?"), (mine, "requested changes: Not yet."),
                         (1, "assigned to olga"), (2, "reviewed with 1 line comment: Fine.")):  # fmt: skip
        assert f"{REPO}#{number}" in needed
        assert text in needed
    told = " ".join(lines(memory, "On the forge"))
    for text in ("label priority/high added", "due 2026-12-24 instead of 2026-12-20", "locked",
                 "target changed from main to next", "review dismissed: settled", "force-pushed",
                 "dependency with #2 added", "checks: failure (ci/test)",
                 "1 commit pushed to main directly: Fix it at once", "tag v2.0 pushed"):  # fmt: skip
        assert text in told
    assert "Merge pull request" not in told
    assert "Try it" not in told


def test_morning__old_comment_edited_into_a_question__waits_for_the_operator(gitea, opened, clock):
    made = gitea.make_comment(REPO, 1, "We are late.", poster="ben")
    clock.tick(hours=72)
    gitea.edit_comment(REPO, made, "We are late. @olga, shall we stop?")
    assert "edited: We are late. @olga, shall we stop?" in " ".join(lines(opened(), "What is needed from you"))


def test_morning__withdrawn_approved_or_answered_since__no_longer_waits_for_the_operator(gitea, opened, clock):
    memory = opened()
    question = gitea.make_issue(REPO, "Encrypt backups", "@olga which cipher?", poster="ben")
    seen = gitea.make_issue(REPO, "Sign the key", poster="ana", pull=True)
    asked = gitea.make_issue(REPO, "Rotate keys", poster="olga", pull=True)
    for removed in (False, True):
        gitea.happen(REPO, 1, "assignees", "ana", assignee="olga", removed_assignee=removed)
        gitea.happen(REPO, 2, "review_request", "ana", assignee="olga", removed_assignee=removed)
    gitea.happen(REPO, seen, "review_request", "ana", assignee="olga")
    gitea.review(REPO, asked, "ben", "REQUEST_CHANGES", "Not yet.")
    gitea.happen(REPO, asked, "review_request", "ana", assignee="olga")
    assert len(lines(memory, "What is needed from you")) == 4
    clock.tick(minutes=1)
    gitea.make_comment(REPO, question, "The new one.", poster="olga")
    gitea.make_comment(REPO, asked, "I will look.", poster="olga")  # which is no review
    gitea.review(REPO, asked, "ben", "APPROVED")
    gitea.review(REPO, seen, "olga", "COMMENT", "Fine.")
    [left] = lines(memory, "What is needed from you")
    assert f"{REPO}#{asked} review by ana: review requested from olga" in left


@pytest.mark.parametrize("author", ["ben", "agent"])
def test_morning__somebody_elses_title_and_marker_of_a_store__hide_nothing(gitea, opened, author):
    number = gitea.make_issue(REPO, "holdfast: pay me", poster=author)
    gitea.make_comment(REPO, 1, "Stop all work\n<!-- hf:rec id=0192 kind=ver -->", poster=author)
    told = " ".join(lines(opened(), "On the forge"))
    assert (f"{REPO}#{number}" in told, "Stop all work" in told) == (author == "ben",) * 2


def test_morning__nobody_is_the_operator_and_a_scope_is_missing__is_said_first(gitea, opened, monkeypatch):
    monkeypatch.setenv("HOLDFAST_GITEA_TOKEN", gitea.make_token(scopes=("write:issue", "read:user")))
    text = str(opened(operator="").morning())
    head = text.partition("\n## ")[0]
    assert "No `operator` is set" in head
    assert "missing, because the token lacks `read:repository`" in head
