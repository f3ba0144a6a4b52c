"""The events in a repository between two moments: issues and pull requests, comments, reviews, pushes, releases.

Requests for one repository: 1 for each 50 changed issues, 1 for each 50 comments, 1 for releases, 3 for pushes,
tags and checks, 1 for each changed issue's timeline, and for each changed pull request 1 for the timeline, 1 for
reviews, 1 for each review with line comments, and 2 for its checks while it is open. At most :data:`MOST_DETAILED`
issues. Without the scope ``read:repository`` an event says so. For administrators 1, and 1 for each collaborator, if
the token is an administrator's.
"""

import itertools
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Final
from urllib.parse import quote

from holdfast.errors import StorageError
from holdfast.fs import durable, private
from holdfast.text.humanize import count
from holdfast_app.outbox.forge import INCOMPLETE, Activity
from holdfast_app.outbox.trail import ANSWER, BLOCKED, PRIORITY, asked, row_text
from holdfast_gitea import marker
from holdfast_gitea.wire import models
from holdfast_gitea.wire.client import Repo
from holdfast_gitea.wire.models import PAGE, PAGES, Issue, garbled, since_of, text
from holdfast_keys.faults import Absent, Closed, stamp

#: Issues and pull requests whose timeline is read, the newest first. Of others only the list's events are shown.
MOST_DETAILED: Final = 50
#: Collaborators whose rights are read, and the private file with those known to be administrators.
_COLLABORATORS: Final = 20
#: Title prefix of a store's issues, which are not work.
_STORE: Final = "holdfast:"
#: Kinds of timeline events -> their text, with the row's body and references.
_PLAIN: Final = {
    "close": "closed",
    "reopen": "reopened",
    "merge_pull": "merged",
    "dismiss_review": "review dismissed: {body}",
    "change_target_branch": "target changed from {old_ref} to {new_ref}",
    "added_deadline": "due {body}",
    "modified_deadline": "due {new} instead of {old}",
    "removed_deadline": "no longer due {body}",
    "lock": "locked",
    "unlock": "unlocked",
    "delete_branch": "branch {old_ref} deleted",
    "add_dependency": "dependency with #{dependent} added",
    "remove_dependency": "dependency with #{dependent} removed",
    "pull_push": "{pushed}",
}
_FORCED: Final = "force-pushed"
_BINDING: Final = ("APPROVED", "REQUEST_CHANGES")
_VERDICTS: Final = {"APPROVED": "approved", "REQUEST_CHANGES": "requested changes", "COMMENT": "reviewed"}


def of(repo: Repo, since: datetime, until: datetime, operator: str = "", me: str = "") -> Iterator[Activity]:
    """The events, in no particular order. Every string is one line of at most 200 characters.

    ``operator`` is the report reader's login, empty if unknown; ``me`` the token's. Raises: Unavailable.
    """
    # Anyone can write such a title. Only the token's own issues are the store's.
    changed = repo.issues(since=since, pulls=True)[0]
    for before, after in itertools.pairwise(issue for issue in changed if since <= issue.created_at <= until):
        for number in range(before.number + 1, after.number):  # the server leaves no gaps
            yield Activity("issue", f"{repo.name}#{number}", f"{repo.url}/issues", "deleted", after.created_at)
    issues = [issue for issue in changed if not (issue.title.startswith(_STORE) and me in ("", issue.author))]
    newest = sorted(issues, key=lambda issue: issue.updated_at, reverse=True)[:MOST_DETAILED]
    for issue in issues:
        yield from _of_issue(repo, issue, since, until, operator, detailed=issue in newest)
    known: set[str] = set()
    for comment in repo.activity(since, until):
        fields = marker.fields(comment.body) or {}
        if fields.get("id", "") in known:  # a late duplicate from a writer that gave up and retried
            continue
        known |= {fields.get("id", "")} - {""}
        # A record of the token's store says nothing to people. Anyone can write a marker.
        kind = fields.get("kind", "") if me in ("", comment.author) else ""
        is_trail, is_record = kind == "trail", bool(fields) and me in ("", comment.author) and kind != "trail"
        line = row_text(comment.body.split("\n\n", 1)[0] if is_trail else "" if is_record else comment.body)
        waits = "" if is_trail else asked(comment.body, comment.author, operator)
        is_edit = comment.was_edited and bool(waits)
        if line and (is_edit or since <= comment.created_at <= until):
            line, at = (f"edited: {line}", comment.updated_at) if is_edit else (line, comment.created_at)
            target = f"{repo.name}#{comment.issue}"
            yield Activity("comment", target, comment.url, row_text(line), at, comment.author, waits, is_trail)
    try:  # takes `read:repository`
        for row in repo.rows("/releases", draft="false"):
            at = models.moment(row, "published_at")
            if since <= at <= until:
                name = row_text(f"released: {text(row, 'name') or text(row, 'tag_name')}")
                yield Activity("release", repo.name, text(row, "html_url"), name, at, text(row, "author", "login"))
        yield from _pushes(repo, since, until)
    except (Absent, Closed) as error:
        why = "the token lacks `read:repository`" if isinstance(error, Closed) else "the server has none"
        what = f"Reviews, checks, releases, tags and pushes of {repo.name} are missing, because {why}."
        yield Activity(INCOMPLETE, repo.name, repo.url, what, until)


