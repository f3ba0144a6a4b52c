"""A day on a real server: three users do everything that a morning report is about, and each line of it is compared.

It needs HOLDFAST_GITEA_URL and an administrator's HOLDFAST_GITEA_TOKEN, because it makes two users and a repository.
"""

import base64
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.backends.gitea.live_kit import TOKEN, URL, ask
from tests.support.gitea.plain_client import call
from tests.support.stated import only

from holdfast import Holdfast

pytestmark = [pytest.mark.skipif(not URL, reason="no real server given: HOLDFAST_GITEA_URL and _TOKEN are not set")]
NEEDED, BLOCKED, FORGE = "What is needed from you", "What is blocked", "On the forge"
MARKER = "<!-- hf:rec id=0192 kind=ver -->"
SCOPES = ["write:issue", "write:repository", "read:user"]


class Day:
    """The repository, its users and what was expected of each event."""

    def __init__(self) -> None:
        self.me = ask("GET", "/user").json["login"]
        name = f"day-{uuid.uuid4().hex[:10]}"
        self.ana, self.mal = f"ana-{name[4:]}", f"mal-{name[4:]}"
        self.repo = f"{self.me}/{name}"
        self.tokens = {self.me: TOKEN}
        self.expected: list[tuple[str, str]] = []
        made = {"name": name, "private": True, "auto_init": True, "default_branch": "main"}
        assert ask("POST", "/user/repos", made).status == 201
        for login in (self.ana, self.mal):
            user = {"username": login, "email": f"{login}@example.org", "password": name, "must_change_password": False}
            assert ask("POST", "/admin/users", user).status == 201
            basic = base64.b64encode(f"{login}:{name}".encode()).decode()
            answer = call(
                URL,
                "POST",
                f"/users/{login}/tokens",
                {"name": "day", "scopes": SCOPES},
                headers={"Authorization": f"Basic {basic}"},
            )
            self.tokens[login] = answer.json["sha1"]
            self(self.me, "PUT", f"/collaborators/{login}", {"permission": "write"})

    def __call__(self, user: str, method: str, path: str, body: object = None) -> Any:
        found = call(URL, method, f"/repos/{self.repo}{path}", body, token=self.tokens[user], timeout_s=60)
        assert found.status < 300, (method, path, found)
        return found.json if found.text else None

    def expect(self, *lines: str, section: str = FORGE) -> None:
        self.expected += [(section, line) for line in lines]

    def issue(self, user: str, title: str, body: str = "", section: str = FORGE) -> int:
        number: int = self(user, "POST", "/issues", {"title": title, "body": body})["number"]
        self.expect(f"#{number} issue by {user}: opened: {title}", section=section)
        return number

    def write(self, user: str, branch: str, text: str, *, new: str = "", message: str = "") -> Any:
        name = uuid.uuid4().hex
        body = {"content": base64.b64encode(text.encode()).decode(), "message": message or text, "branch": branch}
        return self(user, "POST", f"/contents/{name}", {**body, **({"new_branch": new} if new else {})})

    def force_push(self, user: str, branch: str) -> None:
        with tempfile.TemporaryDirectory() as folder:
            address = f"{URL.replace('://', f'://{user}:{self.tokens[user]}@')}/{self.repo}.git"
            who = ("-c", f"user.name={user}", "-c", f"user.email={user}@example.org")
            for words in (
                ("clone", "-q", "-b", branch, address, "."),
                (*who, "commit", "-q", "--amend", "-m", "Again"),
                ("push", "-q", "-f", "origin", branch),
            ):
                subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)

    def pull(self, user: str, title: str, body: str = "", section: str = FORGE) -> tuple[int, str]:
        branch = f"b{uuid.uuid4().hex[:6]}"
        self.write(user, "main", title, new=branch)
        made = self(user, "POST", "/pulls", {"title": title, "body": body, "head": branch, "base": "main"})
        self.expect(f"#{made['number']} pull by {user}: opened: {title}", section=section)
        return made["number"], branch

    def comment(self, user: str, number: int, body: str, says: str = "", section: str = FORGE) -> int:
        made = self(user, "POST", f"/issues/{number}/comments", {"body": body})
        self.expect(f"#{number} comment by {user}: {says or body}", section=section)
        found: int = made["id"]
        return found


@pytest.fixture
def day() -> Iterator[Day]:
    made = Day()
    yield made
    ask("DELETE", f"/repos/{made.repo}")
    for login in (made.ana, made.mal):
        ask("DELETE", f"/admin/users/{login}?purge=true")


