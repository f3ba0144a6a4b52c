"""Which issue holds what: titles to numbers, kept up to date by asking for what changed.

It tells where things are, never what they say: what is read or decided upon always comes from the server. A copy in the
private folder spares a new process the whole list; it holds titles, numbers and ids, and no text. It also remembers the
last record that was seen of each thing, so that one that is deleted by hand is missed.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

from attrs import frozen

from holdfast.errors import Unavailable, Unsupported
from holdfast.fs import durable, safeopen
from holdfast.text import untrusted
from holdfast_gitea import marker
from holdfast_gitea.client import MARGIN, Repo
from holdfast_gitea.folding import number
from holdfast_gitea.models import Issue

logger = logging.getLogger(__name__)

#: Issues of other titles are nobody's business here.
PREFIX: Final = "holdfast:"
#: The issue that says what the repository is, and the newest form of a store that this version knows.
STORE: Final = PREFIX + "store"
SCHEMA: Final = 1
#: How long this process goes on without asking which issues are new. What is in a known issue is asked every time.
FRESH_S: Final = 60.0
#: After so long the whole list is read again, since deleted issues do not show among the changed ones.
WHOLE: Final = timedelta(days=1)
_FORMAT: Final = 1


class Tail(NamedTuple):
    """The last record that was seen of a thing: its id, its comment's and the issue's number."""

    record: str
    comment: int
    segment: int


@frozen(kw_only=True)
class Entry:
    """What the list says of an issue. ``head`` is the record that the copy in its body was made of, with the id of its
    comment; ``deleted``: the body says that the document was deleted after that record, or is about to be. ``version``
    guards an edit of the body, None where the server has no such thing."""

    number: int
    title: str
    is_open: bool
    comments: int
    updated: str
    version: int | None = None
    head: str = ""
    head_comment: int = 0
    deleted: bool = False


class Index:
    """The issues of one store. ``path`` is where the copy is kept."""

    def __init__(self, repo: Repo, path: str) -> None:
        self._repo = repo
        self._path = path
        self._entries: dict[int, Entry] = {}
        self._tails: dict[str, Tail] = {}
        self._at: datetime | None = None  # the server's clock as the last list began
        self._whole_at: datetime | None = None  # the same of the last list that was whole
        self._asked = 0.0  # monotonic
        self._loaded = False
        self._changed = False

    # --- asking

    def refresh(self, *, whole: bool = False) -> None:
        """Ask for the issues that changed since the last time, or for all of them."""
        self._load()
        since = self._at
        if since is None or self._whole_at is None or since - self._whole_at > WHOLE:
            whole = True
        asked = time.monotonic()
        listed, at = self._repo.issues_at(since=None if whole or since is None else since - MARGIN)
        entries = {} if whole else dict(self._entries)
        for issue in listed:
            _check_store(issue)
            entries.pop(issue.number, None)
            if issue.title.startswith(PREFIX):
                entries[issue.number] = entry_of(issue)
        self._changed = self._changed or whole or entries != self._entries
        self._entries, self._at, self._asked = entries, at, asked
        if whole:
            self._whole_at = at

    def segments(self, title: str) -> tuple[Entry, ...]:
        """The issues of that title by ascending number. Asks the server unless it has just told of one."""
        if not self._asked:
            self._load()
        found = self._of(title)
        if not found or not self._asked or time.monotonic() - self._asked > FRESH_S:
            self.refresh()
            found = self._of(title)
        return found

    def titles(self) -> dict[str, tuple[Entry, ...]]:
        """All titles with their issues, as of the last :meth:`refresh`."""
        found: dict[str, list[Entry]] = {}
        for _, entry in sorted(self._entries.items()):
            found.setdefault(entry.title, []).append(entry)
        return {title: tuple(entries) for title, entries in found.items()}

    def known(self, title: str) -> tuple[Entry, ...]:
        """The same as :meth:`segments` without asking anybody."""
        self._load()
        return self._of(title)

    # --- being told

    def saw(self, issue: Issue) -> None:
        """The issue was just made or edited."""
        self._changed = True
        self._entries.pop(issue.number, None)
        if issue.title.startswith(PREFIX):
            self._entries[issue.number] = entry_of(issue)

    def gone(self, number: int) -> None:
        """The issue is no more."""
        if self._entries.pop(number, None):
            self._changed = True

    def tail(self, title: str) -> Tail | None:
        """The last record that this machine saw of that title."""
        return self._tails.get(title)

    def set_tail(self, title: str, tail: Tail | None) -> None:
        """Remember it, or forget it."""
        if self._tails.get(title) != tail:
            self._changed = True
            self._tails.pop(title, None)
            if tail:
                self._tails[title] = tail

    # --- the copy on this machine

    def save(self) -> None:
        """Keep the copy, if anything changed. It can be done without, so a full disk is only logged."""
        if not self._changed or self._at is None or self._whole_at is None:
            return
        data = {
            "format": _FORMAT,
            "repository": self._repo.url,
            "at": self._at.isoformat(),
            "whole_at": self._whole_at.isoformat(),
            "issues": [
                [e.number, e.title, e.is_open, e.comments, e.updated, e.version, e.head, e.head_comment, e.deleted]
                for e in self._entries.values()
            ],
            "tails": self._tails,
        }
        try:
            durable.replace(self._path, json.dumps(data, ensure_ascii=False).encode())
            self._changed = False
        except Unavailable as error:
            logger.warning("the index of issues could not be kept: %s", error)

    def _load(self) -> None:
        """Read the copy, once. One that cannot be used is made anew from the server."""
        if self._loaded:
            return
        self._loaded = True
        try:
            data = untrusted.from_json(safeopen.read(self._path))
            if data["format"] != _FORMAT or data["repository"] != self._repo.url:
                return
            entries = [_kept(row) for row in data["issues"]]
            tails = {str(title): Tail(str(r), int(c), int(s)) for title, (r, c, s) in data["tails"].items()}
            at, whole_at = (datetime.fromisoformat(data[key]).astimezone(UTC) for key in ("at", "whole_at"))
        except FileNotFoundError:
            return
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            logger.warning("the index of issues is of no use and is made anew (%s)", type(error).__name__)
            return
        self._entries = {entry.number: entry for entry in entries}
        self._tails, self._at, self._whole_at = tails, at, whole_at

    def _of(self, title: str) -> tuple[Entry, ...]:
        return tuple(sorted((e for e in self._entries.values() if e.title == title), key=lambda e: e.number))


def _check_store(issue: Issue) -> None:
    """Raises: Unsupported when the store was made for a newer holdfast."""
    if issue.title != STORE:
        return
    framed = marker.framed(issue.body)
    try:
        said = untrusted.from_json(framed.text or "{}") if framed else {}
        newer = said["schema"] > SCHEMA or said["requires"]
    except (ValueError, TypeError, KeyError):
        return  # edited by hand: it is for people, and the records say by themselves what they are
    if newer:
        raise Unsupported(
            f"The store in issue #{issue.number} is of a form that this version of holdfast does not know.",
            next_step="Upgrade holdfast; nothing was changed.",
        )


def numbers(entries: Iterable[Entry]) -> list[int]:
    """Their numbers, in the same order."""
    return [entry.number for entry in entries]


def entry_of(issue: Issue) -> Entry:
    """What the index keeps of an issue."""
    said: Mapping[str, str] = marker.fields(issue.body) or {}
    return Entry(
        number=issue.number,
        title=issue.title,
        is_open=issue.is_open,
        comments=issue.comments,
        updated=issue.updated_at.isoformat(),
        version=issue.content_version,
        head=said.get("head", ""),
        head_comment=number(said.get("comment", "")),
        deleted=said.get("deleted") == "1",
    )


def _kept(row: Any) -> Entry:
    issue, title, is_open, comments, updated, version, head, head_comment, deleted = row
    return Entry(
        number=int(issue),
        title=str(title),
        is_open=bool(is_open),
        comments=int(comments),
        updated=str(updated),
        version=None if version is None else int(version),
        head=str(head),
        head_comment=int(head_comment),
        deleted=bool(deleted),
    )
