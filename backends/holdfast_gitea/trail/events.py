"""The events in a repository between two moments: issues and pull requests, comments, reviews, releases.

Requests for one repository: 1 for each 50 changed issues, 1 for each 50 comments, 1 for releases, 1 for each
changed issue's timeline and 1 for each changed pull request's timeline and reviews, at most :data:`MOST_DETAILED` of
each. Review verdicts and releases need the scope ``read:repository`` and are left out without it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Final

from holdfast.text.plain import one_line
from holdfast_app.outbox.forge import Activity
from holdfast_gitea import marker
from holdfast_gitea.wire import models, pages
from holdfast_gitea.wire.client import Repo
from holdfast_gitea.wire.faults import Absent, Closed, garbled
from holdfast_gitea.wire.models import Comment, Issue, text
from holdfast_gitea.wire.pages import PAGE, PAGES, since_of, stamp

#: Issues and pull requests whose timeline is read, the newest first. Of others only the list's events are shown.
MOST_DETAILED: Final = 50
#: Maximum number of comments shown individually for an issue. The rest are counted in one line.
MOST_COMMENTS: Final = 5
_LONGEST: Final = 200
#: Title prefix of a store's issues, which are not work.
_STORE: Final = "holdfast:"
_BLOCKED: Final = re.compile(r"\b(block(ed|er|ing)?|on[ -]?hold|stalled|waiting)\b", re.IGNORECASE)
_VERDICTS: Final = {"APPROVED": "approved", "REQUEST_CHANGES": "requested changes", "COMMENT": "reviewed"}
_QUOTED: Final = re.compile(r"(?s)```.*?```|`[^`\n]*`|(?m:^>.*$)")


def of(repo: Repo, since: datetime, until: datetime, operator: str = "") -> Iterator[Activity]:
    """The events, in no particular order. Every string is one line of at most 200 characters.

    ``operator`` is the report reader's login, empty if unknown. Raises: Unavailable.
    """
    issues = [one for one in repo.issues(kind="all", since=since)[0] if not one.title.startswith(_STORE)]
    detailed = {one.number for one in sorted(issues, key=lambda one: one.updated_at, reverse=True)[:MOST_DETAILED]}
    for issue in issues:
        yield from _of_issue(repo, issue, since, until, operator, detailed=issue.number in detailed)
    by_issue: dict[int, list[Comment]] = {}
    known: set[str] = set()
    for comment in repo.activity(since, until):
        found = (marker.fields(comment.body) or {}).get("id", "")
        if found in known:  # a late duplicate from a writer that gave up and retried; only the first counts
            continue
        known |= {found} - {""}
        if _said(comment) and since <= comment.created_at <= until:
            by_issue.setdefault(comment.issue, []).append(comment)
    for number, comments in by_issue.items():
        yield from _of_comments(f"{repo.name}#{number}", comments, operator)
    try:  # takes `read:repository`
        for row in models.many(repo.get("/releases", draft="false", page=1, limit=PAGE).data):
            at = models.moment(models.table(row), "published_at")
            if since <= at <= until:
                name = _line(f"released: {text(row, 'name') or text(row, 'tag_name')}")
                yield Activity("release", repo.name, text(row, "html_url"), name, at, text(row, "author", "login"))
    except (Absent, Closed):
        return


def _of_issue(
    repo: Repo, issue: Issue, since: datetime, until: datetime, operator: str, *, detailed: bool
) -> Iterator[Activity]:
    kind = "pull" if issue.is_pull else "issue"
    target = f"{repo.name}#{issue.number}"
    if since <= issue.created_at <= until:
        yield Activity(kind, target, issue.url, _line(f"opened: {issue.title}"), issue.created_at, issue.author)
    ended = False
    for row in _timeline(repo, issue.number, since, until) if detailed else ():
        at = models.moment(row, "created_at")
        if since <= at <= until and (described := _of_event(row, issue, operator)):
            line, waits = described
            ended = ended or row.get("type") in ("close", "merge_pull")
            what = "review" if row.get("type") in ("review", "review_request") else kind
            author, url = text(row, "user", "login"), text(row, "html_url") or issue.url
            yield Activity(what, target, url, _line(line), at, author, waits)
    if not ended and issue.closed_at is not None and since <= issue.closed_at <= until:
        line = f"{'merged' if issue.merged else 'closed'}: {issue.title}"
        yield Activity(kind, target, issue.url, _line(line), issue.closed_at)
    if detailed and issue.is_pull:
        try:  # takes `read:repository`
            reviews = models.many(repo.get(f"/pulls/{issue.number}/reviews", limit=PAGE).data)
        except (Absent, Closed):
            return
        for row in map(models.table, reviews):
            at = models.moment(row, "submitted_at")
            if since <= at <= until and text(row, "state") in _VERDICTS:
                author = text(row, "user", "login")
                yield Activity("review", target, text(row, "html_url"), _line(_verdict(row)), at, author)


def _of_event(row: Mapping[str, object], issue: Issue, operator: str) -> tuple[str, str] | None:
    """An event's description and who waits for whom, None for unreported kinds of events."""
    kind, removed = text(row, "type"), row.get("removed_assignee") is True
    who = text(row, "assignee", "login") or text(row, "assignee_team", "name")
    if word := {"close": "closed", "reopen": "reopened", "merge_pull": "merged"}.get(kind):
        return f"{word}: {issue.title}", ""
    if kind == "review_request":
        if removed:
            return f"review request to {who} withdrawn: {issue.title}", ""
        is_asked = bool(operator) and who.casefold() == operator.casefold() and issue.is_open
        return f"review requested from {who}: {issue.title}", "operator" if is_asked else ""
    if kind == "assignees":
        return f"{'unassigned' if removed else 'assigned to'} {who}: {issue.title}", ""
    if kind == "milestone":
        milestone = text(row, "milestone", "title")
        return (f"milestone {milestone}" if milestone else "taken out of its milestone"), ""
    if kind == "change_title":
        return f"renamed from {text(row, 'old_title')!r} to {text(row, 'new_title')!r}", ""
    label = text(row, "label", "name")
    if kind == "label" and _BLOCKED.search(label):
        was_added = bool(text(row, "body"))
        is_blocked = was_added and issue.is_open and label in issue.labels
        return f"label {label} {'added' if was_added else 'removed'}: {issue.title}", "blocked" if is_blocked else ""
    return None


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