def morning(day: Day, folder: Path, monkeypatch: pytest.MonkeyPatch, **settings: object) -> Any:
    monkeypatch.setenv("HOLDFAST_GITEA_TOKEN", TOKEN)
    table = {"server": URL, "repository": day.repo, "operator": day.me, "timeout_s": 60.0, **settings}
    with Holdfast.open(folder, config=only("gitea_trail", table)) as memory:
        return memory.morning()


def questions(day: Day) -> None:
    """What waits for the operator, wherever it is written."""
    me, ana, mal = day.me, day.ana, day.mal
    day.issue(ana, "Which region?", f"@{me} which one?", NEEDED)
    day.issue(mal, "Which key?", f"@{me} please decide by Friday", NEEDED)  # without a question mark
    plain = day.issue(ana, "Deliver once")
    day.comment(ana, plain, f"@{me} do we wait?", section=NEEDED)
    day.comment(mal, plain, f"@{me} we need your decision", section=NEEDED)
    late = day(ana, "POST", f"/issues/{plain}/comments", {"body": "We are late."})["id"]
    text = day.issue(mal, "Rotate logs", "As planned.", NEEDED)
    time.sleep(2.2)  # an edit within the second does not show
    day(ana, "PATCH", f"/issues/comments/{late}", {"body": f"We are late. @{me}, shall we stop?"})
    day.expect(f"#{plain} comment by {ana}: edited: We are late. @{me}, shall we stop?", section=NEEDED)
    day(mal, "PATCH", f"/issues/{text}", {"body": f"@{me} how long do we keep them?"})
    number, _ = day.pull(ana, "Sign the key")
    day(mal, "POST", f"/pulls/{number}/reviews", {"event": "COMMENT", "body": f"@{me} is this wanted?"})
    day.expect(f"#{number} review by {mal}: reviewed: @{me} is this wanted?", section=NEEDED)
    changed = day(ana, "GET", f"/pulls/{number}/files")[0]["filename"]
    line = {"path": changed, "new_position": 1, "body": f"@{me} why here?"}
    day(mal, "POST", f"/pulls/{number}/reviews", {"event": "COMMENT", "body": "Fine.", "comments": [line]})
    day.expect(f"#{number} review by {mal}: reviewed with 1 line comment: Fine.", section=NEEDED)
    day(ana, "POST", f"/pulls/{number}/requested_reviewers", {"reviewers": [me]})
    day.expect(f"#{number} review by {ana}: review requested from {me}: Sign the key", section=NEEDED)
    day.pull(mal, "Compress it", f"@{me} could you look", NEEDED)
    mine, _ = day.pull(me, "Encrypt backups")
    day(ana, "POST", f"/pulls/{mine}/reviews", {"event": "REQUEST_CHANGES", "body": "Not yet."})
    day.expect(f"#{mine} review by {ana}: requested changes: Not yet.", section=NEEDED)
    day(ana, "PATCH", f"/issues/{plain}", {"assignees": [me]})
    day.expect(f"#{plain} issue by {ana}: assigned to {me}: Deliver once", section=NEEDED)
    many = day.issue(ana, "Sixty questions")
    for at in range(60):
        day(ana, "POST", f"/issues/{many}/comments", {"body": f"@{me} is it {at}?"})
    day.expect(f"#{many} comment: 60 questions by {ana} (60); the last one: @{me} is it 59?", section=NEEDED)