def administrators(repo: Repo, me: str, state: str, since: datetime, until: datetime) -> Iterator[Activity]:
    """New administrators other than ``me``. The server does not say since when, so the first report that sees one
    notes it in the private folder ``state``."""
    path = os.path.join(private.make(state), "forge-admins.json")
    seen = private.table(path)
    before = seen.get(repo.url)
    now: dict[str, str] = {}
    with suppress(StorageError):  # a report can do without them
        listed = models.page(repo.get, "/collaborators", 1).data[:_COLLABORATORS]
        for login in sorted({text(row, "login") for row in listed} - {me}):
            if text(repo.get(f"/collaborators/{quote(login)}/permission").data, "permission") == "admin":
                now[login] = before.get(login, until.isoformat()) if isinstance(before, dict) else ""
        if now != before:
            durable.replace(path, json.dumps({**seen, repo.url: now}).encode())
    for login, at in now.items():
        if at and since <= (first := datetime.fromisoformat(at)) <= until:
            yield Activity("repository", repo.name, repo.url, f"{login} is an administrator now", first)


def _pushes(repo: Repo, since: datetime, until: datetime) -> Iterator[Activity]:
    """Tags, and the default branch's checks and pushes other than merges. Raises: Absent, Closed."""
    about = models.table(repo.get("").data)
    default = "" if about.get("empty") else text(about, "default_branch")  # Forgejo fails for a branch without commits
    yield from _checks(repo, default, repo.name, repo.url, f" on {default}", since, until)
    for row in repo.rows("/activities/feeds"):
        at, kind, ref = models.moment(row, "created"), text(row, "op_type"), text(row, "ref_name")
        if not since <= at <= until:
            continue
        name, author = ref.removeprefix("refs/heads/"), text(row, "act_user", "login")
        url = f"{repo.url}/commits/branch/{name}"
        if word := {"push_tag": "pushed", "delete_tag": "deleted"}.get(kind):
            yield Activity("tag", repo.name, repo.url, f"tag {ref.rpartition('/')[2]} {word}", at, author)
        elif kind == "commit_repo" and name == default and (messages := _messages(text(row, "content"))):
            line = row_text(f"{count(len(messages), 'commit')} pushed to {name} directly: {messages[0]}")
            yield Activity("push", repo.name, url, line, at, author)


def _messages(content: str) -> list[str]:
    """First lines of a push's commits; none for a merge."""
    try:
        lines = [str(commit["Message"]).partition("\n")[0] for commit in json.loads(content).get("Commits") or []]
    except (ValueError, TypeError, KeyError, AttributeError):
        return []
    return [] if any(line.startswith("Merge pull request") for line in lines) else lines


