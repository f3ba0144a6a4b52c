"""The fake server's state: users, tokens, repositories, issues, comments and labels, in memory under a single lock."""

from __future__ import annotations

import itertools
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from .titles import stored

#: Which server is played. Forgejo neither shows nor takes ``content_version``.
Flavour = Literal["1.26", "forgejo"]
Right = Literal["read", "write", "admin"]


@dataclass
class User:
    """An account."""

    id: int
    login: str
    created: int
    admin: bool = False


@dataclass(frozen=True)
class Token:
    """An access token: its owner and its scopes, such as ``write:issue`` or ``all``."""

    value: str
    user: User
    scopes: tuple[str, ...]


@dataclass
class Label:
    id: int
    name: str
    color: str
    description: str = ""


@dataclass
class Comment:
    """A row of the table of comments. Events (``kind`` other than ``comment``) are rows, too, and take ids."""

    id: int
    issue: Issue
    poster: User
    body: str
    created: int
    updated: int
    kind: str = "comment"
    version: int = 0
    more: dict[str, object] = field(default_factory=dict)


@dataclass
class Issue:
    """An issue, or a pull request if ``pull``: both draw from the repository's one row of numbers."""

    id: int
    number: int
    repo: Repository
    poster: User
    title: str
    body: str
    created: int
    updated: int
    pull: bool = False
    merged: int | None = None
    closed: int | None = None
    locked: bool = False
    version: int = 0
    labels: list[Label] = field(default_factory=list)
    rows: list[Comment] = field(default_factory=list)
    reviews: list[dict[str, object]] = field(default_factory=list)
    checks: list[dict[str, object]] = field(default_factory=list)
    reactions: set[tuple[str, str]] = field(default_factory=set)

    def comments(self) -> list[Comment]:
        """What people and programs wrote: by created second, then by id."""
        return sorted((row for row in self.rows if row.kind == "comment"), key=lambda row: (row.created, row.id))


@dataclass
class Repository:
    id: int
    owner: User
    name: str
    created: int
    updated: int
    private: bool = True
    archived: int | None = None
    rights: dict[str, Right] = field(default_factory=dict)
    issues: dict[int, Issue] = field(default_factory=dict)
    labels: list[Label] = field(default_factory=list)
    releases: list[dict[str, object]] = field(default_factory=list)
    feeds: list[dict[str, object]] = field(default_factory=list)
    last_number: int = 0

    @property
    def full_name(self) -> str:
        return f"{self.owner.login}/{self.name}"

    def right_of(self, user: User | None) -> Right | None:
        """The user's permission; None for a private repository not shared with them."""
        if user and (user.admin or user is self.owner):
            return "admin"
        shared = self.rights.get(user.login) if user else None
        return shared or (None if self.private else "read")

    def may_write(self, user: User | None) -> bool:
        return self.right_of(user) in ("write", "admin")


@dataclass
class World:
    """The whole state of one server. Hold ``lock`` while touching anything of it."""

    flavour: Flavour
    url: str = ""
    clock: Callable[[], float] = time.time
    skew_s: float = 0.0
    users: dict[str, User] = field(default_factory=dict)
    tokens: dict[str, Token] = field(default_factory=dict)
    repos: dict[str, Repository] = field(default_factory=dict)
    moved: dict[str, Repository] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)
    _ids: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    _comment_ids: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def now(self) -> int:
        """The server's clock in whole seconds since the epoch, as its tables have them."""
        return int(self.clock() + self.skew_s)

    def new_id(self) -> int:
        return next(self._ids)

    def user(self, login: str, *, admin: bool = False) -> User:
        """The account with that name, created if missing."""
        if login.lower() not in self.users:
            self.users[login.lower()] = User(self.new_id(), login, self.now(), admin)
        return self.users[login.lower()]

    def token(self, login: str, scopes: tuple[str, ...]) -> Token:
        token = Token(secrets.token_hex(20), self.user(login), scopes)
        self.tokens[token.value] = token
        return token

    def repo(self, full_name: str) -> Repository:
        """Raises: KeyError."""
        return self.repos[full_name.lower()]

    def new_repo(self, full_name: str) -> Repository:
        owner, _, name = full_name.partition("/")
        now = self.now()
        repo = Repository(self.new_id(), self.user(owner), name, now, now)
        self.repos[full_name.lower()] = repo
        self.moved.pop(full_name.lower(), None)
        return repo

    def new_issue(self, repo: Repository, poster: User, title: str, body: str = "", *, pull: bool = False) -> Issue:
        """The title is cut without a word if it is long, and loses the spaces around it."""
        repo.last_number += 1
        now = self.now()
        issue = Issue(self.new_id(), repo.last_number, repo, poster, stored(title).strip(), body, now, now, pull)
        repo.issues[issue.number] = issue
        return issue

    def new_row(self, issue: Issue, poster: User, body: str, kind: str = "comment") -> Comment:
        """A comment or an event. Both count as an update of the issue."""
        now = self.now()
        row = Comment(next(self._comment_ids), issue, poster, body, now, now, kind)
        issue.rows.append(row)
        issue.updated = now
        return row

    def row(self, repo: Repository, row_id: int) -> Comment | None:
        """The row with that id, if it belongs to this repository."""
        return next((row for issue in repo.issues.values() for row in issue.rows if row.id == row_id), None)
