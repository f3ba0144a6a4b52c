"""What happened in a repository between two moments: issues and pull requests that came and went, and what was said."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from holdfast.flush.publish.forge import Activity
from holdfast.text.plain import one_line
from holdfast_gitea import marker
from holdfast_gitea.client import Repo
from holdfast_gitea.models import Comment, Issue

_LONGEST: Final = 200
#: What issues of a store are called; they are no work.
_STORE: Final = "holdfast:"


def of(repo: Repo, since: datetime, until: datetime) -> Iterator[Activity]:
    """In no order. Texts are one line of 200 characters at most. Raises: Unavailable."""
    for issue in repo.issues(kind="all", since=since):
        if not issue.title.startswith(_STORE):
            yield from _of_issue(repo, issue, since, until)
    known: set[str] = set()
    for comment in repo.activity(since, until):
        text = _said(comment)
        found = (marker.fields(comment.body) or {}).get("id", "")
        if found in known:  # written late, after its writer had given up and tried again: the first one counts
            continue
        known |= {found} - {""}
        if text and since <= comment.created_at <= until:
            target = f"{repo.name}#{comment.issue}"
            yield Activity("comment", target, comment.url, text, comment.created_at, comment.author)


def _of_issue(repo: Repo, issue: Issue, since: datetime, until: datetime) -> Iterator[Activity]:
    kind = "pull" if issue.is_pull else "issue"
    ended = "merged" if issue.merged else "closed"
    for what, at in (("opened", issue.created_at), (ended, issue.closed_at)):
        if at is not None and since <= at <= until:
            author = issue.author if what == "opened" else ""
            yield Activity(kind, f"{repo.name}#{issue.number}", issue.url, _line(f"{what}: {issue.title}"), at, author)


def _said(comment: Comment) -> str:
    """What a comment says to people; nothing for a record of a store."""
    found = marker.fields(comment.body)
    if found is None:
        return _line(comment.body)
    if found.get("kind") != "trail":
        return ""
    return _line(comment.body.split("\n\n", 1)[0])


def _line(text: str) -> str:
    text = one_line(text)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1].rstrip() + "…"
