"""A request and its answer, and the checks before every handler, in the real server's order: wrong token, scope,
repository, missing token, archive, body."""

import html
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import quote

from .state import Comment, Issue, Repository, Token, User, World

#: The fields the server accepts. ``labels`` is checked by each call, because its meaning differs between two calls.
FIELDS = {
    "title": "string", "body": "string", "state": "string", "content": "string",
    "name": "string", "color": "string", "description": "string",
    "content_version": "int", "closed": "bool", "labels": "[]",
}  # fmt: skip
DEFAULT_PAGE = 30
MOST_ON_A_PAGE = 50


@dataclass(frozen=True)
class Answer:
    """A status, a value to be sent as JSON (bytes as they are, ``...`` for no body at all) and headers."""

    status: int
    value: object = ...
    headers: Mapping[str, str] = field(default_factory=dict)


class Stop(Exception):
    """An answer that ends the request early."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.status)
        self.answer = answer


@dataclass
class Call:
    """A request being checked."""

    world: World
    method: str
    path: str
    query: Mapping[str, str]
    raw_query: str
    headers: Mapping[str, str]
    body: bytes
    params: Mapping[str, str] = field(default_factory=dict)
    token: Token | None = None

    def fail(self, status: int, message: str) -> Stop:
        return Stop(Answer(status, {"message": message, "url": f"{self.world.url}/api/swagger"}))

    def missing(self, *errors: str, message: str = "not found") -> Stop:
        """404 as the server words it."""
        value = {"errors": list(errors) or None, "message": message, "url": f"{self.world.url}/api/swagger"}
        return Stop(Answer(404, value))

    def broken(self) -> Stop:
        """500. Only administrators see the reason."""
        return self.fail(500, "")

    # --- who calls -------------------------------------------------------------------------------------------------

    def authenticate(self) -> None:
        """Find the token in the ``Authorization`` header. Raises: Stop 401 for an unknown token.

        An unreadable header counts as missing.
        """
        scheme, _, value = self.headers.get("Authorization", "").partition(" ")
        candidates: list[str] = []
        if scheme.lower() in ("token", "bearer"):
            candidates = value.split()
        if not candidates:
            return
        self.token = next((self.world.tokens[c] for c in candidates if c in self.world.tokens), None)
        if self.token is None:
            raise self.fail(401, "invalid username, password or token")

    def need_scope(self, category: str) -> None:
        """Raises: Stop 403 when the token has not the scope that the method asks for."""
        if not self.token:
            return
        level = "read" if self.method in ("GET", "HEAD") else "write"
        enough = {"all", f"write:{category}", f"{level}:{category}"}
        if enough.isdisjoint(self.token.scopes):
            scopes = ",".join(self.token.scopes)
            raise self.fail(
                403,
                "token does not have at least one of required scope(s), "
                f"required=[{level}:{category}], token scope={scopes}",
            )

    def need_token(self) -> None:
        """Raises: Stop 401 without one."""
        if not self.token:
            raise self.fail(401, "token is required")

    @property
    def doer(self) -> User:
        """Who calls. Raises: Stop 401 without a token."""
        if not self.token:
            raise self.fail(401, "token is required")
        return self.token.user

    @property
    def caller(self) -> User | None:
        return self.token.user if self.token else None

    # --- the interface ---------------------------------------------------------------------------------------------

    @property
    def repo(self) -> Repository:
        """The path's repository. Raises: Stop 404, also for a private repository; 301 for a renamed one."""
        name = f"{self.params['owner']}/{self.params['repo']}"
        found = self.world.repos.get(name.lower())
        if found is None:
            moved = self.world.moved.get(name.lower())
            if moved is None and self.params["owner"].lower() not in self.world.users:
                unknown = f"user redirect does not exist [name: {self.params['owner']}]"
                raise self.missing(unknown, message="GetUserByName")
            if moved is None:
                raise self.missing()
            raise self._moved_to(self.path.replace(name, f"{quote(moved.owner.login)}/{quote(moved.name)}", 1))
        if found.right_of(self.caller) is None:
            raise self.missing()
        return found

    def _moved_to(self, path: str) -> Stop:
        """301, to a GET with a line of HTML."""
        place = path + (f"?{self.raw_query}" if self.raw_query else "")
        if self.method != "GET":
            return Stop(Answer(301, ..., {"Location": place}))
        page = f'<a href="{html.escape(place)}">Moved Permanently</a>.\n\n'
        return Stop(Answer(301, page.encode(), {"Location": place, "Content-Type": "text/html; charset=utf-8"}))

    def check_repo(self) -> None:
        """Raises: Stop, as ``repo`` does, before any other check."""
        _ = self.repo

    def live_repo(self) -> Repository:
        """The repository. Raises: Stop 423 if it is archived."""
        if self.repo.archived:
            raise self.fail(423, f"{self.repo.full_name} is archived")
        return self.repo

    def issue(self, *, otherwise: Stop | None = None) -> Issue:
        found = self.repo.issues.get(self.number("index"))
        if found is None:
            raise otherwise or self.missing()
        return found

    def comment(self) -> Comment:
        """The comment or event of the path. Raises: Stop 404."""
        found = self.world.row(self.repo, self.number("id"))
        if found is None:
            raise self.missing(f"comment does not exist [id: {self.number('id')}, issue_id: 0]")
        return found

    def number(self, name: str) -> int:
        text = self.params[name]
        return int(text) if text.isdecimal() else 0

    # --- side effects ---------------------------------------------------------------------------------------------

    def form(self, *required: str) -> dict[str, Any]:
        """The JSON body. Raises: Stop 422 for invalid JSON, a wrong type, or a required field missing or empty."""
        if self.body and self.headers.get("Content-Type", "").partition(";")[0].strip() not in ("", "application/json"):
            raise self.fail(422, "[]: Unsupported Content-Type")
        try:
            value = json.loads(self.body or b"{}")
        except ValueError as error:
            raise self.fail(422, f"[]: {error}") from error
        if not isinstance(value, dict):
            raise self.fail(422, "[]: json: cannot unmarshal into Go value")
        for name, kind in FIELDS.items():
            if name == "content_version" and self.world.flavour != "1.26":
                continue
            if value.get(name) is not None and not _is(value[name], kind):
                raise self.fail(422, f"[]: json: cannot unmarshal into Go struct field {name} of type {kind}")
        for name in required:
            if not value.get(name):
                raise self.fail(422, f"[{name.title()}]: Required")
        return value

    def page(self) -> tuple[int, int]:
        """Page, or 0 if none was sent, and size."""
        page, limit = (self._whole(name) for name in ("page", "limit"))
        return max(page, 0), min(limit, MOST_ON_A_PAGE) if limit > 0 else DEFAULT_PAGE

    def _whole(self, name: str) -> int:
        try:
            return int(self.query.get(name, ""))
        except ValueError:
            return 0

    def window(self) -> tuple[int, int | None]:
        """``since`` and ``before`` in whole seconds, both inclusive. Raises: Stop 422 for times not in RFC 3339."""
        since, before = (self._moment(name) for name in ("since", "before"))
        return since or 0, before

    def _moment(self, name: str) -> int | None:
        text = self.query.get(name, "").strip()
        if not text:
            return None
        try:
            moment = datetime.fromisoformat(text)
            if moment.tzinfo is None:
                raise ValueError(text)
        except ValueError as error:
            raise self.fail(422, f'parsing time "{text}" as "2006-01-02T15:04:05Z07:00": cannot parse') from error
        return int(moment.timestamp() // 1)


def _is(value: object, kind: str) -> bool:
    types: dict[str, type] = {"string": str, "int": int, "bool": bool, "[]": list}
    return type(value) is types[kind]
