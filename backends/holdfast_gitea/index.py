"""The index of issues: titles mapped to numbers, kept current by requesting only changes.

It locates content but never supplies it. Everything read or decided on comes from the server. A copy in the private
folder saves a new process from requesting the whole list. The copy holds titles, numbers and ids, but no content. It
also remembers the last record seen in each log, so that a manual deletion is noticed.
"""

import base64
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Final

from attrs import define, evolve, field, frozen

from holdfast.config import serde
from holdfast.errors import Corrupt, HoldfastError, Unavailable, Unsupported
from holdfast.fs import durable, safeopen
from holdfast.text import untrusted
from holdfast_gitea import marker
from holdfast_gitea.authors import Authors, Member, too_long
from holdfast_gitea.replay import new_id, number
from holdfast_gitea.wire.client import MARGIN, Repo
from holdfast_gitea.wire.models import Issue
from holdfast_keys.faults import Closed

#: Issues with other titles are ignored.
PREFIX: Final = "holdfast:"
#: Title of the issue that describes the repository, and the newest store format that this version supports.
STORE: Final = PREFIX + "store"
SCHEMA: Final = 1
_NOTE: Final = "holdfast stores memory in this repository, in the issues whose titles begin with `holdfast:`."
FACTS: Final = PREFIX + "facts"
#: Title of the issue that lists the invited users.
AUTHORS: Final = PREFIX + "authors"
#: How long this process relies on its list of issues before checking for new ones. Known issues are always queried.
FRESH_S: Final = 15.0
#: Delay before the whole list is read again, because deleted issues do not appear among the changed issues.
WHOLE: Final = timedelta(days=1)
_FORMAT: Final = 5


@frozen
class Tail:
    """The last record seen in a log: its id, its comment's id and its issue's number."""

    record: str
    comment: int
    segment: int


@frozen(kw_only=True)
class Entry:
    """An issue of the store, as the list shows it.

    ``title`` is the log's own title, which the marker in the body names; ``shown`` is the title on the server if a
    user has changed that. ``head`` is the record in the copy in the body, ``head_comment`` its comment's id;
    ``deleted``: the body says that the document was deleted after that record, or is about to be. ``version`` guards
    an edit of the body, None if the server has no such field. In the store's own issue ``facts`` is the first issue of
    the facts (0: none yet), ``settled`` the comment by which a user has accepted the loss of earlier ones, and
    ``authors`` the issue that lists invited users (0: none). ``author`` is its opener's user id."""

    number: int
    title: str
    is_open: bool
    comments: int
    updated: str
    version: int | None = None
    head: str = ""
    head_comment: int = 0
    deleted: bool = False
    shown: str = ""
    facts: int = 0
    settled: int = 0
    authors: int = 0
    author: int = 0


@define(kw_only=True)
class Copy:
    """What this machine keeps of a store. ``at`` is the server's clock as the last list began, ``whole_at`` as the last
    complete one did. ``listed`` is the invited users' list as last read. ``repository_id`` shows another repository
    that gets the name, ``looked`` whether it was checked who can read the store, and ``elder`` is the lowest number of
    other users' issues with the store's own title, 0 without one. The fields before ``listed`` are filled when it is
    saved.
    """

    format: int = _FORMAT
    repository: str = ""
    authors: list[str] = field(factory=list)
    token: str = ""
    own: str = ""
    own_id: int = 0
    ids: dict[str, int] = field(factory=dict)
    members: list[Member] = field(factory=list)
    issues: list[Entry] = field(factory=list)
    listed: str = ""
    repository_id: int = 0
    looked: bool = False
    elder: int = 0
    at: datetime | None = None
    whole_at: datetime | None = None
    tails: dict[str, Tail] = field(factory=dict)


