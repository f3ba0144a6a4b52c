"""A small client of Gitea and Forgejo: issues, comments and labels of one repository.

It handles undocumented behaviour of these servers. They never paginate an issue's comments and answer 500 there for a
missing issue, an unknown label name unfilters a list, ``since`` is inclusive in whole seconds. Reads are retried after
transient errors. A write is tried once, except by :meth:`Repo.publish`, which is safe to repeat because it searches
for its record before every try. Redirects are never followed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from typing import Any, Final, Literal, TypeVar

from holdfast.errors import ConfigError, HoldfastError, NotFound
from holdfast_gitea import marker
from holdfast_gitea.wire import models
from holdfast_gitea.wire.models import GITEA, PAGE, PAGES, Comment, Comments, Issue, garbled, since_of
from holdfast_keys.faults import MAX_ANSWER_BYTES, Absent, Closed, Passing, Service, TooLong, stamp
from holdfast_keys.transport import Answer, Transport

T = TypeVar("T")

#: How far back to list when searching for a lost try's result. Servers that share an address may have different
#: clocks, and a write may still be in progress after its answer timed out.
MARGIN: Final = timedelta(minutes=2)
#: The kind of comment on the work itself.
TRAIL: Final = "trail"
_REPOSITORY: Final = re.compile(r"(?!\.+/)[A-Za-z0-9._-]+/(?!\.+$)[A-Za-z0-9._-]+")


class Gitea(Transport):
    """A server, as a context that closes its connections."""

    def __init__(self, server: str, token: str, *, service: Service = GITEA, **options: Any) -> None:
        super().__init__(server, token, service=service, **options)

    def server_version(self) -> str:
        """The server's version, like ``1.26.3`` or ``11.0.1+gitea-1.22.0`` (Forgejo)."""
        version = models.text(self.get("/version").data, "version")
        if not version:
            raise garbled("it names no version")
        return version

    def user(self) -> str:
        """The token user's login; empty when the token may not read it (that takes `read:user`)."""
        try:
            return models.text(self.get("/user").data, "login")
        except (Absent, Closed):
            return ""

    def repo(self, name: str) -> Repo:
        """The repository ``owner/name``, without a request. Raises: ConfigError for another form."""
        if not _REPOSITORY.fullmatch(name):
            raise ConfigError(
                f"storage.repository cannot be {name[:80]!r}.", next_step='Write it like "owner/repository".'
            )
        return Repo(self, name)


