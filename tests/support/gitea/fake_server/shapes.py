"""The JSON that the server sends for each of its things: all fields in its order, null where Go has a nil."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from .state import Comment, Issue, Label, Repository, User, World

NEVER = "0001-01-01T00:00:00Z"
#: A timeline row's fields for events that the fake server does not simulate.
NOTHING_BESIDES = {
    "old_project_id": 0, "project_id": 0, "old_milestone": None, "milestone": None, "tracked_time": None,
    "old_title": "", "new_title": "", "old_ref": "", "new_ref": "", "ref_issue": None, "ref_comment": None,
    "ref_action": "none", "ref_commit_sha": "", "review_id": 0, "label": None, "assignee": None, "assignee_team": None,
    "removed_assignee": False, "resolve_doer": None, "dependent_issue": None,
}  # fmt: skip


def moment(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def user(world: World, someone: User, viewer: User | None = None, *, email: bool = False) -> dict[str, Any]:
    """The address for mails for any ``viewer``, or with ``email``; more for the account itself and administrators."""
    own = viewer is not None and (viewer is someone or viewer.admin)
    hidden = f"{someone.id}+{someone.login.lower()}@noreply.localhost"
    return {
        "id": someone.id,
        "login": someone.login,
        "login_name": "",
        "source_id": 0,
        "full_name": "",
        "email": f"{someone.login}@example.org" if viewer or email else hidden,
        "avatar_url": f"{world.url}/avatars/{someone.id}",
        "html_url": f"{world.url}/{someone.login}",
        "language": "",
        "is_admin": own and someone.admin,
        "last_login": moment(someone.created) if own else NEVER,
        "created": moment(someone.created),
        "restricted": False,
        "active": own,
        "prohibit_login": False,
        "location": "",
        "website": "",
        "description": "",
        "visibility": "public",
        "followers_count": 0,
        "following_count": 0,
        "starred_repos_count": 0,
        "username": someone.login,
    }


def label(world: World, repo: Repository, one: Label) -> dict[str, Any]:
    return {
        "id": one.id,
        "name": one.name,
        "exclusive": False,
        "is_archived": False,
        "color": one.color,
        "description": one.description,
        "url": f"{world.url}/api/v1/repos/{repo.full_name}/labels/{one.id}",
    }


def labels(world: World, repo: Repository, some: Iterable[Label]) -> list[dict[str, Any]]:
    """By name, as every list of labels is."""
    return [label(world, repo, one) for one in sorted(some, key=lambda each: each.name)]


def page_of(world: World, issue: Issue) -> str:
    kind = "pulls" if issue.pull else "issues"
    return f"{world.url}/{issue.repo.full_name}/{kind}/{issue.number}"


def issue(world: World, one: Issue, viewer: User | None) -> dict[str, Any]:
    repo = one.repo
    value: dict[str, Any] = {
        "id": one.id,
        "url": f"{world.url}/api/v1/repos/{repo.full_name}/issues/{one.number}",
        "html_url": page_of(world, one),
        "number": one.number,
        "user": user(world, one.poster, viewer),
        "original_author": "",
        "original_author_id": 0,
        "title": one.title,
        "body": one.body,
        "ref": "",
        "assets": [],
        "labels": labels(world, repo, one.labels),
        "milestone": None,
        "assignee": None,
        "assignees": None,
        "state": "open" if one.closed is None else "closed",
        "is_locked": one.locked,
        "comments": len(one.comments()),
        "created_at": moment(one.created),
        "updated_at": moment(one.updated),
        "closed_at": None if one.closed is None else moment(one.closed),
        "due_date": None,
        "time_estimate": 0,
        "pull_request": _pull_meta(world, one),
        "repository": {"id": repo.id, "name": repo.name, "owner": repo.owner.login, "full_name": repo.full_name},
        "pin_order": 0,
    }
    if world.flavour == "1.26":
        value["content_version"] = one.version
    return value


def _pull_meta(world: World, one: Issue) -> dict[str, Any] | None:
    if not one.pull:
        return None
    merged = None if one.merged is None else moment(one.merged)
    return {"merged": merged is not None, "merged_at": merged, "draft": False, "html_url": page_of(world, one)}


def comment(world: World, one: Comment) -> dict[str, Any]:
    page = page_of(world, one.issue)
    return {
        "id": one.id,
        "html_url": f"{page}#issuecomment-{one.id}",
        "pull_request_url": page if one.issue.pull else "",
        "issue_url": "" if one.issue.pull else page,
        "user": user(world, one.poster),
        "original_author": "",
        "original_author_id": 0,
        "body": one.body,
        "assets": [],
        "created_at": moment(one.created),
        "updated_at": moment(one.updated),
    }


def row(world: World, one: Comment) -> dict[str, Any]:
    """A timeline row for a comment or an event."""
    value = comment(world, one)
    shared = {name: value[name] for name in ("pull_request_url", "issue_url", "user", "body")}
    times = {name: value[name] for name in ("created_at", "updated_at")}
    return {
        "id": one.id,
        "type": one.kind,
        "html_url": value["html_url"],
        **shared,
        **times,
        **NOTHING_BESIDES,
        **one.more,
    }
