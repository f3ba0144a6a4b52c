"""The server's answers for the claims in the notes: see :class:`holdfast_app.outbox.forge.Ask`.

Requests: 1 for each number, and where needed 1 for its pull request, reviews, comments or timeline; 1 for
each user, branch and commit; 2 for releases and tags of each repository; for checks 1 for the commits and 1 for each.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import cache
from typing import Final
from urllib.parse import quote

from holdfast.errors import StorageError
from holdfast_app.outbox.forge import Ask
from holdfast_app.outbox.trail import Target
from holdfast_gitea.trail import events
from holdfast_gitea.wire.client import Gitea, Repo
from holdfast_gitea.wire.models import PAGE, Issue, text
from holdfast_keys.faults import Absent

Facts = dict[Ask, Collection[str]]
#: Maximum issues and pull requests read.
MOST: Final = 20
#: Newest commits of a branch or pull request whose checks are read, and open pull requests for a claim about any.
_COMMITS: Final = 8
_REVIEWS: Final = {
    "approved by": ("APPROVED",),
    "changes by": ("REQUEST_CHANGES",),
    "reviewed by": ("APPROVED", "REQUEST_CHANGES", "COMMENT"),
}


def of(gitea: Gitea, names: Sequence[str], asks: Sequence[Ask], works: Mapping[str, Target], since: datetime) -> Facts:
    """The known values. ``names`` are the repositories whose releases, branches and checks count; ``works``
    are the targets that name work, of which at most :data:`MOST` are read."""
    repos = [gitea.repo(name) for name in names]
    issue_of = cache(lambda target: gitea.repo(target.repository).issue(target.number))
    read = [*dict.fromkeys(works.values())][:MOST]
    facts: Facts = {}
    for ask in asks if repos else ():
        target, values = works.get(ask.target), None
        with suppress(StorageError):  # a missing scope, or a hidden repository
            if target is None:
                values = _of_name(repos, ask)
            elif target in read:
                values = _of_work(gitea.repo(target.repository), target.number, issue_of(target), ask.about, since)
        if values is not None:
            facts[ask] = set(values)
    return facts


def _of_name(repos: Sequence[Repo], ask: Ask) -> Collection[str] | None:
    """The values for a name or a branch's checks. None when unknown. Raises: StorageError."""
    name = ask.target
    if ask.about == "user":
        with suppress(Absent):
            repos[0].outside(f"/users/{quote(name, safe='')}")
            return {"present"}
        return {"absent"}
    if ask.about == "checks":
        return set().union(*(_checks(repo, _shas(repo, name)) for repo in repos)) or None
    if ask.about == "commit":  # an unpushed commit is not missing
        return {"present"} if any(_has(repo, f"/git/commits/{quote(name, safe='')}") for repo in repos) else None
    if ask.about == "branch":
        return {"present" if any(_has(repo, f"/branches/{quote(name)}") for repo in repos) else "absent"}
    if ask.about not in ("release", "tag"):
        return None
    rows = [row for repo in repos for path in ("/tags", "/releases") for row in repo.rows(path)]
    names = {text(row, key) for row in rows for key in ("name", "tag_name")} - {""}
    version = re.compile(rf"(?<![0-9.]){re.escape(name.removeprefix('v'))}(?![0-9])")
    if any(version.search(tag) for tag in names):
        return {"present"}
    return {"absent"} if names and len(rows) < PAGE else None


def _of_work(repo: Repo, number: int, issue: Issue | None, about: str, since: datetime) -> Collection[str] | None:
    """The values for an issue or pull request. Raises: StorageError."""
    if about == "state":
        return {"absent"} if issue is None else set(_states(repo, issue, since))
    if issue is None:
        return None
    if about in ("assigned to", "labels"):
        values = set(issue.labels if about == "labels" else issue.assignees)
        kind, path = ("label", ("label", "name")) if about == "labels" else ("assignees", ("assignee", "login"))
        return values | {text(row, *path) for row in _changes(repo, issue, since) if row.get("type") == kind}
    if not issue.is_pull:
        return None
    if about == "merged by":
        return {text(repo.get(f"/pulls/{number}").data, "merged_by", "login")} - {""} or None
    if about == "checks":
        rows = repo.rows(f"/pulls/{number}/commits", limit=PAGE)
        return _checks(repo, [text(row, "sha") for row in rows][:_COMMITS]) or None
    if about not in _REVIEWS:
        return None
    reviews = repo.rows(f"/pulls/{number}/reviews")
    people = {text(row, "user", "login") for row in reviews if row.get("state") in _REVIEWS[about]}
    if about == "reviewed by":
        people |= {comment.author for comment in repo.comments(number).values}
    return people


def _states(repo: Repo, issue: Issue, since: datetime) -> Iterator[str]:
    yield "merged" if issue.merged else issue.state
    if issue.closed_at is not None and issue.closed_at >= since:
        yield "open"
    if issue.is_open and any(row.get("type") == "close" for row in _changes(repo, issue, since)):
        yield "closed"


def _changes(repo: Repo, issue: Issue, since: datetime) -> list[Mapping[str, object]]:
    return events.timeline(repo, issue.number, since, None) if issue.updated_at >= since else []


def _shas(repo: Repo, branch: str) -> list[str]:
    """The branch's newest commits. For an empty name, the default branch's and those of open pull requests."""
    where = {"sha": branch} if branch else {}
    shas = [text(row, "sha") for row in repo.rows("/commits", limit=_COMMITS, stat="false", **where)]
    if not branch:
        pulls = repo.rows("/pulls", state="open", sort="recentupdate", limit=_COMMITS)
        shas += [text(row, "head", "sha") for row in pulls]
    return shas


def _checks(repo: Repo, shas: Sequence[str]) -> set[str]:
    """The commits' check results, latest and earlier."""
    results: set[str] = set()
    for sha in filter(None, shas):
        by_context: dict[str, set[str]] = {}
        for row in repo.rows(f"/commits/{sha}/statuses"):
            by_context.setdefault(text(row, "context"), set()).add(text(row, "status"))
        states = [*by_context.values()]
        if states and all("success" in statuses for statuses in states):
            results.add("success")
        for word, bad in (("failure", {"failure", "error"}), ("pending", {"pending"})):
            if any(statuses & bad for statuses in states):
                results.add(word)
    return results


def _has(repo: Repo, path: str) -> bool:
    with suppress(Absent):
        repo.get(path)
        return True
    return False
