"""Lists in pages. Readers of a repository can write text of any length there, which must not make a list unreadable.

A too long page's rows are requested one by one. A row that alone is longer than anything that holdfast
writes is skipped unread. The server sends its number, author and address before its text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from attrs import frozen

from holdfast_gitea.wire import models
from holdfast_gitea.wire.faults import TooLong, garbled
from holdfast_gitea.wire.models import Comment
from holdfast_keys.transport import Answer

Get = Callable[..., Answer]

PAGE: Final = 50  # more is never sent
PAGES: Final = 2000  # a list that does not end is an error
#: Empty pages of a timeline after which it has ended. The server leaves out events that the token may not see.
_EMPTY: Final = 20


@frozen(kw_only=True)
class Page:
    """Rows as the server sent them; ``total`` of the list and the server's clock, as far as it says."""

    rows: list[Any]
    total: int | None
    at: datetime | None


def page(get: Get, path: str, number: int, **params: str | int) -> Page:
    """The page with that number, from 1 on, of at most :data:`PAGE` rows. Raises: Unavailable."""
    try:
        answer = get(path, **params, page=number, limit=PAGE)
        return Page(rows=models.many(answer.data), total=answer.total, at=answer.at)
    except TooLong as error:
        return Page(rows=list(_one_by_one(get, path, number, params)), total=error.total, at=error.at)


def everything(get: Get, path: str, **params: str | int) -> list[Comment]:
    """A whole list of comments whose total the server says, by ascending id. Raises: Unavailable."""
    found: dict[int, Comment] = {}
    for number in range(1, PAGES):
        some = page(get, path, number, **params)
        found.update((one.id, one) for one in map(models.comment, some.rows))
        if not some.rows or len(found) == some.total:
            return [found[one] for one in sorted(found)]
    raise garbled("a list does not end")


def comments(get: Get, number: int, total: int, **params: str | int) -> list[Comment]:
    """All ``total`` comments of an issue whose list, which has no pages, is too long. Raises: Unavailable."""
    found: dict[int, Comment] = {}
    place = empty = 0
    while len(found) < total and empty <= _EMPTY:
        place += 1
        rows = 0
        for row in _one_by_one(get, f"/issues/{number}/timeline", place, params):
            rows += 1
            if row is not None and row.get("type") == "comment":
                one = models.comment(row)
                found[one.id] = one
                if len(found) >= total:  # each request for one row more makes the server read all text
                    break
        empty = 0 if rows else empty + 1
    if len(found) < total:
        raise garbled("a list of comments ends before its last one")
    return list(found.values())


def _one_by_one(get: Get, path: str, number: int, params: Mapping[str, str | int]) -> Iterator[Any]:
    """A too long page's rows, one by one."""
    for place in range((number - 1) * PAGE + 1, number * PAGE + 1):
        try:
            yield from models.many(get(path, models.MOST_OF_ONE, **params, page=place, limit=1).data)
        except TooLong as error:
            yield models.unread(error.start)


def since_of(moment: datetime | None) -> dict[str, str | int]:
    """The parameter for a list of what changed at or after ``moment``."""
    return {"since": stamp(moment)} if moment else {}


def stamp(moment: datetime) -> str:
    """``moment`` as the server takes it."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
