"""Users who joined by invitation, stored as one line of JSON each.

A span that begins or ends with the comment that says so is stored with -1, because that comment's id is not known
before it is written. Later versions of the list hold its id.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, Literal

from attrs import frozen

from holdfast.text import untrusted
from holdfast_gitea.wire.models import Comment, Issue

#: Used instead of the list's comment id.
THIS: Final = -1
#: Used instead of that comment's time.
NEVER: Final = datetime.min.replace(tzinfo=UTC)


@frozen(kw_only=True)
class Span:
    """When a user's records counted: comments after ``since`` and before ``until`` (0: still), with their times."""

    since: int
    since_at: datetime
    until: int = 0
    until_at: datetime | None = None


@frozen(kw_only=True)
class Member:
    """A user who joined by an invitation of the user ``by``.

    ``left``: the invitation was revoked, and the records from before still count. ``out``: they were taken over in
    addition, so that nothing this user can edit is read any more.
    """

    id: int
    login: str
    by: str
    state: Literal["joined", "left", "out"]
    spans: tuple[Span, ...]

    def counts(self, one: Comment | Issue) -> bool:
        """Whether the comment or issue was made while the invitation was in force."""
        if isinstance(one, Comment):
            return any(span.since < one.id and (not span.until or one.id < span.until) for span in self.spans)
        span = self.spans[-1]
        return self.state != "out" and span.since_at <= one.created_at <= (span.until_at or one.created_at)

    def edited_since(self, one: Comment) -> bool:
        """Whether the text was changed after the invitation ended. Its author could still do that on the server."""
        ended = self.spans[-1].until_at
        return ended is not None and one.was_edited and one.updated_at >= ended


def text_of(members: Iterable[Member]) -> str:
    """The list as a record holds it, by id."""
    return "\n".join(json.dumps(row_of(one), ensure_ascii=False) for one in sorted(members, key=lambda one: one.id))


def members_in(text: str, comment: int, at: datetime) -> tuple[Member, ...]:
    """The list in a record; ``comment`` is its comment and ``at`` the comment's time. Raises: ValueError, KeyError,
    TypeError or AttributeError for anything else."""
    return tuple(member_of(untrusted.from_json(line), comment, at) for line in text.split("\n") if line)


def row_of(one: Member) -> dict[str, Any]:
    """A member as JSON data."""
    spans = [[s.since, _text(s.since_at), s.until, _text(s.until_at)] for s in one.spans]
    return {"id": one.id, "login": one.login, "by": one.by, "state": one.state, "spans": spans}


def member_of(row: Mapping[str, Any], comment: int = 0, at: datetime = NEVER) -> Member:
    """The inverse of :func:`row_of`. Raises: as :func:`members_in`."""

    def spot(number: object, moment: str) -> tuple[int, datetime | None]:
        if type(number) is not int or not isinstance(moment, str):
            raise TypeError("spans")
        if number == THIS:
            return comment, at
        return number, datetime.fromisoformat(moment).astimezone(UTC) if moment else None

    spans: list[Span] = []
    for since, since_at, until, until_at in row["spans"]:
        (first, first_at), (last, last_at) = spot(since, since_at), spot(until, until_at)
        spans.append(Span(since=first, since_at=first_at or NEVER, until=last, until_at=last_at))
    state: Literal["joined", "left", "out"] = row["state"]
    if state not in ("joined", "left", "out") or type(row["id"]) is not int or not spans:
        raise ValueError("not a member")
    return Member(id=row["id"], login=str(row["login"]), by=str(row["by"]), state=state, spans=tuple(spans))


def _text(at: datetime | None) -> str:
    return at.isoformat() if at else ""
