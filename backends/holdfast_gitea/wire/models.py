"""The server's answers as values, its lists in pages, and its errors, which all servers share
(:mod:`holdfast_keys.faults`). Every used field is checked, and an answer of another shape is an error.

Readers of a repository can write text of any length there, which must not make a list unreadable. A too long page's
rows are requested one by one. A row that alone is longer than anything that holdfast writes is skipped unread. The
server sends its number, author and address before its text.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, Final, TypeVar

from attrs import frozen

from holdfast.text import untrusted
from holdfast_keys.faults import Service, TooLong, stamp
from holdfast_keys.transport import Answer

T = TypeVar("T")

GITEA: Final = Service(
    "Gitea",
    "gitea",
    path="/api/v1",
    scheme="token",
    scopes="the scope `write:issue`",
    refused_step="Check its log, and that its version is 1.25 or later.",
    extra="gitea",
)
garbled = GITEA.garbled
PAGE: Final = 50  # more is never sent
PAGES: Final = 2000  # a list that does not end is an error
#: Empty pages of a timeline after which it has ended. The server leaves out events that the token may not see.
_EMPTY: Final = 20
#: Longest time between the two timestamps of an unedited comment, because the server takes them one after the other.
_AT_ONCE: Final = timedelta(seconds=1)
#: Bytes of an answer. The longest document (512 KiB) is shorter, even with every character escaped and its frame.
MOST_OF_ONE: Final = 4 << 20
#: Defaults for the fields after the text, when they were not read.
_UNREAD: Final = {"body": "", "state": "open", "unread": True} | dict.fromkeys(
    ("created_at", "updated_at"), "1970-01-01T00:00Z"
)


@frozen(kw_only=True)
class Issue:
    """An issue or a pull request. ``comments`` is how many it has; times are whole seconds, as the server keeps them.

    ``content_version`` guards an edit of the body; None where the server has none (before 1.26, and Forgejo).
    ``author_id`` and ``repository`` are ids, 0 if missing. Names can change hands, ids do not. ``unread``: it is too
    long to be read, so only number, title, author and address are known.
    """

    number: int
    title: str
    body: str
    state: str
    author: str
    url: str
    created_at: datetime
    updated_at: datetime
    closed_at: datetime | None = None
    comments: int = 0
    labels: tuple[str, ...] = ()
    assignees: tuple[str, ...] = ()
    content_version: int | None = None
    is_pull: bool = False
    merged: bool = False
    author_id: int = 0
    repository: int = 0
    unread: bool = False

    @property
    def is_open(self) -> bool:
        return self.state == "open"


@frozen(kw_only=True)
class Comment:
    """A comment. Ids rise in order of creation on the whole server; times need not.

    ``issue`` is its issue's or pull request's number. ``author_id`` is 0 if missing. ``doubted``: the text may not be
    the author's, because it was edited at a time when its author no longer counted. ``unread``: it is too long to be
    read, so only id, author and address are known.
    """

    id: int
    issue: int
    body: str
    author: str
    url: str
    created_at: datetime
    updated_at: datetime
    author_id: int = 0
    doubted: bool = False
    unread: bool = False

    @property
    def was_edited(self) -> bool:
        """Whether its text was changed on the server. An edit within the same second as the creation does not show."""
        return self.updated_at - self.created_at > _AT_ONCE


@frozen(kw_only=True)
class Comments:
    """Comments by ascending id. ``at`` is the server's clock in the answer, None if missing."""

    values: tuple[Comment, ...]
    at: datetime | None = None


def issue(data: object) -> Issue:
    """Raises: Passing for anything but an issue."""
    row = table(data)
    pull = row.get("pull_request")
    return Issue(
        number=_field(row, "number", int),
        title=_field(row, "title", str),
        body=_field(row, "body", str) if row.get("body") else "",
        state=_field(row, "state", str),
        author=text(row, "user", "login"),
        url=text(row, "html_url"),
        created_at=moment(row, "created_at"),
        updated_at=moment(row, "updated_at"),
        closed_at=moment(row, "closed_at") if row.get("closed_at") else None,
        comments=_field(row, "comments", int) if row.get("comments") else 0,
        labels=tuple(text(label, "name") for label in many(row.get("labels"))),
        assignees=tuple(text(assignee, "login") for assignee in many(row.get("assignees"))),
        content_version=None if row.get("content_version") is None else _field(row, "content_version", int),
        is_pull=isinstance(pull, Mapping),
        merged=isinstance(pull, Mapping) and pull.get("merged") is True,
        author_id=id_of(row.get("user")),
        repository=id_of(row.get("repository")),
        unread=row.get("unread") is True,
    )


