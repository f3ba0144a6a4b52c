"""The server's answers as values. Every used field is checked, and an answer of another shape is an error."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final, TypeVar

from attrs import frozen

from holdfast.text import untrusted
from holdfast_gitea.wire.faults import garbled

T = TypeVar("T")

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
        body=_optional(row, "body", str, ""),
        state=_field(row, "state", str),
        author=text(row, "user", "login"),
        url=text(row, "html_url"),
        created_at=moment(row, "created_at"),
        updated_at=moment(row, "updated_at"),
        closed_at=moment(row, "closed_at") if row.get("closed_at") else None,
        comments=_optional(row, "comments", int, 0),
        labels=tuple(text(one, "name") for one in many(row.get("labels"))),
        assignees=tuple(text(one, "login") for one in many(row.get("assignees"))),
        content_version=_optional(row, "content_version", int, None),
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
        (found,) = untrusted.from_json(head + body + b'""}]')
    except ValueError as error:
        raise garbled("a long text has nothing before it") from error
    return {**table(found), **_UNREAD}


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
    found = value.get("id") if isinstance(value, Mapping) else 0
    return found if isinstance(found, int) and not isinstance(found, bool) and found > 0 else 0


def _optional(row: Mapping[str, object], key: str, kind: type[T], default: Any) -> Any:
    return default if row.get(key) is None else _field(row, key, kind)


def _field(row: Mapping[str, object], key: str, kind: type[T]) -> T:
    value = row.get(key)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise garbled(f"`{key}` is missing" if value is None else f"`{key}` is of a wrong kind")
    return value
