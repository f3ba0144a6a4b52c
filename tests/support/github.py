"""A small stand-in for GitHub's REST interface, with the layout of a GitHub Enterprise Server (``/api/v3``).

Its answers have the fields that GitHub's public OpenAPI description requires; with the path of that description in
``GITHUB_API_DESCRIPTION`` a test checks them against it (tests/plugins/forges/test_github.py).
"""

import json
import re
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit

from tests.support.local_server import Handler, LocalServer

Table = dict[str, Any]
#: The part of a path below the repository -> the permission that a fine-grained token needs for it.
_WANTED = (
    (r"^/issues", "issues"),
    (r"^/pulls", "pull_requests"),
    (r"/check-runs", "checks"),
    (r"^/(rel|act|git|branch)", "contents"),
)


class GitHubServer(LocalServer):
    """As a context. ``permissions`` are the token's; ``limited`` answers with a rate limit this many times."""

    def __init__(self, repository: str = "acme/shop") -> None:
        self.repository, self.token = repository, "github_pat_secret"
        self.permissions = {"issues", "pull_requests", "checks", "contents"}
        self.limited, self.lost = 0, 0
        self.moved = ""
        self.requests: list[tuple[str, str]] = []
        #: Every answered path with its JSON, for the check against the description.
        self.answers: list[tuple[str, str, Any]] = []
        self.rows: dict[str, list[Table]] = defaultdict(list)
        self.default_branch = "main"
        self._ids = 100

    def handler(self) -> type[Handler]:
        server = self

        class GitHubHandler(Handler):
            protocol_version: ClassVar[str] = "HTTP/1.1"

            def do_GET(self) -> None:
                server.answer(self)

            do_POST = do_GET

        return GitHubHandler

    # what happens

    def user(self, login: str) -> Table:
        base = f"{self.url}/api/v3/users/{login}"
        urls = ("followers", "following", "gists", "starred", "subscriptions", "organizations", "repos", "events",
                "received_events")  # fmt: skip
        return {
            "login": login, "id": sum(map(ord, login)), "node_id": "U", "avatar_url": base, "gravatar_id": "",
            "url": base, "html_url": f"{self.url}/{login}", "type": "User", "site_admin": False,
            **{f"{one}_url": base for one in urls},
        }  # fmt: skip

    def issue(
        self, title: str, by: str = "ana", body: str = "", *, pull: bool = False, at: datetime | None = None
    ) -> int:
        number = len(self.rows["issues"]) + 1
        path = f"{self.url}/api/v3/repos/{self.repository}"
        url = f"{self.url}/{self.repository}/{'pull' if pull else 'issues'}/{number}"
        row: Table = {
            "id": self._id(), "node_id": "I", "number": number, "title": title, "body": body, "state": "open",
            "user": self.user(by), "labels": [], "assignee": None, "assignees": [], "milestone": None, "locked": False,
            "comments": 0, "closed_at": None, "created_at": _stamp(at), "updated_at": _stamp(at), "html_url": url,
            "url": f"{path}/issues/{number}", "repository_url": path, "author_association": "NONE",
            "labels_url": path, "comments_url": path, "events_url": path,
        }  # fmt: skip
        if pull:
            row["pull_request"] = {"merged_at": None, "diff_url": url, "html_url": url, "patch_url": url, "url": path}
        self.rows["issues"].append(row)
        return number

    def happen(self, number: int, event: str, by: str = "ana", **more: Any) -> None:
        """An event on an issue, which changes it."""
        issue = self.rows["issues"][number - 1]
        issue["updated_at"] = _stamp()
        if event in ("closed", "merged", "reopened"):
            issue["state"] = "open" if event == "reopened" else "closed"
            issue["closed_at"] = None if event == "reopened" else _stamp()
        if event == "merged":
            issue["pull_request"]["merged_at"] = _stamp()
            issue["merged_by"] = by
        if event == "assigned":
            issue["assignees"].append(more["assignee"])
        if event == "labeled":
            issue["labels"].append({"name": more["label"]["name"]})
        row = {"id": self._id(), "node_id": "E", "url": self.url, "actor": self.user(by), "event": event,
               "commit_id": None, "commit_url": None, "created_at": _stamp(), "issue": issue, **more}  # fmt: skip
        self.rows["events"].append(row)

    def comment(self, number: int, body: str, by: str = "ana", *, line: bool = False) -> None:
        path, issue = f"{self.url}/api/v3/repos/{self.repository}", self.rows["issues"][number - 1]
        issue["updated_at"] = _stamp()
        row = {
            "id": self._id(), "node_id": "C", "user": self.user(by), "body": body, "created_at": _stamp(),
            "updated_at": _stamp(), "url": path, "author_association": "NONE",
            "html_url": f"{issue['html_url']}#issuecomment-{self._ids}", "issue_url": f"{path}/issues/{number}",
        }  # fmt: skip
        if line:
            del row["issue_url"]
            pull = f"{path}/pulls/{number}"
            links = {one: {"href": pull} for one in ("self", "html", "pull_request")}
            row |= {"pull_request_url": pull, "pull_request_review_id": 1, "diff_hunk": "@@", "path": "a.py",
                    "commit_id": "c" * 40, "original_commit_id": "c" * 40, "_links": links}  # fmt: skip
        self.rows["line_comments" if line else "comments"].append(row)

    def review(self, number: int, state: str, by: str = "ana", body: str = "") -> None:
        issue = self.rows["issues"][number - 1]
        issue["updated_at"] = _stamp()
        href = {"href": issue["html_url"]}
        self.rows[f"reviews/{number}"].append(
            {"id": self._id(), "node_id": "R", "user": self.user(by), "body": body, "state": state,
             "html_url": issue["html_url"], "pull_request_url": issue["url"], "submitted_at": _stamp(),
             "commit_id": "c" * 40, "author_association": "NONE", "_links": {"html": href, "pull_request": href}}
        )  # fmt: skip

    def push(self, branch: str, kind: str = "push", by: str = "ana") -> None:
        row = {"id": self._id(), "node_id": "P", "before": "a" * 40, "after": "b" * 40, "ref": f"refs/heads/{branch}",
               "timestamp": _stamp(), "activity_type": kind, "actor": self.user(by)}  # fmt: skip
        self.rows["activity"].append(row)

    def release(self, tag: str, by: str = "ana") -> None:
        self.rows["releases"].append(
            {"id": self._id(), "node_id": "L", "tag_name": tag, "name": f"Release {tag}", "target_commitish": "main",
             "draft": False, "prerelease": False, "created_at": _stamp(), "published_at": _stamp(), "assets": [],
             "author": self.user(by), "html_url": f"{self.url}/{self.repository}/releases/tag/{tag}",
             **dict.fromkeys(("url", "assets_url", "upload_url", "tarball_url", "zipball_url"), self.url)}
        )  # fmt: skip

    def check(self, number: int, name: str, conclusion: str) -> None:
        self.rows["issues"][number - 1]["updated_at"] = _stamp()
        self.rows[f"checks/{number}"].append(
            {"id": self._id(), "node_id": "K", "head_sha": f"{number:040}", "external_id": "", "url": self.url,
             "html_url": self.url, "details_url": self.url, "status": "completed", "conclusion": conclusion,
             "started_at": _stamp(), "completed_at": _stamp(), "name": name, "check_suite": {"id": 1},
             "output": {"title": None, "summary": None, "text": None, "annotations_count": 0,
                        "annotations_url": self.url},
             "app": None, "pull_requests": []}
        )  # fmt: skip

    def bodies(self, number: int) -> list[str]:
        return [row["body"] for row in self.rows["comments"] if row["issue_url"].endswith(f"/{number}")]

    # the answers

    def answer(self, http: Handler) -> None:
        length = int(http.headers.get("Content-Length") or 0)
        sent = json.loads(http.rfile.read(length)) if length else {}
        split = urlsplit(http.path)
        path = split.path.removeprefix("/api/v3")
        params = {key: values[0] for key, values in parse_qs(split.query).items()}
        self.requests.append((http.command, path))
        status, data, headers = self._answer(http, path, params, sent)
        if isinstance(data, list):
            size, page = int(params.get("per_page", 30)), int(params.get("page", 1))
            whole, data = data, data[(page - 1) * size : page * size]
            if page * size < len(whole):
                more = "&".join(f"{key}={value}" for key, value in (params | {"page": page + 1}).items())
                headers["Link"] = f'<https://elsewhere.example{split.path}?{more}>; rel="next"'
        if status < 300:
            self.answers.append((http.command, path, data))
        body = json.dumps(data).encode()
        if self.lost and http.command == "POST":
            self.lost -= 1
            http.close_connection = True
            return
        http.give(status, {**headers, "Content-Type": "application/json"}, body)

    def _answer(self, http: Any, path: str, params: Table, sent: Table) -> tuple[int, Any, Table]:
        if http.headers["Authorization"] != f"Bearer {self.token}":
            return 401, {"message": "Bad credentials"}, {}
        if self.limited:
            self.limited -= 1
            reset = str(int((datetime.now(UTC) + timedelta(seconds=1)).timestamp()))
            return (
                403,
                {"message": "API rate limit exceeded"},
                {"x-ratelimit-remaining": "0", "x-ratelimit-reset": reset},
            )
        if path == "/user":
            return 200, self.user("bot"), {}
        if found := re.fullmatch(r"/users/(\w+)", path):
            return (200, self.user(found[1]), {}) if found[1] in ("ana", "bot", "olga") else _MISSING
        if self.moved:
            return 301, {"message": "Moved Permanently"}, {"Location": f"{self.url}/api/v3/repositories/7"}
        base = f"/repos/{self.repository}"
        if path != base and not path.startswith(f"{base}/"):
            return _MISSING
        below = path.removeprefix(base)
        for part, wanted in _WANTED:
            if re.search(part, below) and wanted not in self.permissions:
                message = "Resource not accessible by personal access token"
                return 403, {"message": message}, {"X-Accepted-GitHub-Permissions": f"{wanted}=read"}
        if found := re.fullmatch(r"/issues/(\d+)/comments", below):
            return self._comments(int(found[1]), http.command, params, sent)
        return self._read(below, params)

    def _comments(self, number: int, method: str, params: Table, sent: Table) -> tuple[int, Any, Table]:
        if not 0 < number <= len(self.rows["issues"]):
            return _MISSING
        if method == "POST":
            self.comment(number, sent["body"], "bot")
            return 201, self.rows["comments"][-1], {}
        rows = [row for row in self.rows["comments"] if row["issue_url"].endswith(f"/issues/{number}")]
        return 200, [row for row in rows if row["updated_at"] >= params.get("since", "")], {}

    def _read(self, below: str, params: Table) -> tuple[int, Any, Table]:
        since = params.get("since", "")
        names = ("issues", "comments", "line_comments")
        changed = {name: [row for row in self.rows[name] if row["updated_at"] >= since] for name in names}
        pulls = [{**row, "head": {"sha": f"{row['number']:040}"}} for row in changed["issues"] if "pull_request" in row]
        lists = {
            "/issues": [row for row in changed["issues"] if params.get("state") == "all" or row["state"] == "open"],
            "/issues/comments": changed["comments"], "/pulls/comments": changed["line_comments"],
            "/issues/events": self.rows["events"][::-1], "/activity": self.rows["activity"][::-1],
            "/releases": self.rows["releases"], "/pulls": [row for row in pulls if row["state"] == "open"],
        }  # fmt: skip
        if below in lists:
            return 200, lists[below], {}
        if found := re.fullmatch(r"/issues/comments/(\d+)", below):
            return 200, next(row for row in self.rows["comments"] if row["id"] == int(found[1])), {}
        if found := re.fullmatch(r"/issues/(\d+)(/events)?", below):
            if not 0 < int(found[1]) <= len(self.rows["issues"]):
                return _MISSING
            if found[2]:
                return 200, [e for e in self.rows["events"] if e["issue"]["number"] == int(found[1])], {}
            return 200, self.rows["issues"][int(found[1]) - 1], {}
        if found := re.fullmatch(r"/pulls/(\d+)", below):
            by = self.rows["issues"][int(found[1]) - 1].get("merged_by")
            return 200, {"merged_by": self.user(by) if by else None}, {}
        if found := re.fullmatch(r"/pulls/(\d+)/reviews", below):
            return 200, self.rows[f"reviews/{found[1]}"], {}
        if found := re.fullmatch(r"/commits/0*(\d+)/check-runs", below):
            runs = self.rows[f"checks/{found[1]}"]
            return 200, {"total_count": len(runs), "check_runs": runs}, {}
        if found := re.fullmatch(r"/branches/([\w-]+)", below):
            return (200, {"name": found[1]}, {}) if found[1] == self.default_branch else _MISSING
        if below == "":
            return 200, {"default_branch": self.default_branch, "html_url": f"{self.url}/{self.repository}"}, {}
        return _MISSING

    def _id(self) -> int:
        self._ids += 1
        return self._ids


_MISSING: tuple[int, Any, Table] = (404, {"message": "Not Found"}, {})


def _stamp(at: datetime | None = None) -> str:
    return f"{at or datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