def reviews(day: Day) -> None:
    """Pull requests, their reviews, commits and checks."""
    me, ana, mal = day.me, day.ana, day.mal
    number, branch = day.pull(ana, "Retry later")
    day(ana, "POST", f"/pulls/{number}/requested_reviewers", {"reviewers": [mal]})
    day(ana, "DELETE", f"/pulls/{number}/requested_reviewers", {"reviewers": [mal]})
    day.expect(f"#{number} review by {ana}: review requested from {mal}: Retry later")
    day.expect(f"#{number} review by {ana}: review request to {mal} withdrawn: Retry later")
    head = day(ana, "GET", f"/pulls/{number}")["head"]["sha"]
    day(mal, "POST", f"/pulls/{number}/reviews", {"event": "APPROVED", "body": "Good."})
    asked = day(me, "POST", f"/pulls/{number}/reviews", {"event": "REQUEST_CHANGES", "body": "Two things."})
    day(me, "POST", f"/pulls/{number}/reviews/{asked['id']}/dismissals", {"message": "settled"})
    day.expect(f"#{number} review by {me}: requested changes (dismissed): Two things.")
    day.expect(f"#{number} pull by {me}: review dismissed: settled: Retry later")
    time.sleep(2)
    day.write(ana, branch, "More")
    day.expect(f"#{number} pull by {ana}: 1 commit pushed: Retry later")
    day.expect(f"#{number} review by {mal}: approved at {head[:10]} (of an earlier state): Good.")
    day.force_push(ana, branch)
    day.expect(f"#{number} pull by {ana}: force-pushed: Retry later")
    sha = day(ana, "GET", f"/pulls/{number}")["head"]["sha"]
    day(ana, "POST", f"/statuses/{sha}", {"state": "failure", "context": "ci/test"})
    day.expect(f"#{number} checks: failure (ci/test): Retry later")
    green, _ = day.pull(ana, "Pass")
    sha = day(ana, "GET", f"/pulls/{green}")["head"]["sha"]
    day(ana, "POST", f"/statuses/{sha}", {"state": "success", "context": "ci/test"})
    day.expect(f"#{green} checks: success: Pass")
    day(ana, "POST", "/branches", {"new_branch_name": "next", "old_branch_name": "main"})
    day(ana, "PATCH", f"/pulls/{green}", {"base": "next"})
    day.expect(f"#{green} pull by {ana}: target changed from main to next: Pass")
    merged, old = day.pull(mal, "Merge me")
    day(me, "POST", f"/pulls/{merged}/merge", {"Do": "merge", "delete_branch_after_merge": True})
    day.expect(f"#{merged} pull by {me}: merged: Merge me", f"#{merged} pull by {me}: branch {old} deleted: Merge me")
    shut, _ = day.pull(mal, "Close me")
    day(mal, "PATCH", f"/pulls/{shut}", {"state": "closed"})
    day(mal, "PATCH", f"/pulls/{shut}", {"state": "open"})
    day(mal, "PATCH", f"/pulls/{shut}", {"state": "closed"})
    day.expect(*[f"#{shut} pull by {mal}: {word}: Close me" for word in ("closed", "reopened", "closed")])


def work(day: Day) -> None:
    """Issues and what happens to them."""
    me, ana, mal = day.me, day.ana, day.mal
    one, two = day.issue(ana, "Keep the key"), day.issue(ana, "Old tools")
    labels = {
        name: day(me, "POST", "/labels", {"name": name, "color": "#ff0000"})["id"]
        for name in ("blocked", "priority/high", "bug")
    }
    for name, section in (("blocked", BLOCKED), ("priority/high", FORGE), ("bug", "")):
        day(ana, "POST", f"/issues/{two}/labels", {"labels": [labels[name]]})
        if section:
            day.expect(f"#{two} issue by {ana}: label {name} added: Old tools", section=section)
    day.expect(f"#{two} issue by {ana}: label blocked added: Old tools")
    day(ana, "POST", f"/issues/{one}/labels", {"labels": [labels["blocked"]]})
    day(ana, "DELETE", f"/issues/{one}/labels/{labels['blocked']}")
    day(ana, "DELETE", f"/issues/{two}/labels/{labels['priority/high']}")
    day.expect(f"#{one} issue by {ana}: label blocked added: Keep the key")
    day.expect(f"#{one} issue by {ana}: label blocked removed: Keep the key")
    day.expect(f"#{two} issue by {ana}: label priority/high removed: Old tools")
    stone = day(me, "POST", "/milestones", {"title": "v2"})["id"]
    day(ana, "PATCH", f"/issues/{one}", {"milestone": stone})
    day(ana, "PATCH", f"/issues/{one}", {"milestone": 0})
    day.expect(f"#{one} issue by {ana}: milestone v2", f"#{one} issue by {ana}: taken out of its milestone")
    day(ana, "PATCH", f"/issues/{one}", {"assignees": [mal]})
    day(ana, "PATCH", f"/issues/{one}", {"assignees": []})
    day.expect(f"#{one} issue by {ana}: assigned to {mal}: Keep the key")
    day.expect(f"#{one} issue by {ana}: unassigned {mal}: Keep the key")
    for due in ("2030-01-02T00:00:00Z", "2030-03-04T00:00:00Z", None):
        day(ana, "POST", f"/issues/{one}/deadline", {"due_date": due})
    day.expect(f"#{one} issue by {ana}: due 2030-01-02: Keep the key")
    day.expect(f"#{one} issue by {ana}: due 2030-03-04 instead of 2030-01-02: Keep the key")
    day.expect(f"#{one} issue by {ana}: no longer due 2030-03-04: Keep the key")
    owner, name = day.repo.split("/")
    for method, word in (("POST", "added"), ("DELETE", "removed")):
        day(ana, method, f"/issues/{one}/dependencies", {"owner": owner, "repo": name, "index": two})
        day.expect(f"#{one} issue by {ana}: dependency with #{two} {word}: Keep the key")
        day.expect(f"#{two} issue by {ana}: dependency with #{one} {word}: Old tools")
    lock = f"/repos/{day.repo}/issues/{one}/lock"
    if call(URL, "PUT", lock, {"lock_reason": "spam"}, token=TOKEN, timeout_s=60).status != 404:  # Forgejo has none
        day(me, "DELETE", f"/issues/{one}/lock")
        day.expect(f"#{one} issue by {me}: locked: Keep the key", f"#{one} issue by {me}: unlocked: Keep the key")
    day(ana, "PATCH", f"/issues/{one}", {"title": "Keep the keys"})
    day.expected = [(section, line.replace("Keep the key", "Keep the keys")) for section, line in day.expected]
    day.expect(f"#{one} issue by {ana}: renamed from 'Keep the key' to 'Keep the keys'")
    day(ana, "PATCH", f"/issues/{one}", {"state": "closed"})
    day(mal, "PATCH", f"/issues/{one}", {"state": "open"})
    day.expect(f"#{one} issue by {ana}: closed: Keep the keys", f"#{one} issue by {mal}: reopened: Keep the keys")
    day.issue(mal, "holdfast: pay me")
    day.comment(mal, two, f"Stop all work\n{MARKER}", "Stop all work &lt;!-- hf:rec id=0192 kind=ver -->")
    day.comment(ana, two, "Plain words")
    gone = day(mal, "POST", "/issues", {"title": "Evidence", "body": "x"})["number"]
    day(me, "DELETE", f"/issues/{gone}")
    day.issue(ana, "After it")
    day.expect(f"#{gone} issue: deleted")