def _of_issue(
    repo: Repo, issue: Issue, since: datetime, until: datetime, operator: str, *, detailed: bool
) -> Iterator[Activity]:
    kind = "pull" if issue.is_pull else "issue"
    target = f"{repo.name}#{issue.number}"
    if since <= issue.created_at <= until:
        waits, line = asked(issue.body, issue.author, operator), row_text(f"opened: {issue.title}")
        yield Activity(kind, target, issue.url, line, issue.created_at, issue.author, waits)
    ended = False
    rows = timeline(repo, issue.number, since, until) if detailed else []
    # The server notes the commits that a pull request was opened with as a push, some seconds later.
    opening = next((row for row in rows if row.get("type") == "pull_push" and issue.created_at >= since), None)
    if opening is not None and _pushed(text(opening, "body")) == _FORCED:
        opening = None  # it replaces the earlier notes
    last = {_about(row): row for row in rows}
    for row in rows:
        at = models.moment(row, "created_at")
        if row is not opening and since <= at <= until and (described := _of_event(row, issue, operator)):
            line, waits = described
            waits = waits if last[_about(row)] is row else ""  # asked again, or withdrawn
            ended = ended or row.get("type") in ("close", "merge_pull")
            what = "review" if row.get("type") in ("review", "review_request") else kind
            author, url = text(row, "user", "login"), text(row, "html_url") or issue.url
            yield Activity(what, target, url, row_text(line), at, author, waits)
    if not ended and issue.closed_at is not None and since <= issue.closed_at <= until:
        line = f"{'merged' if issue.merged else 'closed'}: {issue.title}"
        yield Activity(kind, target, issue.url, row_text(line), issue.closed_at)
    if detailed and issue.is_pull:
        try:  # takes `read:repository`
            yield from _reviews(repo, issue, since, until, operator)
            if issue.is_open:
                commit = text(repo.get(f"/pulls/{issue.number}").data, "head", "sha")
                yield from _checks(repo, commit, target, issue.url, f": {issue.title}", since, until)
        except (Absent, Closed):
            return  # said once for the repository


def _reviews(repo: Repo, issue: Issue, since: datetime, until: datetime, operator: str) -> Iterator[Activity]:
    path, target = f"/pulls/{issue.number}/reviews", f"{repo.name}#{issue.number}"
    rows = [*repo.rows(path)]
    binding = (row for row in rows if row.get("state") in _BINDING and row.get("dismissed") is not True)
    verdicts = {text(row, "user", "login"): row for row in binding}
    for row in rows:
        at, author, state = models.moment(row, "submitted_at"), text(row, "user", "login"), text(row, "state")
        if not since <= at <= until or state not in _VERDICTS:
            continue
        mine = bool(operator) and issue.author.casefold() == operator.casefold()
        wanted = mine and issue.is_open and verdicts.get(author) is row and state == "REQUEST_CHANGES"
        bodies = [text(row, "body")]
        if row.get("comments_count"):
            comments = models.many(repo.get(f"{path}/{row['id']}/comments").data)
            bodies += [text(models.table(comment), "body") for comment in comments]
        waits = "operator" if wanted else max(asked(body, author, operator) for body in bodies)
        yield Activity("review", target, text(row, "html_url"), row_text(_verdict(row)), at, author, waits)


def _checks(
    repo: Repo, commit: str, target: str, url: str, what: str, since: datetime, until: datetime
) -> Iterator[Activity]:
    """A commit's or branch's checks, when one reported in the window."""
    status = models.table(repo.get(f"/commits/{quote(commit)}/status").data) if commit else {}
    rows = [models.table(row) for row in models.many(status.get("statuses") or [])]
    if times := [at for row in rows if since <= (at := models.moment(row, "updated_at")) <= until]:
        bad = ", ".join(text(row, "context") for row in rows if text(row, "status") in ("failure", "error"))
        line = text(status, "state") + (f" ({bad})" if bad else "") + what
        yield Activity("checks", target, url, row_text(line), max(times))