def _of_comments(target: str, comments: list[Comment], operator: str) -> Iterator[Activity]:
    """Up to :data:`MOST_COMMENTS` one by one, more as a count. A question to the operator is always shown."""
    rest: list[Comment] = []
    many = len(comments) > MOST_COMMENTS
    for one in comments:
        asks = _asks(one, operator)
        if asks or not many:
            waits = "operator" if asks else ""
            yield Activity("comment", target, one.url, _said(one), one.created_at, one.author, waits, _is_trail(one))
        else:
            rest.append(one)
    if rest:
        last = rest[-1]
        counts = Counter(one.author for one in rest).most_common()
        authors = ", ".join(f"{author} ({count})" for author, count in counts[:5])
        authors += f" and {len(counts) - 5} more" if counts[5:] else ""
        said = f"{len(rest)} comments by {authors}; the last one: {_said(last)}"
        yield Activity("comment", target, last.url, _line(said), last.created_at)


def _asks(comment: Comment, operator: str) -> bool:
    """Whether the comment mentions the operator and holds a question, outside of code and quotations."""
    if not operator or _is_trail(comment) or comment.author.casefold() == operator.casefold():
        return False
    prose = _QUOTED.sub(" ", comment.body)
    return "?" in prose and re.search(rf"(?i)(?<![\w@.-])@{re.escape(operator)}(?![\w-])", prose) is not None


def _is_trail(comment: Comment) -> bool:
    return (marker.fields(comment.body) or {}).get("kind") == "trail"


def _said(comment: Comment) -> str:
    """A comment's text for people, empty for a store's record."""
    found = marker.fields(comment.body)
    if found is None:
        return _line(comment.body)
    if found.get("kind") != "trail":
        return ""
    return _line(comment.body.split("\n\n", 1)[0])


def _line(words: str) -> str:
    words = one_line(words)
    return words if len(words) <= _LONGEST else words[: _LONGEST - 1].rstrip() + "…"


def _timeline(repo: Repo, number: int, since: datetime, until: datetime) -> list[Mapping[str, object]]:
    """Events and comments of an issue that changed in the window, oldest first. The server's count is the page's, so a
    page that is not full is the last. Raises: Unavailable."""
    found: list[Mapping[str, object]] = []
    window = {**since_of(since), "before": stamp(until)}
    for page in range(1, PAGES):
        some = pages.page(repo.get, f"/issues/{number}/timeline", page, **window).rows
        found += [models.table(row) for row in some if row is not None]
        if len(some) < PAGE:
            return found
    raise garbled("the timeline does not end")