class Index:
    """A store's issues by users whose records count. ``path`` locates the copy."""

    def __init__(self, repo: Repo, authors: Authors, path: str) -> None:
        #: Whether the last response is fresh enough, see :func:`holdfast.storage.snapshot`.
        self.held = False
        #: Other users' issues that look like the store's, by number, since the last whole list.
        self.foreign: dict[int, Issue] = {}
        #: Reads the list of invited users from its issue. Set by :func:`holdfast_gitea.invitations.attach`.
        self.read_members: Callable[[Entry], Sequence[Member]] = lambda entry: ()
        self._trouble: Corrupt | None = None  # why the list cannot be relied on
        self._repo = repo
        self._authors = authors
        self._path = path
        self._entries: dict[int, Entry] = {}
        self._kept = Copy()
        self._asked = 0.0  # monotonic
        self._loaded = False
        self._saved = ""

    # --- asking

    def refresh(self, *, whole: bool = False) -> None:
        """Ask for the issues that changed since the last time, or for all of them.

        A change can show late or with an earlier time, so the list begins :data:`MARGIN` before the last one.
        """
        self._load()
        kept, before = self._kept, self._kept.at
        if before is None or kept.whole_at is None or before - kept.whole_at > WHOLE:
            whole = True
        asked = time.monotonic()
        if self.held and self._asked and not whole and asked - self._asked < FRESH_S:
            return
        listed, at = self._repo.issues(since=before - MARGIN if before and not whole else None)
        self._check_repository(listed)
        if self._learn(listed, whole=whole):
            self.refresh(whole=True)
            return
        entries = {} if whole else dict(self._entries)
        foreign = {} if whole else dict(self.foreign)
        kept.elder = 0 if whole else kept.elder
        for issue in listed:
            entries.pop(issue.number, None)
            foreign.pop(issue.number, None)
            entry = entry_of(issue, self._entries.get(issue.number))
            if entry is None:
                continue
            # Fewer users may begin the list of invited users.
            decides = self._authors.may_invite if entry.title == AUTHORS else self._authors.counts
            if not decides(issue, issue.number):
                foreign[issue.number] = issue
                if entry.title == STORE:
                    kept.elder = min(kept.elder or issue.number, issue.number)
                continue
            if issue.unread:
                raise too_long(issue.url)
            _check_store(issue)
            entries[issue.number] = entry
        self.foreign = foreign
        self._entries, self._asked = entries, asked
        if listed and at and before and at - before > MARGIN:
            self._saved = ""  # keep the time, so that these do not come again
        kept.at, kept.whole_at = at, at if whole else kept.whole_at

    def segments(self, title: str) -> tuple[Entry, ...]:
        """The issues with that title by ascending number. Queries the server unless it has just listed one."""
        entries = self.known(title)
        if not entries or not self._asked or time.monotonic() - self._asked > FRESH_S:
            self.refresh()
            entries = self.known(title)
        return entries

    def titles(self) -> dict[str, tuple[Entry, ...]]:
        by_title: dict[str, list[Entry]] = {}
        for _, entry in sorted(self._entries.items()):
            by_title.setdefault(entry.title, []).append(entry)
        return {title: tuple(entries) for title, entries in by_title.items()}

    def known(self, title: str) -> tuple[Entry, ...]:
        """Like :meth:`segments`, without querying the server."""
        self._load()
        return self.titles().get(title, ())

    def look(self) -> bool:
        """Whether this is the first look at who can read the store on this machine. Remembered with the index."""
        self._load()
        first, self._kept.looked = not self._kept.looked, True
        return first

    def check_members(self) -> None:
        """Raises: Corrupt when it cannot be known who was invited, because the list was changed or deleted manually."""
        if self._trouble is not None:
            raise self._trouble
        store = next(iter(self.known(STORE)), None)
        if self.known(AUTHORS) or not (self._authors.members or (store and store.authors)):
            return
        raise Corrupt(
            f"The list of users invited to {self._repo.name} is gone from the server.",
            next_step="Invite them again with `holdfast gitea invite USER`, on a machine that still knows the list if "
            "there is one (`holdfast gitea invite` shows it).",
        )

    def check_own(self) -> None:
        """Raises: Refused while other machines would not read what this one writes."""
        first = min(self._entries, default=0)
        store = min((entry.number for entry in self.known(STORE)), default=self._kept.elder)
        self._authors.check_own(first or self._kept.elder, self._kept.elder if self._kept.elder <= store else 0)

    def _learn(self, listed: Sequence[Issue], *, whole: bool) -> bool:
        """Read the list of invited users if its issue is new or changed. Returns whether others count now."""
        entries = {} if whole else {entry.number: entry for entry in self.known(AUTHORS)}
        self._authors.own_invites = True
        for issue in listed:
            entry = entry_of(issue, self._entries.get(issue.number))
            entries.pop(issue.number, None)
            if entry and entry.title == AUTHORS and self._authors.may_invite(issue, issue.number):
                entries[issue.number] = entry
        if not entries:
            self._trouble = None
            return False
        if decided := {number: entry for number, entry in entries.items() if self._authors.is_account(entry.author)}:
            self._authors.own_invites, entries = False, decided
        first = self._entries[min(entries)] = entries[min(entries)]
        now = f"{first.number} {first.comments} {first.updated}"
        if now == self._kept.listed:
            return False
        try:
            members = {member.id: member for member in self.read_members(first)}
        except Corrupt as error:
            self._trouble = error
            return False
        changed = members != self._authors.members
        self._kept.listed, self._trouble, self._authors.members = now, None, members
        return changed and not whole

    def _check_repository(self, listed: Sequence[Issue]) -> None:
        """Raises: Closed when another repository has replaced the one known to this machine."""
        repository_id = next((issue.repository for issue in listed if issue.repository), 0)
        if repository_id and self._kept.repository_id and repository_id != self._kept.repository_id:
            step = f"If that is right, remove {self._path} and try again."
            raise Closed(f"Another repository is now at {self._repo.url}, unknown to this machine.", next_step=step)
        self._kept.repository_id = repository_id or self._kept.repository_id

    # --- updates from callers

    def saw(self, issue: Issue) -> None:
        entry = entry_of(issue, self._entries.pop(issue.number, None))
        if entry is not None:
            self._entries[issue.number] = entry

    def gone(self, number: int) -> None:
        self._entries.pop(number, None)

    def tail(self, title: str) -> Tail | None:
        return self._kept.tails.get(title)

    def set_tail(self, title: str, tail: Tail | None) -> None:
        self._kept.tails.pop(title, None)
        if tail:
            self._kept.tails[title] = tail

    # --- the copy on this machine

    def save(self) -> None:
        """Keep the copy, if more than the time changed. It can be done without, so a full disk is no error."""
        now = self._copy(None)
        if self._kept.at is None or now == self._saved:
            return
        with suppress(Unavailable):
            durable.replace(self._path, self._copy(self._kept.at).encode())
            self._saved = now

    def _copy(self, at: datetime | None) -> str:
        copy = evolve(
            self._kept,
            repository=self._repo.url,
            authors=sorted(self._authors.named),
            token=self._repo.transport.token_id,
            own=self._authors.own,
            own_id=self._authors.own_id,
            ids=self._authors.ids,
            members=[*self._authors.members.values()],
            issues=[*self._entries.values()],
            at=at,
        )
        return json.dumps(serde.unstructure(copy), ensure_ascii=False)

    def _load(self) -> None:
        """Read the copy, once. An unusable copy is rebuilt from the server."""
        if self._loaded:
            return
        self._loaded = True
        try:
            copy = serde.structure(untrusted.from_json(safeopen.read(self._path)), Copy, what="The copy")
        except (OSError, ValueError, HoldfastError):
            return
        # With other named authors other issues may count.
        if (copy.format, copy.repository, copy.authors) != (_FORMAT, self._repo.url, sorted(self._authors.named)):
            return
        self._entries = {entry.number: entry for entry in copy.issues}
        self._kept = copy
        if copy.token == self._repo.transport.token_id:
            self._authors.remembered = self._authors.remembered or copy.own
            self._authors.remembered_id = self._authors.remembered_id or copy.own_id
        self._authors.ids = {**copy.ids, **self._authors.ids}
        self._authors.members = {member.id: member for member in copy.members}
        self._saved = self._copy(None)


