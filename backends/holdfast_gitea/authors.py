"""Whose records count: everyone who can read the repository can comment there.

Records count from the token's own user, from the repository's owner (who can edit and delete everything anyway), from
the users named in ``[storage] authors``, which a project's own file cannot set before the user trusts it, and from
users whom these have invited (:mod:`holdfast_gitea.invitations`). A signature would need one more secret on each
machine, and the server already proves who wrote a comment.

Users who joined by invitation are stored as one line of JSON each. A span that begins or ends with the comment that
says so is stored with -1, because that comment's id is not known before it is written. Later versions of the list hold
its id.

Logins can change hands. An invitation names an account by its id, and this machine remembers each name's id.
"""

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Final, Literal
from urllib.parse import quote

from attrs import evolve, frozen

from holdfast.errors import ConfigError, Corrupt, Refused
from holdfast.text import untrusted
from holdfast_gitea import marker
from holdfast_gitea.replay import is_accept
from holdfast_gitea.wire.client import Repo
from holdfast_gitea.wire.models import Comment, Issue
from holdfast_keys.faults import Absent, Closed

#: The next step when another user's records are found.
NEXT_STEP: Final = (
    "If that user is yours, run `holdfast gitea invite USER` or name it in `[storage] authors`; otherwise remove its "
    "access to the repository."
)

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

    def counts(self, post: Comment | Issue) -> bool:
        """Whether the comment or issue was made while the invitation was in force."""
        if isinstance(post, Comment):
            return any(span.since < post.id and (not span.until or post.id < span.until) for span in self.spans)
        span = self.spans[-1]
        return self.state != "out" and span.since_at <= post.created_at <= (span.until_at or post.created_at)


def too_long(url: str) -> Corrupt:
    """The error for a comment too long to read, by a user whose records count. It may be an edited record."""
    return Corrupt(f"{url} is longer than anything that holdfast writes.", next_step="Shorten or delete it there.")