def _of_event(row: Mapping[str, object], issue: Issue, operator: str) -> tuple[str, str] | None:
    """An event's description and who waits for whom, None for unreported kinds of events."""
    kind, removed = text(row, "type"), row.get("removed_assignee") is True
    who = text(row, "assignee", "login") or text(row, "assignee_team", "name")
    if kind == "review_request":
        if removed:
            return f"review request to {who} withdrawn: {issue.title}", ""
        is_asked = bool(operator) and who.casefold() == operator.casefold() and issue.is_open
        return f"review requested from {who}: {issue.title}", ANSWER if is_asked else ""
    if kind == "assignees":
        is_mine = bool(operator) and who.casefold() == operator.casefold() and issue.is_open and not removed
        return f"{'unassigned' if removed else 'assigned to'} {who}: {issue.title}", "operator" if is_mine else ""
    if kind in _PLAIN:
        fields = {name: text(row, name) for name in ("body", "old_ref", "new_ref")}
        fields["new"], _, fields["old"] = fields["body"].partition("|")
        dependent = models.table(row.get("dependent_issue") or {}).get("number")
        what = _PLAIN[kind].format(**fields, dependent=dependent, pushed=_pushed(fields["body"]))
        return f"{what.rstrip(': ')}: {issue.title}", ""
    if kind == "milestone":
        milestone = text(row, "milestone", "title")
        return (f"milestone {milestone}" if milestone else "taken out of its milestone"), ""
    if kind == "change_title":
        return f"renamed from {text(row, 'old_title')!r} to {text(row, 'new_title')!r}", ""
    label = text(row, "label", "name")
    if kind == "label" and (BLOCKED.search(label) or PRIORITY.search(label)):
        was_added = bool(text(row, "body"))
        is_blocked = was_added and BLOCKED.search(label) and issue.is_open
        return f"label {label} {'added' if was_added else 'removed'}: {issue.title}", "blocked" if is_blocked else ""
    return None


def _about(row: Mapping[str, object]) -> tuple[str, ...]:
    """What an event sets and another one of the same kind takes back."""
    return text(row, "type"), text(row, "assignee", "login"), text(row, "label", "name")


def _pushed(body: str) -> str:
    """A push to a pull request's branch."""
    with suppress(ValueError, TypeError, KeyError):
        row = json.loads(body)
        return _FORCED if row["is_force_push"] else f"{count(len(row['commit_ids']), 'commit')} pushed"
    return "commits pushed"


def _verdict(row: Mapping[str, object]) -> str:
    parts = [_VERDICTS[text(row, "state")]]
    if row.get("state") == "APPROVED" and text(row, "commit_id"):
        parts.append(f"at {text(row, 'commit_id')[:10]}")
    comments = row.get("comments_count")
    if isinstance(comments, int) and comments:
        parts.append(f"with {comments} line comment{'s' if comments > 1 else ''}")
    if row.get("dismissed") is True or row.get("stale") is True:
        parts.append("(dismissed)" if row.get("dismissed") is True else "(of an earlier state)")
    return " ".join(parts) + (f": {text(row, 'body')}" if text(row, "body").strip() else "")


def timeline(repo: Repo, number: int, since: datetime, until: datetime | None) -> list[Mapping[str, object]]:
    """Events and comments of an issue that changed in the window, oldest first. The server's count is the page's, so a
    page that is not full is the last. Raises: Unavailable."""
    rows: list[Mapping[str, object]] = []
    window = {**since_of(since), **({"before": stamp(until)} if until else {})}
    for page in range(1, PAGES):
        some = models.page(repo.get, f"/issues/{number}/timeline", page, **window).data
        rows += [models.table(row) for row in some if row is not None]
        if len(some) < PAGE:
            return rows
    raise garbled("the timeline does not end")
