"""GitHub over its REST interface: comments on each issue that a flush changed, the day's events, and claim checks.

    [plugins.github]
    repository = "owner/name"           # where `#12` refers to; included in the morning report
    server = "https://github.com"       # or a GitHub Enterprise Server's address

A fine-grained token needs the permissions issues (read and write), pull requests, contents, checks and metadata (read).
It is in ``HOLDFAST_GITHUB_TOKEN``, ``GITHUB_TOKEN`` or ``GH_TOKEN``, or in the keyring (``holdfast auth set github``).
Requests for each repository: 1 per 100 issues, comments, line comments and events, 3 for pull requests, pushes and
releases, and for at most 20 changed pull requests 1 for reviews and 1 for checks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, ClassVar, Final
from urllib.parse import quote

from holdfast.errors import StorageError
from holdfast_app.outbox.forge import INCOMPLETE, Activity, Ask
from holdfast_app.outbox.trail import ANSWER, BLOCKED, PATIENCE_S, PRIORITY, IssueForge, Target, asked, row_text
from holdfast_keys.faults import Absent, Closed, stamp
from holdfast_keys.transport import Transport

if TYPE_CHECKING:
    from holdfast_app.outbox.forge import Item

#: Maximum pull requests whose reviews and checks are read, and maximum claims checked.
MOST: Final = 20
_PLAIN: Final = {
    "closed": "closed", "merged": "merged", "reopened": "reopened", "locked": "locked", "unlocked": "unlocked",
    "head_ref_force_pushed": "force-pushed", "head_ref_deleted": "branch deleted", "transferred": "transferred",
    "base_ref_changed": "target branch changed", "review_dismissed": "review dismissed",
    "convert_to_draft": "made a draft", "ready_for_review": "ready for review", "pinned": "pinned",
}  # fmt: skip
_VERDICTS: Final = {"APPROVED": "approved", "CHANGES_REQUESTED": "requested changes", "COMMENTED": "reviewed"}
_REVIEWS: Final = {
    "approved by": ("APPROVED",), "changes by": ("CHANGES_REQUESTED",), "reviewed by": tuple(_VERDICTS),
}  # fmt: skip
#: Events after which the work waits, and what withdraws them.
_WAITS: Final = {"assigned": "operator", "review_requested": ANSWER, "labeled": "blocked"}
_REVOKED: Final = {"unassigned": "assigned", "review_request_removed": "review_requested", "unlabeled": "labeled"}
_BAD: Final = ("failure", "timed_out", "cancelled", "action_required", "startup_failure")
_MARK: Final = "<!-- hf:rec id="
_moment = datetime.fromisoformat


class GitHub(IssueForge):
    """The plugin ``github``. Makes no request before a flush has something to publish."""

    title: ClassVar[str] = "GitHub"
    default_server: ClassVar[str] = "https://github.com"

    def check(self) -> str:
        """Check that the repositories are shown to this token. Raises: HoldfastError."""
        with self._open() as server:
            for name in self._repositories:
                server.get(f"/repos/{name}/issues", per_page=1)
            names = ", ".join(self._repositories)
            return f"{self._server} answers; {f'{names} can be read' if names else 'no repository is set'}"

    def facts(self, asks: Sequence[Ask], since: datetime) -> Mapping[Ask, Collection[str]]:
        """See :meth:`holdfast_app.outbox.forge.Forge.facts`."""
        facts: dict[Ask, Collection[str]] = {}
        with self._open() as server:
            for ask in asks[:MOST]:
                with suppress(StorageError):
                    target = self._target(ask.target)
                    known = self._of_work(server, target, ask.about, since) if target else self._of_name(server, ask)
                    if known is not None:
                        facts[ask] = known
        return facts

    def _of_work(self, server: Transport, target: Target, about: str, since: datetime) -> set[str] | None:
        repo = f"/repos/{target.repository}"
        try:
            issue = server.get(f"{repo}/issues/{target.number}").data
        except Absent:
            server.get(repo)  # it may be missing because the repository is
            return {"absent"} if about == "state" else None
        if about == "state":
            states = {_state(issue)}
            if _in(issue.get("closed_at"), since):
                states.add("open")
            if issue["state"] == "open" and _in(issue["updated_at"], since):
                states |= {e["event"] for e in server.rows(f"{repo}/issues/{target.number}/events")} & {"closed"}
            return states
        if about == "assigned to":
            return {user["login"] for user in issue.get("assignees") or ()}
        if about == "labels":
            return {_label(label) for label in issue["labels"]}
        if "pull_request" not in issue:
            return None
        if about == "merged by":
            return {_login(server.get(f"{repo}/pulls/{target.number}").data.get("merged_by"))} - {""} or None
        reviews = server.rows(f"{repo}/pulls/{target.number}/reviews")
        wanted = _REVIEWS.get(about)
        return {_login(review["user"]) for review in reviews if review["state"] in wanted} if wanted else None

    def _of_name(self, server: Transport, ask: Ask) -> set[str] | None:
        name = quote(ask.target, safe="")
        paths = {"branch": "branches", "tag": "git/ref/tags", "release": "releases/tags", "commit": "commits"}
        if ask.about == "user":
            path = f"/users/{name}"
        elif ask.about in paths and self._repository:
            server.get(f"/repos/{self._repository}")  # otherwise everything in it would be absent
            path = f"/repos/{self._repository}/{paths[ask.about]}/{name}"
        else:
            return None
        try:
            server.get(path)
        except Absent:
            return {"absent"} if ask.about in ("branch", "user") else None
        return {"present"}

    def _open(self) -> Transport:
        is_public = self._server == self.default_server
        return self.connect(
            "https://api.github.com" if is_public else self._server,
            path="" if is_public else "/api/v3",
            timeout_s=self._timeout_s,
            patience_s=PATIENCE_S,
            insecure_http=self._insecure_http,
            scopes="the permissions issues (read and write), pull requests, contents, checks and metadata (read)",
        )

    def _login(self, server: Any) -> str:
        return _login(server.get("/user").data)

    def _comment(self, server: Any, target: Target, item: Item) -> tuple[str, str]:
        repo = f"/repos/{target.repository}"
        path = f"{repo}/issues/{target.number}/comments"
        rows = server.rows(path, since=stamp(item.at - timedelta(hours=1)), per_page=100)  # clocks differ
        comment = next((row for row in rows if f"{_MARK}{item.id} " in (row["body"] or "").rpartition("\n")[2]), None)
        if comment is None:
            # Tried once: after a lost answer, a lagging replica may not show it yet. The outbox searches again later.
            made = server.once("POST", path, send={"body": item.body}).data
            comment = server.get(f"{repo}/issues/comments/{made['id']}").data
        return comment["html_url"], comment["body"]

    def _events(self, server: Any, name: str, since: datetime, until: datetime, me: str) -> Iterator[Activity]:
        day = _Day(server, name, since, until, self._operator or me, me)
        yield from day.issues()
        yield from day.comments()
        for part, what, scope in (
            (day.pulls, "Reviews and checks", "pull requests` and `checks"),
            (day.pushes, "Pushes and releases", "contents"),
        ):
            try:
                yield from part()
            except (Absent, Closed):
                text = f"{what} of {name} are missing, because the token lacks `{scope}`."
                yield Activity(INCOMPLETE, name, f"{self._server}/{name}", text, until)


class _Day:
    """A repository's events between two moments. ``operator`` reads the report; ``me`` is the token's user."""

    def __init__(self, server: Transport, name: str, since: datetime, until: datetime, operator: str, me: str) -> None:
        self._server, self._name, self._since, self._until = server, name, since, until
        self._operator, self._me = operator, me
        self._changed: dict[int, Mapping[str, Any]] = {}

    def issues(self) -> Iterator[Activity]:
        """New issues and pull requests, and events on them."""
        path, since = f"/repos/{self._name}/issues", stamp(self._since)
        for row in self._server.rows(path, state="all", since=since, per_page=100):
            self._changed[row["number"]] = row
            if self._now(row["created_at"]):
                waits = asked(row.get("body") or "", _login(row["user"]), self._operator)
                yield self._of(row, f"opened: {row['title']}", row["created_at"], row["user"], waits)
        seen: set[tuple[object, ...]] = set()
        for event in self._server.rows(f"/repos/{self._name}/issues/events", per_page=100):
            if _moment(event["created_at"]) < self._since:
                return  # the newest come first
            issue = event.get("issue")
            line = self._said(event, issue) if issue and self._now(event["created_at"]) else ""
            if issue and line:
                kind, label = event["event"], _label(event.get("label") or "")
                whom = _login(event.get("assignee") or event.get("requested_reviewer"))
                about = (issue["number"], _REVOKED.get(kind, kind), whom, label)
                may_wait = issue["state"] == "open" and (BLOCKED.search(label) or self._is_operator(whom))
                waits = _WAITS.get(kind, "") if may_wait and about not in seen else ""
                seen.add(about)
                yield self._of(issue, line, event["created_at"], event["actor"], waits)

    def comments(self) -> Iterator[Activity]:
        """Comments, and comments on lines."""
        for path in ("issues", "pulls"):
            for row in self._server.rows(
                f"/repos/{self._name}/{path}/comments", since=stamp(self._since), per_page=100
            ):
                body, author = row["body"] or "", _login(row["user"])
                is_own = author == self._me and _MARK in body and " kind=trail " in body
                waits = "" if is_own else asked(body, author, self._operator)
                at = row["created_at"] if self._now(row["created_at"]) else row["updated_at"]
                if self._now(row["created_at"]) or (waits and self._now(at)):
                    number = (row.get("issue_url") or row["pull_request_url"]).rpartition("/")[2]
                    text = body.split("\n\n", 1)[0] if is_own else body
                    yield self._line("comment", number, row["html_url"], text, at, author, waits)._replace(own=is_own)

    def pulls(self) -> Iterator[Activity]:
        """Reviews and failed checks. Raises: Absent, Closed."""
        repo = f"/repos/{self._name}"
        changed = [(number, row) for number, row in self._changed.items() if "pull_request" in row][-MOST:]
        for number, row in changed:
            reviews = [*self._server.rows(f"{repo}/pulls/{number}/reviews", per_page=100)]
            last = {_login(row["user"]): row for row in reviews if row["state"] in ("APPROVED", "CHANGES_REQUESTED")}
            for review in reviews:
                verdict, author = _VERDICTS.get(review["state"], ""), _login(review["user"])
                if verdict and self._now(review.get("submitted_at")) and (review["body"] or verdict != "reviewed"):
                    mine = self._is_operator(_login(row["user"])) and row["state"] == "open"
                    wanted = mine and verdict == "requested changes" and last[author] is review
                    waits = "operator" if wanted else asked(review["body"], author, self._operator)
                    text = f"{verdict}: {review['body']}" if review["body"] else verdict
                    yield self._line("review", number, review["html_url"], text, review["submitted_at"], author, waits)
        newest = self._server.get(f"{repo}/pulls", state="open", sort="updated", direction="desc", per_page=MOST).data
        for pull in newest:
            if not _in(pull["updated_at"], self._since):
                continue
            runs = self._server.get(f"{repo}/commits/{pull['head']['sha']}/check-runs", per_page=100).data["check_runs"]
            if bad := [run for run in runs if run["conclusion"] in _BAD and self._now(run["completed_at"])]:
                text = f"checks failed: {', '.join(run['name'] for run in bad)}"
                waits = "operator" if self._is_operator(_login(pull["user"])) else ""
                at = max(run["completed_at"] for run in bad)
                yield self._line("checks", pull["number"], pull["html_url"], text, at, "", waits)

    def pushes(self) -> Iterator[Activity]:
        """Releases, pushes to the default branch, force pushes and deleted branches. Raises: Absent, Closed."""
        repo = f"/repos/{self._name}"
        for row in self._server.get(f"{repo}/releases", per_page=30).data:
            if self._now(row["published_at"]):
                text, url = row_text(f"released: {row['name'] or row['tag_name']}"), row["html_url"]
                yield Activity("release", self._name, url, text, _moment(row["published_at"]), _login(row["author"]))
        here = self._server.get(repo).data
        for row in self._server.rows(f"{repo}/activity", time_period="week", per_page=100):
            branch, kind = row["ref"].removeprefix("refs/heads/"), row["activity_type"]
            is_push = kind in ("push", "force_push") and branch == here["default_branch"]
            if self._now(row["timestamp"]) and (is_push or kind == "branch_deletion"):
                what = {"push": "pushed directly", "force_push": "force-pushed"}.get(kind, "deleted")
                url, text = f"{here['html_url']}/commits/{branch}", row_text(f"branch {branch} {what}")
                yield Activity("push", self._name, url, text, _moment(row["timestamp"]), _login(row["actor"]))

    def _said(self, event: Mapping[str, Any], issue: Mapping[str, Any]) -> str:
        """A line for an event, empty if no report shows it."""
        kind, label = event["event"], _label(event.get("label") or "")
        if kind in ("labeled", "unlabeled") and (BLOCKED.search(label) or PRIORITY.search(label)):
            return f"label {label} {'added' if kind == 'labeled' else 'removed'}: {issue['title']}"
        if kind in ("assigned", "unassigned"):
            return f"{kind} {'to' if kind == 'assigned' else 'from'} {_login(event.get('assignee'))}: {issue['title']}"
        if kind in ("review_requested", "review_request_removed"):
            whom = _login(event.get("requested_reviewer")) or "a team"
            change = f"requested from {whom}" if kind == "review_requested" else f"request to {whom} withdrawn"
            return f"review {change}: {issue['title']}"
        if kind == "renamed":
            return f"renamed from {event['rename']['from']!r} to {event['rename']['to']!r}"
        if kind in ("milestoned", "demilestoned"):
            return f"{kind}: {event['milestone']['title']}"
        if kind == "closed" and _state(issue) == "merged":
            return ""  # it has an event of its own
        return f"{_PLAIN[kind]}: {issue['title']}" if kind in _PLAIN else ""

    def _of(self, issue: Mapping[str, Any], text: str, at: str, by: Any, waits: str) -> Activity:
        kind = "pull" if "pull_request" in issue else "issue"
        return self._line(kind, issue["number"], issue["html_url"], text, at, _login(by), waits)

    def _line(self, kind: str, number: object, url: str, text: str, at: str, by: str, waits: str) -> Activity:
        return Activity(kind, f"{self._name}#{number}", url, row_text(text), _moment(at), by, waits)

    def _is_operator(self, login: str) -> bool:
        return bool(login) and login.casefold() == self._operator.casefold()

    def _now(self, at: str | None) -> bool:
        return at is not None and self._since <= _moment(at) <= self._until


def _in(text: str | None, since: datetime) -> bool:
    return text is not None and _moment(text) >= since


def _login(user: Mapping[str, Any] | None) -> str:
    return str(user["login"]) if user else ""


def _label(label: Any) -> str:
    return label if isinstance(label, str) else str(label.get("name") or "")


def _state(issue: Mapping[str, Any]) -> str:
    return "merged" if (issue.get("pull_request") or {}).get("merged_at") else str(issue["state"])
