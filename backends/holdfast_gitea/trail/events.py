"""The events in a repository between two moments: issues and pull requests, comments, reviews, releases.

Requests for one repository: 1 for each 50 changed issues, 1 for each 50 comments, 1 for releases, 1 for each
changed issue's timeline and 1 for each changed pull request's timeline and reviews, at most :data:`MOST_DETAILED` of
each. Review verdicts and releases need the scope ``read:repository`` and are left out without it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Final

from holdfast.text.plain import one_line
from holdfast_app.outbox.forge import Activity
from holdfast_gitea import marker
from holdfast_gitea.wire import models, pages
from holdfast_gitea.wire.client import Repo
from holdfast_gitea.wire.faults import Absent, Closed, garbled
from holdfast_gitea.wire.models import Comment, Event, Issue, Review
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
    try:
        for name, author, url, at in _releases(repo):
            if since <= at <= until:
                yield Activity("release", repo.name, url, _line(f"released: {name}"), at, author)
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
    for event in _timeline(repo, issue.number, since, until) if detailed else ():
        if since <= event.at <= until and (told := _of_event(event, issue, operator)):
            text, waits = told
            ended = ended or event.kind in ("close", "merge_pull")
            what = "review" if event.kind in ("review", "review_request") else kind
            yield Activity(what, target, event.url or issue.url, _line(text), event.at, event.author, waits)
    if not ended and issue.closed_at is not None and since <= issue.closed_at <= until:
        text = f"{'merged' if issue.merged else 'closed'}: {issue.title}"
        yield Activity(kind, target, issue.url, _line(text), issue.closed_at)
    if detailed and issue.is_pull:
        try:
            reviews = _reviews(repo, issue.number)
        except (Absent, Closed):
            return
        for review in reviews:
            if since <= review.at <= until and review.state in _VERDICTS:
                yield Activity("review", target, review.url, _line(_verdict(review)), review.at, review.author)


def _of_event(event: Event, issue: Issue, operator: str) -> tuple[str, str] | None:
    """An event's description and who waits for whom, None for unreported kinds of events."""
    who = event.assignee
    if event.kind in ("close", "reopen", "merge_pull"):
        word = {"close": "closed", "reopen": "reopened", "merge_pull": "merged"}[event.kind]
        return f"{word}: {issue.title}", ""
    if event.kind == "review_request":
        if event.removed:
            return f"review request to {who} withdrawn: {issue.title}", ""
        is_asked = bool(operator) and who.casefold() == operator.casefold() and issue.is_open
        return f"review requested from {who}: {issue.title}", "operator" if is_asked else ""
    if event.kind == "assignees":
        return f"{'unassigned' if event.removed else 'assigned to'} {who}: {issue.title}", ""
    if event.kind == "milestone":
        return (f"milestone {event.milestone}" if event.milestone else "taken out of its milestone"), ""
    if event.kind == "change_title":
        return f"renamed from {event.old_title!r} to {event.new_title!r}", ""
    if event.kind == "label" and _BLOCKED.search(event.label):
        is_blocked = bool(event.body) and issue.is_open and any(one.name == event.label for one in issue.labels)
        return f"label {event.label} {'added' if event.body else 'removed'}: {issue.title}", (
            "blocked" if is_blocked else ""
        )
    return None


def _verdict(review: Review) -> str:
    parts = [_VERDICTS[review.state]]
    if review.state == "APPROVED" and review.commit:
        parts.append(f"at {review.commit[:10]}")
    if review.comments:
        parts.append(f"with {review.comments} line comment{'s' if review.comments > 1 else ''}")
    if review.dismissed or review.stale:
        parts.append("(dismissed)" if review.dismissed else "(of an earlier state)")
    return " ".join(parts) + (f": {review.body}" if review.body.strip() else "")


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
        text = f"{len(rest)} comments by {_counted(one.author for one in rest)}; the last one: {_said(last)}"
        yield Activity("comment", target, last.url, _line(text), last.created_at)


def _counted(authors: Iterable[str]) -> str:
    counts: dict[str, int] = {}
    for author in authors:
        counts[author] = counts.get(author, 0) + 1
    most = sorted(counts.items(), key=lambda pair: -pair[1])
    more = f" and {len(most) - 5} more" if most[5:] else ""
    return ", ".join(f"{author} ({count})" for author, count in most[:5]) + more


def _asks(comment: Comment, operator: str) -> bool:
    """Whether the comment mentions the operator and holds a question, outside of code and quotations."""
    if not operator or _is_trail(comment) or comment.author.casefold() == operator.casefold():
        return False
    text = _QUOTED.sub(" ", comment.body)
    return "?" in text and re.search(rf"(?i)(?<![\w@.-])@{re.escape(operator)}(?![\w-])", text) is not None


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


def _line(text: str) -> str:
    text = one_line(text)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1].rstrip() + "…"


def _timeline(repo: Repo, number: int, since: datetime, until: datetime) -> list[Event]:
    """Events and comments of an issue that changed in the window, oldest first. The server's count is the page's, so a
    page that is not full is the last. Raises: Unavailable."""
    found: list[Event] = []
    window = {**since_of(since), "before": stamp(until)}
    for page in range(1, PAGES):
        some = pages.page(repo.get, f"/issues/{number}/timeline", page, **window).rows
        found += [models.event(one) for one in some if one is not None]
        if len(some) < PAGE:
            return found
    raise garbled("the timeline does not end")


def _reviews(repo: Repo, number: int) -> list[Review]:
    """Reviews of a pull request, at most 50, the server's first. Takes `read:repository`. Raises: Unavailable."""
    return [models.review(one) for one in models.many(repo.get(f"/pulls/{number}/reviews", limit=PAGE).data)]


def _releases(repo: Repo) -> list[tuple[str, str, str, datetime]]:
    """The newest releases, at most 50: name, author, address, time of publication. Takes `read:repository`. Raises:
    Unavailable."""
    listed = models.many(repo.get("/releases", draft="false", page=1, limit=PAGE).data)
    return [models.release(one) for one in listed]
