"""The server's answers as values. Every used field is checked, and an answer of another shape is an error."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final, TypeVar, cast

from attrs import frozen

from holdfast.text import untrusted
from holdfast_gitea.wire.faults import garbled

T = TypeVar("T")

#: Longest time between the two timestamps of an unedited comment, because the server takes them one after the other.
_AT_ONCE = timedelta(seconds=1)
#: Bytes of an answer. The longest document (512 KiB) is shorter with every character escaped, and what is around it.
MOST_OF_ONE: Final = 4 << 20
#: What the fields after the text are taken for when they were not read.
_UNREAD = {"body": "", "state": "open", "unread": True} | dict.fromkeys(
    ("created_at", "updated_at"), "1970-01-01T00:00Z"
)


@frozen(kw_only=True)
class Label:
    """A label of a repository."""

    id: int
    name: str


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
    labels: tuple[Label, ...] = ()
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
class Event:
    """A row of an issue's timeline. ``kind`` is the server's word; of the other fields only those of that kind are set.
    ``body`` of a label event is ``1`` when the label was added."""

    kind: str
    author: str
    url: str
    body: str
    at: datetime
    assignee: str = ""
    removed: bool = False
    label: str = ""
    milestone: str = ""
    old_title: str = ""
    new_title: str = ""


@frozen(kw_only=True)
class Review:
    """A review of a pull request. ``state`` is APPROVED, REQUEST_CHANGES, COMMENT or another word of the server;
    ``comments`` is the number of line comments."""

    author: str
    state: str
    body: str
    url: str
    commit: str
    comments: int
    at: datetime
    stale: bool
    dismissed: bool


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
    """Comments by ascending id. ``total`` is the server's count of matching comments; ``at`` is its clock in the
    answer, None if missing."""

    values: tuple[Comment, ...]
    total: int
    at: datetime | None = None


def issue(data: object) -> Issue:
    """Raises: Passing for anything but an issue."""
    table = _table(data, "an issue")
    pull = table.get("pull_request")
    return Issue(
        number=_field(table, "number", int),
        title=_field(table, "title", str),
        body=_optional(table, "body", str) or "",
        state=_field(table, "state", str),
        author=_author(table),
        url=_optional(table, "html_url", str) or "",
        created_at=_moment(table, "created_at"),
        updated_at=_moment(table, "updated_at"),
        closed_at=_moment(table, "closed_at") if table.get("closed_at") else None,
        comments=_optional(table, "comments", int) or 0,
        labels=tuple(label(one) for one in _optional(table, "labels", list) or ()),
        content_version=_optional(table, "content_version", int),
        is_pull=isinstance(pull, Mapping),
        merged=isinstance(pull, Mapping) and pull.get("merged") is True,
        author_id=user_id(table.get("user")),
        repository=user_id(table.get("repository")),
        unread=table.get("unread") is True,
    )


def comment(data: object) -> Comment:
    """Raises: Passing for anything but a comment."""
    table = _table(data, "a comment")
    place = _optional(table, "issue_url", str) or _optional(table, "pull_request_url", str) or ""
    number = place.rsplit("/", 1)[-1]
    body = _field(table, "body", str)
    unread = table.get("unread") is True or len(body) > MOST_OF_ONE
    return Comment(
        id=_field(table, "id", int),
        issue=int(number) if number.isascii() and number.isdigit() else 0,
        body="" if unread else body,
        author=_author(table),
        url=_optional(table, "html_url", str) or "",
        created_at=_moment(table, "created_at"),
        updated_at=_moment(table, "updated_at"),
        author_id=user_id(table.get("user")),
        unread=unread,
    )


def event(data: object) -> Event:
    """Raises: Passing for anything but a row of a timeline."""
    table = _table(data, "an event")

    def named(key: str, name: str) -> str:
        value = table.get(key)
        found = cast("Mapping[str, object]", value).get(name) if isinstance(value, Mapping) else ""
        return found if isinstance(found, str) else ""

    return Event(
        kind=_optional(table, "type", str) or "",
        author=_author(table),
        url=_optional(table, "html_url", str) or "",
        body=_optional(table, "body", str) or "",
        at=_moment(table, "created_at"),
        assignee=named("assignee", "login") or named("assignee_team", "name"),
        removed=bool(_optional(table, "removed_assignee", bool)),
        label=named("label", "name"),
        milestone=named("milestone", "title"),
        old_title=_optional(table, "old_title", str) or "",
        new_title=_optional(table, "new_title", str) or "",
    )


def review(data: object) -> Review:
    """Raises: Passing for anything but a review."""
    table = _table(data, "a review")
    return Review(
        author=_author(table),
        state=_optional(table, "state", str) or "",
        body=_optional(table, "body", str) or "",
        url=_optional(table, "html_url", str) or "",
        commit=_optional(table, "commit_id", str) or "",
        comments=_optional(table, "comments_count", int) or 0,
        at=_moment(table, "submitted_at"),
        stale=bool(_optional(table, "stale", bool)),
        dismissed=bool(_optional(table, "dismissed", bool)),
    )


def release(data: object) -> tuple[str, str, str, datetime]:
    """Name, author, address and time of publication. Raises: Passing for anything but a release."""
    table = _table(data, "a release")
    author = login(table.get("author"))
    name = _optional(table, "name", str) or _field(table, "tag_name", str)
    return name, author, _optional(table, "html_url", str) or "", _moment(table, "published_at")


def label(data: object) -> Label:
    """Raises: Passing for anything but a label."""
    table = _table(data, "a label")
    return Label(id=_field(table, "id", int), name=_field(table, "name", str))


def unread(start: bytes) -> Mapping[str, object]:
    """The thing in a list of one that was too long, as far as its fields come before the text. Raises: Passing."""
    head, body, _ = start.partition(b'"body":')  # a quotation mark inside a string is escaped
    try:
        (found,) = untrusted.from_json(head + body + b'""}]')
    except ValueError as error:
        raise garbled("a long text has nothing before it") from error
    return {**_table(found, "a list of one"), **_UNREAD}


def many(data: object) -> list[Any]:
    """Raises: Passing for anything but a list."""
    if data is None:  # how Go writes an empty one
        return []
    if not isinstance(data, list):
        raise garbled("a list was expected")
    return data


def _table(data: object, what: str) -> Mapping[str, object]:
    if not isinstance(data, Mapping):
        raise garbled(f"{what} was expected")
    return data


def _optional(table: Mapping[str, object], key: str, kind: type[T]) -> T | None:
    value = table.get(key)
    if value is None:
        return None
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise garbled(f"`{key}` is of a wrong kind")
    return value


def _field(table: Mapping[str, object], key: str, kind: type[T]) -> T:
    value = _optional(table, key, kind)
    if value is None:
        raise garbled(f"`{key}` is missing")
    return value


def _moment(table: Mapping[str, object], key: str) -> datetime:
    try:
        at = datetime.fromisoformat(_field(table, key, str))
    except ValueError as error:
        raise garbled(f"`{key}` is not a time") from error
    if at.tzinfo is None:
        raise garbled(f"`{key}` has no time zone")
    return at


def login(user: object) -> str:
    """A user's login, empty without a user."""
    found = cast("Mapping[str, object]", user).get("login") if isinstance(user, Mapping) else ""
    return found if isinstance(found, str) else ""


def user_id(value: object) -> int:
    """A user's or repository's id. 0 without one, and for the server's stand-ins for deleted users."""
    found = cast("Mapping[str, object]", value).get("id") if isinstance(value, Mapping) else 0
    return found if isinstance(found, int) and not isinstance(found, bool) and found > 0 else 0


def _author(table: Mapping[str, object]) -> str:
    return login(table.get("user"))
