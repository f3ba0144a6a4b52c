"""An issue's comments as this machine last read them, so that a later process requests only new ones.

``state/derived/gitea-facts.jsonl``, mode 0600, has a line that describes the file, then one comment per line. Every
purge removes it. A file is ignored and rebuilt if it is damaged, or for another repository or issue.

The server lists later additions and edits, but never deletions. So this compares the issue's own count and reads
everything again when it differs. The result is always the same as without the file.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Final

from holdfast.errors import HoldfastError, Unavailable
from holdfast.fs import durable, private, safeopen
from holdfast.text import untrusted
from holdfast_gitea.wire.client import MARGIN, Repo
from holdfast_gitea.wire.models import Comment, Comments

logger = logging.getLogger(__name__)

_FILE: Final = "gitea-facts.jsonl"
_FORMAT: Final = 2
#: Bytes of comments from which on the file saves more than its second request costs.
_WORTH: Final = 32 << 10
#: Bytes of comments listed besides the file after which it is written again. Until then they are listed each time.
_NEW: Final = 16 << 10
_WAIT_S: Final = 10.0


class Kept:
    """One store's file, in its private folder ``state``."""

    def __init__(self, state: str, repo: Repo) -> None:
        self._state = state
        self._path = os.path.join(state, private.DERIVED, _FILE)
        self._repo = repo
        #: Whether the last list was put together with the file's help.
        self.used = False

    def comments(self, number: int, *, fresh: bool = False) -> Comments:
        """The issue's comments as they are now. With the file this costs two small requests, otherwise one.

        ``fresh`` asks for all of them, which also shows an edit that the server dated back.

        Raises: NotFound when the issue does not exist.
        """
        with self._keeping() as may_keep:
            old = None if fresh else self._read(number)
            new, is_kept = self._caught_up(number, old) if old else (None, False)
            self.used = new is not None
            found = new or self._repo.comments(number)
            if may_keep and not is_kept:
                self._keep(number, found)
            return found

    def forget(self) -> None:
        """Remove the file, once no other process is about to write it. Raises: Unavailable."""
        if os.path.isdir(os.path.dirname(self._path)):
            with private.lock(self._path, timeout_s=_WAIT_S):
                durable.remove(self._path)

    def _caught_up(self, number: int, old: Comments) -> tuple[Comments | None, bool]:
        """All comments including the new ones, and whether the file will do for the next time. None when comments
        were deleted, or when the count changed meanwhile."""
        assert old.at is not None
        issue = self._repo.issue(number)
        if issue is None:
            return None, False  # reading it whole says so
        newer = self._repo.comments(number, since=old.at - MARGIN)
        by_id = {one.id: one for one in (*old.values, *newer.values)}
        if len(by_id) != issue.comments:
            return None, False
        at = newer.at or old.at
        known = frozenset(old.values)
        unknown = _size(one for one in newer.values if one not in known)
        is_kept = unknown < _NEW and (_size(newer.values) < _NEW or at < old.at + MARGIN)
        return Comments(values=tuple(by_id[one] for one in sorted(by_id)), total=len(by_id), at=at), is_kept

    @contextmanager
    def _keeping(self) -> Iterator[bool]:
        """Whether this process may write the file inside the block. A purge waits for the block to end, so the file
        cannot be older than the purge."""
        try:
            private.make(self._state, private.DERIVED)
            lock = private.lock(self._path, timeout_s=0)
            lock.__enter__()
        except HoldfastError:
            yield False
            return
        try:
            yield True
        finally:
            lock.__exit__(None, None, None)

    def _read(self, number: int) -> Comments | None:
        try:
            head, _, rows = safeopen.read(self._path).partition(b"\n")
            said = untrusted.from_json(head)
            if said["format"] != _FORMAT or said["repository"] != self._repo.url or said["issue"] != number:
                return None
            if said["sha256"] != hashlib.sha256(rows).hexdigest():
                raise ValueError("digest")
            values = tuple(_comment(untrusted.from_json(row), number) for row in rows.split(b"\n") if row)
            return Comments(values=values, total=len(values), at=datetime.fromisoformat(said["at"]))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            logger.warning("the kept facts are unusable and are read again (%s)", type(error).__name__)
            return None

    def _keep(self, number: int, found: Comments) -> None:
        """Write the file, or remove it where it saves nothing."""
        if found.at is None or _size(found.values) < _WORTH:
            durable.remove(self._path)
            return
        rows = b"\n".join(json.dumps(_row(one)).encode() for one in found.values)
        said = {
            "format": _FORMAT,
            "repository": self._repo.url,
            "issue": number,
            "at": found.at.isoformat(),
            "sha256": hashlib.sha256(rows).hexdigest(),
        }
        try:
            durable.replace(self._path, json.dumps(said).encode() + b"\n" + rows, flush=False)
        except Unavailable as error:
            logger.warning("the facts could not be kept: %s", error)


def _size(comments: Iterable[Comment]) -> int:
    return sum(len(one.body) for one in comments)


def _row(one: Comment) -> list[object]:
    times = (one.created_at.isoformat(), one.updated_at.isoformat())
    return [one.id, one.author, one.author_id, one.url, *times, one.body]


def _comment(row: list[Any], number: int) -> Comment:
    """The inverse of :func:`_row`. Raises: ValueError, TypeError for anything else."""
    comment_id, author, author_id, url, created, updated, body = row
    if {type(comment_id), type(author_id)} != {int} or not all(isinstance(one, str) for one in (author, url, body)):
        raise TypeError("row")
    return Comment(
        id=comment_id,
        issue=number,
        body=body,
        author=author,
        author_id=author_id,
        url=url,
        created_at=datetime.fromisoformat(created),
        updated_at=datetime.fromisoformat(updated),
    )