def comment(data: object) -> Comment:
    """Raises: Passing for anything but a comment."""
    row = table(data)
    number = (text(row, "issue_url") or text(row, "pull_request_url")).rsplit("/", 1)[-1]
    body = _field(row, "body", str)
    unread = row.get("unread") is True or len(body) > MOST_OF_ONE
    return Comment(
        id=_field(row, "id", int),
        issue=int(number) if number.isascii() and number.isdigit() else 0,
        body="" if unread else body,
        author=text(row, "user", "login"),
        url=text(row, "html_url"),
        created_at=moment(row, "created_at"),
        updated_at=moment(row, "updated_at"),
        author_id=id_of(row.get("user")),
        unread=unread,
    )


def unread(start: bytes) -> Mapping[str, object]:
    """The only item of a list that was too long, with the fields before its text. Raises: Passing."""
    head, body, _ = start.partition(b'"body":')  # a quotation mark inside a string is escaped
    try:
        (row,) = untrusted.from_json(head + body + b'""}]')
    except ValueError as error:
        raise garbled("a long text has nothing before it") from error
    return {**table(row), **_UNREAD}


def many(data: object) -> list[Any]:
    """Raises: Passing for anything but a list."""
    if data is None:  # how Go writes an empty one
        return []
    if not isinstance(data, list):
        raise garbled("a list was expected")
    return data


def table(data: object) -> Mapping[str, object]:
    """Raises: Passing for anything but an object."""
    if not isinstance(data, Mapping):
        raise garbled("an object was expected")
    return data


def text(value: object, *keys: str) -> str:
    """The string at ``keys`` in nested objects, empty when there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, str) else ""


def moment(row: Mapping[str, object], key: str) -> datetime:
    """The time at ``key``. Raises: Passing for anything but an aware time."""
    try:
        at = datetime.fromisoformat(_field(row, key, str))
    except ValueError as error:
        raise garbled(f"`{key}` is not a time") from error
    if at.tzinfo is None:
        raise garbled(f"`{key}` has no time zone")
    return at


def id_of(value: object) -> int:
    """A user's or repository's id. 0 without one, and for the server's stand-ins for deleted users."""
    number = value.get("id") if isinstance(value, Mapping) else 0
    return number if isinstance(number, int) and not isinstance(number, bool) and number > 0 else 0


def _field(row: Mapping[str, object], key: str, kind: type[T]) -> T:
    value = row.get(key)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise garbled(f"`{key}` is missing" if value is None else f"`{key}` is of a wrong kind")
    return value


def page(get: Callable[..., Answer], path: str, number: int, **params: str | int) -> Answer:
    """The page with that number, from 1 on, of at most :data:`PAGE` rows. Raises: Unavailable."""
    try:
        answer = get(path, **params, page=number, limit=PAGE)
        return answer._replace(data=many(answer.data))
    except TooLong as error:
        rows = list(_one_by_one(get, path, number, params))
        return Answer(status=200, data=rows, total=error.total, at=error.at, following={})


def everything(get: Callable[..., Answer], path: str, **params: str | int) -> list[Comment]:
    """A whole list of comments whose total the server says, by ascending id. Raises: Unavailable."""
    by_id: dict[int, Comment] = {}
    for number in range(1, PAGES):
        some = page(get, path, number, **params)
        by_id.update((parsed.id, parsed) for parsed in map(comment, some.data))
        if not some.data or len(by_id) == some.total:
            return [by_id[comment_id] for comment_id in sorted(by_id)]
    raise garbled("a list does not end")


def comments(get: Callable[..., Answer], number: int, total: int, **params: str | int) -> list[Comment]:
    """All ``total`` comments of an issue whose list, which has no pages, is too long. Raises: Unavailable."""
    by_id: dict[int, Comment] = {}
    place = empty = 0
    while len(by_id) < total and empty <= _EMPTY:
        place += 1
        rows = 0
        for row in _one_by_one(get, f"/issues/{number}/timeline", place, params):
            rows += 1
            if row is not None and row.get("type") == "comment":
                parsed = comment(row)
                by_id[parsed.id] = parsed
                if len(by_id) >= total:  # each request for one row more makes the server read all text
                    break
        empty = 0 if rows else empty + 1
    if len(by_id) < total:
        raise garbled("a list of comments ends before its last one")
    return list(by_id.values())


def _one_by_one(get: Callable[..., Answer], path: str, number: int, params: Mapping[str, str | int]) -> Iterator[Any]:
    """A too long page's rows, one by one."""
    for place in range((number - 1) * PAGE + 1, number * PAGE + 1):
        try:
            yield from many(get(path, MOST_OF_ONE, **params, page=place, limit=1).data)
        except TooLong as error:
            yield unread(error.start)


def since_of(moment: datetime | None) -> dict[str, str | int]:
    """The parameter for a list of what changed at or after ``moment``."""
    return {"since": stamp(moment)} if moment else {}