def _check_store(issue: Issue) -> None:
    """Raises: Unsupported when the store was made for a newer holdfast."""
    if issue.title != STORE:
        return
    framed = marker.framed(issue.body)
    try:
        store = untrusted.from_json(framed.text or "{}") if framed else {}
        newer = store["schema"] > SCHEMA or store["requires"]
    except (ValueError, TypeError, KeyError):
        return  # manually edited, which is harmless, because it is for people and records describe themselves
    if newer:
        raise Unsupported(
            f"The store in issue #{issue.number} has a format that this version of holdfast does not know.",
            next_step="Upgrade holdfast. It changed nothing.",
        )


def numbers(entries: Iterable[Entry]) -> list[int]:
    return [entry.number for entry in entries]


def entry_of(issue: Issue, before: Entry | None = None) -> Entry | None:
    """The index entry for an issue, None for an issue outside the store.

    The marker in the body names the issue's log. Without a marker the title names it, and if that is not a store's
    title either, the entry from ``before`` the change.
    """
    fields: Mapping[str, str] = marker.fields(issue.body) or {}
    named = STORE if fields.get("kind") == "store" else decoded(fields.get("log", ""))
    title = named if named.startswith(PREFIX) else issue.title
    if not title.startswith(PREFIX):
        if before is None:
            return None
        title = before.title
    return Entry(
        number=issue.number,
        title=title,
        is_open=issue.is_open,
        comments=issue.comments,
        updated=issue.updated_at.isoformat(),
        version=issue.content_version,
        head=fields.get("head", ""),
        head_comment=number(fields.get("comment", "")),
        deleted=fields.get("deleted") == "1",
        shown="" if issue.title == title else issue.title,
        facts=number(fields.get("facts", "")),
        settled=number(fields.get("settled", "")),
        authors=number(fields.get("authors", "")),
        author=issue.author_id,
    )


def encoded(text: str) -> str:
    """``text`` as a marker can hold it."""
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decoded(text: str) -> str:
    """The inverse of :func:`encoded`; empty for anything else."""
    with suppress(ValueError):
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode()
    return ""


# --- the issue that describes the repository -------------------------------------------------------------------------


def store_fields(entry: Entry) -> dict[str, int]:
    return {"facts": entry.facts, "settled": entry.settled, "authors": entry.authors}


def store_body(text: str = "", **numbers: int) -> str:
    """The body with the JSON ``text``, by default a new store's; ``numbers`` are fields of its marker."""
    text = text or json.dumps({"schema": SCHEMA, "store": new_id(), "requires": []}, indent=2)
    return marker.frame(_NOTE, text, language="json", kind="store", **{k: n or "" for k, n in numbers.items()})