class Repo:
    """A repository's issues, comments and labels.

    All calls may raise Unavailable: :class:`~holdfast_keys.faults.Passing` when the same call may succeed later,
    or :class:`~holdfast_keys.faults.Closed` with the next step. A repository that is gone, renamed or not shown
    is an error, never an empty list.
    """

    def __init__(self, transport: Transport, name: str) -> None:
        self.transport = transport
        self.name = name
        #: The token user's login and id, once an answer has contained them.
        self.user = ""
        self.user_id = 0

    @property
    def url(self) -> str:
        """Where people find it."""
        return f"{self.transport.server}/{self.name}"

    def check_write(self) -> None:
        """Raises: Closed when the token may not write issues. Writes nothing, because the request lacks the title."""
        try:
            self.transport.patiently(lambda: self._once("POST", "/issues", {"title": ""}))
        except Closed as error:
            if error.status != 422:
                raise

    def readers(self) -> tuple[Literal["public", "internal", "private", "unknown"], tuple[str, ...]]:
        """Who can read the repository: everyone, every user of the server, or these collaborators; as far as the
        token is shown that (`read:repository` is)."""
        try:
            repository = self.get("").data
            if repository["private"] is not True:
                return "public", ()
            if repository.get("internal") is True:
                return "internal", ()
            logins = (models.text(row, "login") for row in self.rows("/collaborators"))
            return "private", tuple(sorted(filter(None, logins)))
        except (Absent, Closed, KeyError, TypeError):
            return "public" if self.is_public() else "unknown", ()

    def is_public(self) -> bool:
        """Whether everyone can read the repository's issues without a token."""
        try:
            self.transport.once("GET", f"/repos/{self.name}/issues", params={"limit": 1, "page": 1}, public=True)
        except (Absent, Closed):
            return False
        return True

    def check(self) -> None:
        """Raises: Absent, Closed or Passing when the repository's issues cannot be read."""
        self.get("/issues", state="all", type="issues", page=1, limit=1)

    def whoami(self, number: int) -> None:
        """Ask for the token's user, which is in :attr:`user` afterwards, unless the server does not show it.

        A token with `write:issue` alone may not ask directly. Its reaction to issue ``number`` shows the user: adding
        the same one again changes nothing, and it sends no mail.
        """
        try:
            user = self.transport.get("/user").data
        except (Absent, Closed):
            try:
                path, send = f"/issues/{number}/reactions", {"content": "eyes"}
                user = self.transport.patiently(lambda: self._once("POST", path, send)).data["user"]
            except (Absent, Closed, TypeError, KeyError):
                return
        self._learn_user(user)

    def outside(self, path: str) -> Answer:
        """Read something outside of this repository, without the token if that lacks the scope. ``path`` begins after
        ``/api/v1``. Raises: Absent, Closed, Passing."""
        try:
            return self.transport.get(path)
        except Closed:
            return self.transport.patiently(lambda: self.transport.once("GET", path, public=True))

    def _learn_user(self, user: object) -> None:
        """Remember whose token it is."""
        if login := models.text(user, "login"):
            self.user, self.user_id = login, models.id_of(user)

    # --- issues

    def issue(self, number: int) -> Issue | None:
        """The issue or pull request, or None when the repository has none of that number."""
        try:
            return models.issue(self.get(f"/issues/{number}").data)
        except Absent:
            self.check()  # the issue may be missing because the repository is
            return None

    def issues(self, *, since: datetime | None = None, pulls: bool = False) -> tuple[list[Issue], datetime | None]:
        """All issues, by ascending number, also ``pulls``; with ``since`` those changed at or after that second. The
        second value is the server's time as it began to answer, from which the next list can go on."""
        params = {"state": "all", **since_of(since), **({} if pulls else {"type": "issues"})}
        for _ in range(3):
            by_number: dict[int, Issue] = {}
            began: datetime | None = None
            for page in range(1, PAGES):
                answer = models.page(self.get, "/issues", page, **params)
                began = began or answer.at
                some = [models.issue(row) for row in answer.data]
                by_number.update((issue.number, issue) for issue in some)
                if not some or len(by_number) == answer.total:
                    break
            # New issues come first and push others to the next page, which is harmless. A deletion meanwhile pulls an
            # issue from the next page to this one, where it would be missed.
            if answer.total is None or len(by_number) >= answer.total:
                return [by_number[number] for number in sorted(by_number)], began
        raise garbled("the list of issues changes faster than it can be read")

    def create_issue(self, title: str, body: str) -> Issue:
        """Make an issue. Titles are not unique, and cut at 255 characters. A single try."""
        answer = self._once("POST", "/issues", {"title": title, "body": body}).data
        made = models.issue(answer)
        self._learn_user(answer.get("user"))
        return made

    def edit_issue(
        self,
        number: int,
        *,
        body: str | None = None,
        state: Literal["open", "closed"] | None = None,
        title: str | None = None,
        content_version: int | None = None,
    ) -> Issue:
        """Change one field, because the server would change several in sequence. A single try, and safe to repeat.

        Raises: Conflict when ``content_version`` is not the stored one (only where the server has it); NotFound.
        """
        fields = {"body": body, "state": state, "title": title, "content_version": content_version}
        send = {key: value for key, value in fields.items() if value is not None}
        with self._in_issue(number):
            return models.issue(self._once("PATCH", f"/issues/{number}", send).data)

    # --- comments

    def comments(self, number: int) -> Comments:
        """An issue's comments, by ascending id. Raises: NotFound when the issue does not exist."""
        return self.transport.patiently(lambda: self._comments(number, None))

    def comment(self, comment_id: int) -> Comment | None:
        """The comment, or None when the repository has none of that id."""
        try:
            answer = self.get(f"/issues/comments/{comment_id}")
        except Absent:
            self.check()
            return None
        return None if answer.status == 204 else models.comment(answer.data)  # 204: an event, not a comment

    def activity(self, since: datetime, until: datetime) -> list[Comment]:
        """Comments on any issue or pull request, by ascending id, that were made or last edited in the window."""
        # Without a page the server sends everything at once, however much that is.
        comments = models.everything(self.get, "/issues/comments", **since_of(since), before=stamp(until))
        return [comment for comment in comments if not comment.unread]

    def create_comment(self, number: int, body: str) -> Comment:
        """Add a comment in a single try. After an error it may exist or not; see :meth:`publish`.

        Raises: NotFound when the issue does not exist.
        """
        with self._in_issue(number):
            answer = self._once("POST", f"/issues/{number}/comments", {"body": body}).data
        made = models.comment(answer)
        self._learn_user(answer.get("user"))
        return made

    def publish(self, number: int, body: str, record_id: str) -> Comment:
        """Add a comment once, however often this is called, and return it after reading it back whole.

        ``record_id`` is the ``id`` in the marker on the body's last line; create it before the first call. Every try
        first searches the issue for that id, and the first comment with it counts. An existing comment is returned in
        its current state, even if edited by a person: compare the body.
        Raises: NotFound when the issue does not exist; Passing after ``patience_s``, when another call is safe; Closed,
        Refused; Unavailable when the server stored a different text.
        """
        listed = self.comments(number)
        comment = _first(listed, record_id)
        if comment is None:
            comment, listed = self.post(number, body, record_id, listed)
        self._remove_doubles(listed)
        return comment

    def _remove_doubles(self, listed: Comments) -> None:
        """Keep the first of several comments with the same id, text and author and delete the others, which are
        writes that arrived late, after a retry. Errors do no harm, because readers use the first anyway."""
        first: dict[str, Comment] = {}
        for comment in listed.values:
            fields = marker.fields(comment.body) or {}
            if fields.get("kind") != TRAIL or "id" not in fields:
                continue
            original = first.setdefault(fields["id"], comment)
            if original is not comment and (original.body, original.author) == (comment.body, comment.author):
                with suppress(HoldfastError):
                    self._once("DELETE", f"/issues/comments/{comment.id}")

    def post(
        self,
        number: int,
        body: str,
        record_id: str,
        listed: Comments,
        counts: Callable[[Comment, int], bool] = lambda comment, number: True,
    ) -> tuple[Comment, Comments]:
        """The same for a caller who has just seen in ``listed`` that the record is not there.

        Costs a POST and a list of the issue from :data:`MARGIN` before the first try on, in which the comment is read
        back, and which shows what came in between. ``counts`` says of a comment and its issue's number whether its
        author counts.
        """
        if (marker.fields(body) or {}).get("id") != record_id:
            raise ValueError("the body does not end with the record's marker")
        since = listed.at - MARGIN if listed.at else None
        tries = 0

        def attempt() -> tuple[Comment, Comments]:
            nonlocal tries
            tries += 1
            now, comment = listed, None
            if tries > 1:
                now = self._comments(number, since)
                comment = _first(now, record_id, lambda comment: counts(comment, number))
            if comment is None:
                made = self.create_comment(number, body)
                now = self._comments(number, since)  # an earlier try may have come through, before this one
                comment = _first(now, record_id, lambda comment: counts(comment, number))
                # The list may come from a lagging replica, so the comment itself is read by its id.
                comment = comment or self.comment(made.id)
            if comment is None:
                raise garbled("a comment was accepted and is not there")
            if comment.body != body:
                raise garbled("a comment reads otherwise than it was written")
            return comment, now

        return self.transport.patiently(attempt)

    # ---

    def _comments(self, number: int, since: datetime | None) -> Comments:
        """One try of :meth:`comments`, with ``since`` for those made or edited at or after that second."""
        try:
            with self._in_issue(number):
                answer = self._once("GET", f"/issues/{number}/comments", params=since_of(since))
            values, at = [models.comment(row) for row in models.many(answer.data)], answer.at
        except TooLong as error:
            if error.total is None:
                raise
            values, at = models.comments(self.get, number, error.total, **since_of(since)), error.at
        return Comments(values=tuple(sorted(values, key=lambda comment: comment.id)), at=at)

    @contextmanager
    def _in_issue(self, number: int) -> Iterator[None]:
        """Turns the answers for a missing issue into NotFound. For comments Gitea's is 500."""
        try:
            yield
        except (Absent, Passing) as error:
            if isinstance(error, Absent):
                self.check()  # the issue may be missing because the repository is
            elif error.status != 500 or self.issue(number) is not None:
                raise
            step = "It was deleted on the server, or the number is wrong."
            raise NotFound(f"There is no issue #{number} in {self.name}.", next_step=step) from error

    def get(self, path: str, most: int = MAX_ANSWER_BYTES, /, **params: str | int) -> Answer:
        """Any other list or thing of the repository; ``path`` begins after its name. Tried again like all reading."""
        return self.transport.get(f"/repos/{self.name}{path}", most, **params)

    def rows(self, path: str, **params: str | int) -> list[Mapping[str, object]]:
        """The objects in a list, of its first page unless ``params`` say otherwise. Raises: as :meth:`get`."""
        return [models.table(row) for row in models.many(self.get(path, **{"page": 1, "limit": PAGE, **params}).data)]

    def remove(self, path: str) -> None:
        """Remove a comment, or with an admin's token an issue with its comments and their histories. A missing one is
        not an error."""

        def attempt() -> None:
            try:
                self._once("DELETE", path)
            except Absent:
                self.check()

        self.transport.patiently(attempt)

    def _once(
        self,
        method: str,
        path: str,
        send: Mapping[str, object] | None = None,
        params: Mapping[str, str | int] | None = None,
    ) -> Answer:
        return self.transport.once(method, f"/repos/{self.name}{path}", params=params, send=send)


def _first(listed: Comments, record_id: str, counts: Callable[[Comment], bool] = lambda _: True) -> Comment | None:
    """The record's comment with the lowest id, of those whose author counts."""
    for comment in listed.values:
        is_it = record_id in comment.body and (marker.fields(comment.body) or {}).get("id") == record_id
        if is_it and counts(comment):
            return comment
    return None