class Authors:
    """The users whose records count in one store. ``named`` are logins; case is ignored, as on the server."""

    def __init__(self, repo: Repo, named: Iterable[str] = ()) -> None:
        self._repo = repo
        self.named = frozenset(name.casefold() for name in named if name.strip())
        self.owner = repo.name.partition("/")[0]
        self._always = self.named | {self.owner.casefold()}
        #: The token's user as an earlier process of this machine knew it.
        self.remembered = ""
        self.remembered_id = 0
        #: Names and their ids, as this machine first saw them.
        self.ids: dict[str, int] = {}
        #: Users who were invited, by id. Set by :class:`holdfast_gitea.index.Index`.
        self.members: Mapping[int, Member] = {}
        #: Whether the token's user may invite: not where the owner or a named user keeps a list.
        self.own_invites = True
        self._asked = False

    @property
    def own(self) -> str:
        """The token user's login in lower case, if known."""
        return self._repo.user.casefold() or self.remembered

    @property
    def own_id(self) -> int:
        """The token user's id, 0 if unknown."""
        return self._repo.user_id or (0 if self._repo.user else self.remembered_id)

    def counts(self, post: Comment | Issue, number: int) -> bool:
        """Whether a record's or issue's author counts. ``number`` is the issue it is in.

        Costs a request or two when the answer depends on the token's user and that user is uncertain. An earlier
        answer may be out of date, because users can change their login. Raises: ConfigError when the server does
        not show whose token it is and no authors are named; Unavailable.
        """
        if self._is_named(post):
            return True
        member = self.members.get(post.author_id)
        return member.counts(post) if member else self._is_own(post, number)

    def may_invite(self, post: Comment | Issue, number: int) -> bool:
        """Whether the author decides who counts. Users who were invited do not. Raises: as :meth:`counts`."""
        return self._is_named(post) or (self.own_invites and self._is_own(post, number))

    def is_account(self, user_id: int) -> bool:
        """Whether the account is the owner's or a named user's."""
        return user_id in self.ids.values()

    def check_own(self, number: int, elder: int) -> None:
        """Raises: Refused while other machines would not read the token user's records, so that they would be lost.

        ``number`` is any issue of the store, 0 if there is none; ``elder`` is the store's first issue if a user made
        it whose records do not count here, otherwise 0.
        """
        member = self.own_member(number)
        if not self.own or self.own in self._always or self.is_account(self.own_id):
            return
        if member is not None:
            if member.state == "joined":
                return
            raise Refused(
                f"The invitation of {member.login} to {self._repo.name} was revoked, so its records do not count.",
                next_step=f"Ask {member.by} to run `holdfast gitea invite {member.login}`.",
            )
        if not self.named and not elder and self._is_organizations:
            return  # no one can be its owner, and all machines use this user's token
        raise Refused(
            f"Nothing was written, because the records of {self.own} do not count in {self._repo.name} yet.",
            next_step=f"Ask {self.owner} to run `holdfast gitea invite {self.own}`, or add {self.own} to `[storage] "
            "authors` on all machines. Then try again.",
        )

    def own_member(self, number: int) -> Member | None:
        """The token user's invitation, None if the user has none or needs none."""
        if not self.own and not self._asked and number:
            self._asked = True
            self._repo.whoami(number)
        if self.own in self._always:
            return None
        known = self.members.get(self.own_id)
        return known or next((member for member in self.members.values() if member.login.casefold() == self.own), None)

    def split(
        self, comments: Iterable[Comment], number: int, *, inviting: bool = False
    ) -> tuple[tuple[Comment, ...], tuple[Comment, ...]]:
        """The comments that matter to a store (records and acceptances): those that count, and other users', with the
        unread ones among these.

        ``inviting``: only authors who may invite count. Raises: Corrupt for an unread comment that may count.
        """
        counted: list[Comment] = []
        foreign: list[Comment] = []
        for comment in comments:
            if not comment.unread and marker.fields(comment.body) is None and not is_accept(comment):
                continue
            if not (self.may_invite if inviting else self.counts)(comment, number):
                foreign.append(comment)
                continue
            if comment.unread:
                raise too_long(comment.url)
            member = self.members.get(comment.author_id)
            ended = member.spans[-1].until_at if member else None
            # After the invitation ended, its author could still change the text on the server.
            is_doubted = ended is not None and comment.was_edited and comment.updated_at >= ended
            counted.append(evolve(comment, doubted=is_doubted))
        return tuple(counted), tuple(foreign)

    @cached_property
    def _is_organizations(self) -> bool:
        """Whether the server shows that the repository's owner is an organization."""
        with suppress(Absent, Closed):
            return bool(self._repo.outside(f"/orgs/{quote(self.owner, safe='')}"))
        return False

    def _is_named(self, post: Comment | Issue) -> bool:
        """Whether the owner or a named user wrote it, with the account that this machine first saw under that name."""
        login = post.author.casefold()
        if post.author_id and post.author_id in self.ids.values():
            return True  # a known account, whatever it is called now
        if login not in self._always:
            return False
        return not post.author_id or self.ids.setdefault(login, post.author_id) == post.author_id

    def _is_own(self, post: Comment | Issue, number: int) -> bool:
        if self._matches(post):
            return True
        if not self._repo.user and not self._asked:
            self._asked = True
            self._repo.whoami(number)
            if not self._repo.user and not self.remembered and not self.named:
                self._asked = False
                raise ConfigError(
                    f"The server does not show whose token this is, so it is unknown whose records count in "
                    f"{self._repo.name}.",
                    next_step="Name the users in `[storage] authors`, or add `read:user` to the token's scopes.",
                )
        return self._matches(post)

    def _matches(self, post: Comment | Issue) -> bool:
        """Whether the token's user is known to have written it."""
        if self.own_id and post.author_id:
            return post.author_id == self.own_id
        return bool(post.author) and post.author.casefold() == self.own


def text_of(members: Iterable[Member]) -> str:
    rows = []
    for member in sorted(members, key=lambda member: member.id):
        spans = [[s.since, _text(s.since_at), s.until, _text(s.until_at)] for s in member.spans]
        rows.append({"id": member.id, "login": member.login, "by": member.by, "state": member.state, "spans": spans})
    return "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)


def members_in(text: str, comment: int, at: datetime) -> tuple[Member, ...]:
    """The list in a record; ``comment`` is its comment and ``at`` the comment's time. Raises: ValueError, KeyError,
    TypeError or AttributeError for anything else."""
    return tuple(_member(untrusted.from_json(line), comment, at) for line in text.split("\n") if line)


def _member(row: Mapping[str, Any], comment: int, at: datetime) -> Member:
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
