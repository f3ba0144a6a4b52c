"""Edits of stored data. Purge and scrub are edits, and :mod:`holdfast_app.privacy.sweep` carries them out."""

from __future__ import annotations

import codecs
import os
from collections import Counter
from collections.abc import Callable, Collection
from datetime import datetime
from typing import TYPE_CHECKING, Any

from attrs import frozen

from holdfast.config.layout import Surface
from holdfast.fs import durable
from holdfast_app.privacy.text_search import Needle

if TYPE_CHECKING:
    from holdfast.models import Fact
    from holdfast_app.base import Services


class Edit:
    """An edit of stored data. The base class keeps everything. Methods must be idempotent."""

    #: Whether removed facts must not come back by extraction, import or a dream.
    rejects = False

    def begin(self, services: Services) -> None:
        """Collect information before anything is changed."""

    def session(self, session_id: str, last: datetime | None) -> bool:
        """Whether to remove the whole session. ``last`` is its last record's time."""
        return False

    def record(self, record: dict[str, Any]) -> dict[str, Any]:
        """The new record, in a kept journal."""
        return record

    def document(self, surface: Surface | None, name: str, text: str) -> str | None:
        """The document's new text, or None to remove it."""
        return text

    def fact(self, fact: Fact) -> Fact | None:
        """The fact, possibly with new content or source, or None to remove it."""
        return fact

    def row(self, row: dict[str, Any]) -> dict[str, Any] | None:
        """One row of a private list (a trail, a queue), or None to remove it."""
        return row

    def table(self, table: dict[str, Any]) -> dict[str, Any] | None:
        """A private JSON file that holds one object (an UNSAFE marker, a status), or None to remove it."""
        return table

    def other(self, path: str, data: bytes) -> bytes | None:
        """Any other or damaged file, or None to remove it."""
        return data

    def traces(self) -> tuple[Needle, ...]:
        """The needles that must not be found anywhere afterwards."""
        return ()


@frozen(kw_only=True)
class Changed:
    """``count`` items changed or removed in one place. ``kind`` is journals, archived journals, markers,
    documents, facts, private files or log lines. ``name`` is only shown, not stored, as it may hold purged text."""

    kind: str
    name: str
    count: int = 1
    removed: bool = False


@frozen(kw_only=True)
class Left:
    """A place that still holds data, and why."""

    name: str
    why: str
    next_step: str = ""


@frozen(kw_only=True)
class Report:
    """An edit's removals and changes or, with ``dry_run``, its planned ones.

    ``left`` lists holdfast's own places that still hold the data, and why. ``elsewhere`` lists places that holdfast
    cannot change and a user must clear: comments on a forge, third-party files. ``files`` and ``size`` (in bytes)
    measure the last search.
    """

    dry_run: bool
    changed: tuple[Changed, ...]
    left: tuple[Left, ...] = ()
    elsewhere: tuple[str, ...] = ()
    files: int = 0
    size: int = 0

    @property
    def clean(self) -> bool:
        """Whether no place that holdfast owns still holds the data."""
        return not self.left

    @property
    def counts(self) -> dict[str, int]:
        """Kind of place -> number of items removed or changed there."""
        counts: Counter[str] = Counter()
        for one in self.changed:
            counts[one.kind] += one.count
        return dict(sorted(counts.items()))


def is_temporary(path: str) -> bool:
    """Whether the file is left over from a crashed write."""
    name = os.path.basename(path)
    return name.startswith(durable.TEMP_PREFIX) and name.endswith(durable.TEMP_SUFFIX)


def edit_bytes(data: bytes, change: Callable[[str], str]) -> bytes:
    """``data`` with ``change`` applied to its text; bytes that are not UTF-8 are kept."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        codec = "utf-16-le" if data.startswith(codecs.BOM_UTF16_LE) else "utf-16-be"
        text = data[2:].decode(codec, "surrogatepass" if len(data) % 2 == 0 else "replace")
        return data[:2] + change(text).encode(codec, "surrogatepass")
    return change(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


def map_texts(
    value: Any,
    change: Callable[[str], str],
    *,
    keep: Collection[str] = (),
    drop: Callable[[str], bool] | None = None,
) -> Any:
    """``value``, plain JSON, with ``change`` applied to every string except under the keys ``keep``.
    Entries whose key ``drop`` selects are left out."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [map_texts(item, change, keep=keep, drop=drop) for item in value]
    if isinstance(value, dict):
        items = value.items() if drop is None else ((k, v) for k, v in value.items() if not drop(k))
        return {k: v if k in keep else map_texts(v, change, keep=keep, drop=drop) for k, v in items}
    return value