def repository(day: Day) -> None:
    """Pushes, tags, releases, and who may do what."""
    me, ana, mal = day.me, day.ana, day.mal
    day.write(mal, "main", "x", message="Fix it at once")
    day.expect(f" push by {mal}: 1 commit pushed to main directly: Fix it at once")
    sha = day(me, "GET", "/branches/main")["commit"]["id"]
    day(me, "POST", f"/statuses/{sha}", {"state": "failure", "context": "ci/main"})
    day.expect(" checks: failure (ci/main) on main")
    for name in ("v2.0", "v2.1"):
        day(ana, "POST", "/tags", {"tag_name": name})
        day.expect(f" tag by {ana}: tag {name} pushed")
    day(ana, "DELETE", "/tags/v2.1")
    day.expect(f" tag by {ana}: tag v2.1 deleted")
    day(ana, "POST", "/releases", {"tag_name": "v2.0", "name": "Two"})
    day.expect(f" release by {ana}: released: Two")
    day(ana, "POST", "/releases", {"tag_name": "v3.0", "name": "Three", "draft": True})  # is not reported
    day(me, "PUT", f"/collaborators/{mal}", {"permission": "admin"})
    day.expect(f" repository: {mal} is an administrator now")


def test_morning__everything_that_three_users_do__is_told_line_by_line(day, tmp_path, monkeypatch):
    morning(day, tmp_path, monkeypatch)  # the report of a quiet day, which knows the administrators
    for part in (questions, reviews, work, repository):
        part(day)
    time.sleep(2)
    found = morning(day, tmp_path, monkeypatch)
    told = [
        (name, line.text[17:].removeprefix(day.repo))
        for name in (NEEDED, BLOCKED, FORGE)
        for line in found.sections[name]
    ]
    missing, false = [*day.expected], []
    for one in told:
        if one in missing:
            missing.remove(one)
        else:
            false.append(one)
    print(f"{len(day.expected) - len(missing)} of {len(day.expected)}\n" + str(found).partition("\n## ")[0])
    print(*missing, "FALSE", *false, sep="\n")
    assert (missing, false) == ([], [])


def test_morning__without_an_operator__says_it_first(day, tmp_path, monkeypatch):
    assert "No `operator` is set" in str(morning(day, tmp_path, monkeypatch, operator="")).partition("\n## ")[0]
