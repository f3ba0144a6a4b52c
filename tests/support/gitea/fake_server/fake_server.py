"""The interface for tests, with a running fake server, its address and token, and actions of people on the server."""

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Self

from . import events, shapes
from .server import Seen, Server
from .state import Comment, Flavour, Issue, Label, Repository, Right, World
from .titles import stored

#: The recommended token's exact permissions.
LEAST = ("write:issue",)


class FakeServer:
    """A server on loopback, running while the ``with`` block lasts.

    ``version`` is ``1.26`` or ``forgejo``; ``token`` is that of ``user``, with ``scopes``; ``clock`` gives seconds
    since the epoch.
    """

    user = "agent"

    def __init__(
        self, *, version: Flavour = "1.26", scopes: Iterable[str] = LEAST, clock: Callable[[], float] = time.time
    ) -> None:
        self.world = World(version, clock=clock)
        self.token = self.make_token(self.user, scopes)
        self._port = 0
        self._server: Server | None = None
        self._seen: list[Seen] = []

    def __enter__(self) -> Self:
        self.up()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.down()

    # --- the server ------------------------------------------------------------------------------------------------

    @property
    def url(self) -> str:
        """``http://127.0.0.1:PORT``, without a final slash. The API is under ``/api/v1``."""
        return self.world.url

    @property
    def requests(self) -> list[Seen]:
        """The requests answered since the start or since ``requests.clear()``, oldest first."""
        return self._seen

    def up(self) -> None:
        """Start, or start again on the same port with everything still there."""
        if self._server is None:
            self._server = Server(self.world, self._seen, self._port)
            self._port = self._server.port
            self.world.url = f"http://127.0.0.1:{self._port}"
            self._server.start()

    def down(self) -> None:
        """Die: cut open connections and refuse new ones, without losing written data."""
        if self._server is not None:
            self._server.stop()
            self._server = None

    def skew(self, seconds: float) -> None:
        """Set how far the server's clock is ahead of the world's (negative: slow)."""
        with self.world.lock:
            self.world.skew_s = seconds

    # --- accounts and repositories ---------------------------------------------------------------------------------

    def make_token(self, user: str = "agent", scopes: Iterable[str] = LEAST) -> str:
        """A token for that user, who is created if missing. Scopes have Gitea's names; ``all`` is everything."""
        with self.world.lock:
            return self.world.token(user, tuple(scopes)).value

    def make_repo(
        self, full_name: str, *, labels: Iterable[str] = (), rights: Mapping[str, Right] | None = None
    ) -> None:
        """``owner/name``. ``self.user`` may write in it unless ``rights`` (login to right) says otherwise."""
        with self.world.lock:
            repo = self.world.new_repo(full_name)
            repo.rights = {self.user: "write", **(rights or {})}
            repo.labels = [Label(self.world.new_id(), name, "ededed") for name in labels]

    def archive(self, full_name: str, *, on: bool = True) -> None:
        with self.world.lock:
            self.world.repo(full_name).archived = self.world.now() if on else None

    def rename(self, full_name: str, new_name: str) -> None:
        """Give the repository another name (without the owner). The old one answers 301 from now on."""
        with self.world.lock:
            repo = self.world.repos.pop(full_name.lower())
            repo.name = new_name
            self.world.repos[repo.full_name.lower()] = repo
            self.world.moved[full_name.lower()] = repo

    def rename_user(self, login: str, new_login: str) -> None:
        """Give the account another login. The old one is free for another account from now on."""
        with self.world.lock:
            user = self.world.users.pop(login.lower())
            user.login = new_login
            self.world.users[new_login.lower()] = user
            for repo in self.world.repos.values():
                if login in repo.rights:
                    repo.rights[new_login] = repo.rights.pop(login)

    def delete_repo(self, full_name: str) -> None:
        with self.world.lock:
            gone = self.world.repos.pop(full_name.lower())
            self.world.moved = {name: repo for name, repo in self.world.moved.items() if repo is not gone}

    # --- issues and comments ---------------------------------------------------------------------------------------

    def make_issue(self, full_name: str, title: str, body: str = "", *, poster: str = "", pull: bool = False) -> int:
        """An issue, or a pull request. Returns its number."""
        with self.world.lock:
            repo = self.world.repo(full_name)
            return self.world.new_issue(repo, self.world.user(poster or self.user), title, body, pull=pull).number

    def make_comment(self, full_name: str, number: int, body: str, *, poster: str = "") -> int:
        """A comment without a request. Returns its id."""
        with self.world.lock:
            issue = self._issue(full_name, number)
            return self.world.new_row(issue, self.world.user(poster or self.user), body).id

    def close_issue(self, full_name: str, number: int) -> None:
        with self.world.lock:
            self._issue(full_name, number).closed = self.world.now()

    def merge(self, full_name: str, number: int) -> None:
        """Merge the pull request, which closes it."""
        with self.world.lock:
            issue = self._issue(full_name, number)
            issue.merged = issue.closed = issue.updated = self.world.now()

    def happen(self, full_name: str, number: int, kind: str, by: str, **more: object) -> None:
        """An event of the timeline, as the server names it: ``close``, ``reopen``, ``merge_pull``, ``review_request``,
        ``assignees``, ``milestone``, ``label``, ``change_title``; see :func:`events.happen`."""
        with self.world.lock:
            events.happen(self.world, self._issue(full_name, number), kind, by, **more)

    def review(
        self,
        full_name: str,
        number: int,
        by: str,
        state: str,
        body: str = "",
        *,
        lines: int = 0,
        said: Sequence[str] = (),
    ) -> None:
        """A review with ``lines`` or the ``said`` line comments; ``state`` is APPROVED, REQUEST_CHANGES or COMMENT."""
        with self.world.lock:
            events.review(self.world, self._issue(full_name, number), by, state, body, lines, said)

    def check(self, full_name: str, number: int, context: str, status: str) -> None:
        """A check reports on the pull request's newest commit: success, failure, error or pending."""
        with self.world.lock:
            issue, at = self._issue(full_name, number), shapes.moment(self.world.now())
            issue.checks.append({"context": context, "status": status, "created_at": at, "updated_at": at})
            issue.updated = self.world.now()

    def push(self, full_name: str, by: str, ref: str, *messages: str) -> None:
        """A push to ``refs/heads/NAME`` or of ``refs/tags/NAME``."""
        with self.world.lock:
            kind = "push_tag" if ref.startswith("refs/tags/") else "commit_repo"
            content = json.dumps({"Commits": [{"Message": one} for one in messages]})
            user, at = shapes.user(self.world, self.world.user(by)), shapes.moment(self.world.now())
            row = {"op_type": kind, "ref_name": ref, "content": content, "act_user": user, "created": at}
            self.world.repo(full_name).feeds.append(row)

    def release(self, full_name: str, name: str, by: str) -> None:
        """Publish a release."""
        with self.world.lock:
            repo, at = self.world.repo(full_name), shapes.moment(self.world.now())
            url = f"{self.world.url}/{full_name}/releases/tag/{name}"
            author = shapes.user(self.world, self.world.user(by))
            repo.releases.append(
                {"tag_name": name, "name": name, "html_url": url, "author": author, "published_at": at}
            )

    def lock(self, full_name: str, number: int, *, on: bool = True) -> None:
        """Only those who may write in the repository can comment on a locked issue."""
        with self.world.lock:
            self._issue(full_name, number).locked = on

    def delete_issue(self, full_name: str, number: int) -> None:
        with self.world.lock:
            del self.world.repo(full_name).issues[number]

    def edit_issue(self, full_name: str, number: int, *, title: str | None = None, body: str | None = None) -> None:
        """As a user does in the browser."""
        with self.world.lock:
            issue = self._issue(full_name, number)
            issue.title = issue.title if title is None else stored(title)
            if body is not None:
                issue.body, issue.version = body, issue.version + 1
            issue.updated = self.world.now()

    def edit_comment(self, full_name: str, comment_id: int, body: str) -> None:
        """As in the browser. Only the last change's time shows it."""
        with self.world.lock:
            row = self._row(full_name, comment_id)
            row.body, row.version, row.updated = body, row.version + 1, self.world.now()

    def delete_comment(self, full_name: str, comment_id: int) -> None:
        with self.world.lock:
            row = self._row(full_name, comment_id)
            row.issue.rows.remove(row)

    def remove_labels(self, full_name: str) -> None:
        """Delete all labels of the repository."""
        with self.world.lock:
            repo = self.world.repo(full_name)
            repo.labels = []
            for issue in repo.issues.values():
                issue.labels = []

    # --- stored content --------------------------------------------------------------------------------------------

    def titles(self, full_name: str) -> dict[int, str]:
        """Number to title of every issue and pull request, closed ones too."""
        with self.world.lock:
            return {number: issue.title for number, issue in sorted(self.world.repo(full_name).issues.items())}

    def comments(self, full_name: str, number: int) -> list[tuple[int, str]]:
        """Id and body of each comment, in the server's order."""
        with self.world.lock:
            return [(row.id, row.body) for row in self._issue(full_name, number).comments()]

    def bodies(self, full_name: str, number: int) -> list[str]:
        """The bodies alone."""
        return [body for _, body in self.comments(full_name, number)]

    def body(self, full_name: str, number: int) -> str:
        """The issue's own body."""
        with self.world.lock:
            return self._issue(full_name, number).body

    def _issue(self, full_name: str, number: int) -> Issue:
        return self._repo(full_name).issues[number]

    def _repo(self, full_name: str) -> Repository:
        return self.world.repo(full_name)

    def _row(self, full_name: str, comment_id: int) -> Comment:
        row = self.world.row(self._repo(full_name), comment_id)
        if row is None:
            raise KeyError(comment_id)
        return row
