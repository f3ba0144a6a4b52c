"""JSON for repositories and pull requests. It is long, and mostly settings that no test changes."""

from __future__ import annotations

import hashlib
from typing import Any

from . import shapes
from .state import Issue, Repository, User, World


def repository(world: World, one: Repository, caller: User | None) -> dict[str, Any]:
    right = one.right_of(caller)
    opened = [each for each in one.issues.values() if each.closed is None]
    place = f"{world.url}/{one.full_name}"
    api = f"{world.url}/api/v1/repos/{one.full_name}"
    return {
        "id": one.id,
        "owner": shapes.user(world, one.owner, email=True),
        "name": one.name,
        "full_name": one.full_name,
        "description": "",
        "empty": False,
        "private": one.private,
        "fork": False,
        "template": False,
        "mirror": False,
        "size": 25,
        "language": "",
        "languages_url": f"{api}/languages",
        "html_url": place,
        "url": api,
        "link": "",
        "ssh_url": f"git@localhost:{one.full_name}.git",
        "clone_url": f"{place}.git",
        "original_url": "",
        "website": "",
        "stars_count": 0,
        "forks_count": 0,
        "watchers_count": 1,
        "branch_count": 1,
        "open_issues_count": sum(not each.pull for each in opened),
        "open_pr_counter": sum(each.pull for each in opened),
        "release_counter": 0,
        "default_branch": "main",
        "archived": one.archived is not None,
        "created_at": shapes.moment(one.created),
        "updated_at": shapes.moment(one.updated),
        "archived_at": shapes.moment(one.archived or 0),
        "permissions": {"admin": right == "admin", "push": right in ("admin", "write"), "pull": right is not None},
        "has_code": True,
        "has_issues": True,
        "internal_tracker": {
            "enable_time_tracker": True,
            "allow_only_contributors_to_track_time": True,
            "enable_issue_dependencies": True,
        },
        "has_wiki": True,
        "has_pull_requests": True,
        "has_projects": True,
        "projects_mode": "all",
        "has_releases": True,
        "has_packages": True,
        "has_actions": False,
        "ignore_whitespace_conflicts": False,
        "allow_merge_commits": True,
        "allow_rebase": True,
        "allow_rebase_explicit": True,
        "allow_squash_merge": True,
        "allow_fast_forward_only_merge": True,
        "allow_rebase_update": True,
        "allow_manual_merge": False,
        "autodetect_manual_merge": False,
        "default_delete_branch_after_merge": False,
        "default_merge_style": "merge",
        "default_allow_maintainer_edit": True,
        "avatar_url": "",
        "internal": False,
        "mirror_interval": "",
        "object_format_name": "sha1",
        "mirror_updated": shapes.NEVER,
        "topics": [],
        "licenses": [],
    }


def pull(world: World, one: Issue, caller: User | None) -> dict[str, Any]:
    """A pull request, with the fields shared with issues and with made-up branches."""
    own = shapes.issue(world, one, caller)
    page = shapes.page_of(world, one)
    value = {name: own[name] for name in ("id", "number", "user", "title", "body", "labels", "milestone", "assignee")}
    value |= {
        "url": page,
        "assignees": None,
        "requested_reviewers": None,
        "requested_reviewers_teams": None,
        "state": own["state"],
        "draft": False,
        "is_locked": one.locked,
        "comments": own["comments"],
        "html_url": page,
        "diff_url": f"{page}.diff",
        "patch_url": f"{page}.patch",
        "mergeable": True,
        "merged": one.merged is not None,
        "merged_at": None if one.merged is None else shapes.moment(one.merged),
        "merge_commit_sha": None if one.merged is None else _commit(f"merge {one.id}"),
        "merged_by": None,
        "allow_maintainer_edit": True,
        "base": _branch(world, one, "main", caller),
        "head": _branch(world, one, f"branch-{one.number}", caller),
        "merge_base": _commit("base"),
        "due_date": None,
        "created_at": own["created_at"],
        "updated_at": own["updated_at"],
        "closed_at": own["closed_at"],
        "pin_order": 0,
    }
    return value | {name: own[name] for name in ("content_version",) if name in own}


def _branch(world: World, one: Issue, name: str, caller: User | None) -> dict[str, Any]:
    repo = repository(world, one.repo, caller)
    return {"label": name, "ref": name, "sha": _commit(name), "repo_id": one.repo.id, "repo": repo}


def _commit(seed: str) -> str:
    return hashlib.sha1(seed.encode(), usedforsecurity=False).hexdigest()
