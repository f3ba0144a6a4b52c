"""What happens to work besides comments: events of the timeline, reviews of pull requests, releases."""

from collections.abc import Sequence
from typing import Any

from . import shapes
from .calls import Answer, Call
from .state import Comment, Issue, World


def reviews(call: Call) -> Answer:
    """Reviews of a pull request, oldest first; 404 for an issue."""
    issue = call.issue()
    if not issue.pull:
        raise call.missing()
    found = [{name: value for name, value in one.items() if name != "said"} for one in issue.reviews]
    return Answer(200, found, {"X-Total-Count": str(len(found))})


def review_comments(call: Call) -> Answer:
    """A review's line comments, with their body alone."""
    [found] = (one for one in call.issue().reviews if str(one["id"]) == call.params["id"])
    return Answer(200, [{"body": body} for body in found.get("said", [])])  # type: ignore[attr-defined]


def pull(call: Call) -> Answer:
    """The newest commit of a pull request; 404 for an issue."""
    issue = call.issue()
    if not issue.pull:
        raise call.missing()
    return Answer(200, {"number": issue.number, "head": {"sha": f"{issue.number:040x}"}})


def status(call: Call) -> Answer:
    """The reported checks of a commit. Forgejo fails for a branch without commits."""
    sha = call.params["sha"]
    if len(sha) != 40 and not call.repo.feeds:
        return Answer(500, {"message": "object does not exist"})
    issue = call.repo.issues.get(int(sha, 16)) if len(sha) == 40 else None
    rows = issue.checks if issue else []
    states = [str(row["status"]) for row in rows]
    worst = next((one for one in ("failure", "error", "pending") if one in states), "success")
    return Answer(200, {"state": worst, "statuses": rows, "total_count": len(rows)})


def feeds(call: Call) -> Answer:
    """Pushes and tags, newest first."""
    return Answer(200, list(reversed(call.repo.feeds)))


def releases(call: Call) -> Answer:
    """Published releases, newest first."""
    found = list(reversed(call.repo.releases))
    return Answer(200, found, {"X-Total-Count": str(len(found))})


def happen(world: World, issue: Issue, kind: str, by: str, **more: Any) -> Comment:
    """Add an event, with the change to the issue that goes with it. ``more`` are fields of the timeline's row;
    ``assignee`` is a login, ``label`` and ``milestone`` are names."""
    body = str(more.pop("body", ""))
    if kind == "label":
        body = "" if more.pop("removed", False) else "1"
        label = next(one for one in issue.repo.labels if one.name == more["label"])
        issue.labels = [one for one in issue.labels if one is not label] + ([label] if body else [])
        more["label"] = shapes.label(world, issue.repo, label)
    if "assignee" in more:
        more["assignee"] = shapes.user(world, world.user(more["assignee"]))
    if "milestone" in more:
        more["milestone"] = {"id": 1, "title": more["milestone"]}
    row = world.new_row(issue, world.user(by), body, kind)
    row.more = more
    if kind in ("close", "merge_pull"):
        issue.closed = world.now()
        issue.merged = world.now() if kind == "merge_pull" else None
    elif kind == "reopen":
        issue.closed = None
    elif kind == "change_title":
        issue.title = more["new_title"]
    return row


def review(world: World, issue: Issue, by: str, state: str, body: str, lines: int, said: Sequence[str]) -> None:
    """Review a pull request, which adds a timeline row and the review itself."""
    row = world.new_row(issue, world.user(by), body, "review")
    at = shapes.moment(row.created)
    row.more = {"review_id": row.id}
    issue.reviews.append(
        {
            "id": row.id,
            "user": shapes.user(world, row.poster),
            "team": None,
            "state": state,
            "body": body,
            "commit_id": "0123456789abcdef0123456789abcdef01234567",
            "stale": False,
            "official": True,
            "dismissed": False,
            "comments_count": lines or len(said),
            "said": list(said),
            "submitted_at": at,
            "updated_at": at,
            "html_url": f"{shapes.page_of(world, issue)}#issuecomment-{row.id}",
            "pull_request_url": shapes.page_of(world, issue),
        }
    )
