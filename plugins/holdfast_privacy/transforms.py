"""What becomes of what is stored: a purge and a scrub are edits, and :mod:`holdfast_privacy.sweep` carries them out."""

from __future__ import annotations

import codecs
import os
from collections.abc import Callable, Collection, Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from attrs import frozen

from holdfast.config.layout import Surface
from holdfast.fs import durable
from holdfast_privacy.text_search import Needle

if TYPE_CHECKING:
    from holdfast.models import Fact
    from holdfast.session.services import Services


class Edit:
    """What becomes of what is stored. This one keeps everything; its methods must be idempotent."""

    def begin(self, services: Services) -> None:
        """Look around, before anything is changed."""

    def session(self, session_id: str, last: datetime | None) -> bool:
        """Whether the session goes as a whole; ``last`` is when something was last said in it."""
        return False

    def record(self, record: dict[str, Any]) -> dict[str, Any]:
        """A record of a journal that stays."""
        return record

    def document(self, surface: Surface | None, name: str, text: str) -> str | None:
        """The document's new text; None when it goes."""
        return text

    def fact(self, fact: Fact) -> Fact | None:
        """The fact, perhaps with other content or source; None when it goes."""
        return fact

    def row(self, row: dict[str, Any]) -> dict[str, Any] | None:
        """One line of a private list: a trail, a queue. None when it goes."""
        return row

    def table(self, table: dict[str, Any]) -> dict[str, Any] | None:
        """A private JSON file that is one object: an UNSAFE marker, a status. None when it goes."""
        return table

    def other(self, path: str, data: bytes) -> bytes | None:
        """Any other file, or a damaged one of those above. None when it goes."""
        return data

    def traces(self) -> tuple[Needle, ...]:
        """What must be found nowhere afterwards."""
        return ()


@frozen(kw_only=True)
class Changed:
    """``count`` things were changed or removed in one place. ``kind`` is one of journals, markers, documents, facts,
    private files; ``name`` is told to people only, never kept: it may hold what was purged."""

    kind: str
    name: str
    count: int = 1
    removed: bool = False


@frozen(kw_only=True)
class Left:
    """A place that still holds something, and why."""

    name: str
    why: str
    next_step: str = ""


def counted(changed: Iterable[Changed]) -> dict[str, int]:
    """Kind of place -> how many things went or changed there."""
    counts: dict[str, int] = {}
    for one in changed:
        counts[one.kind] = counts.get(one.kind, 0) + one.count
    return dict(sorted(counts.items()))


def is_temporary(path: str) -> bool:
    """Whether the file is what a crash left of a write."""
    name = os.path.basename(path)
    return name.startswith(durable.TEMP_PREFIX) and name.endswith(durable.TEMP_SUFFIX)


def edit_bytes(data: bytes, change: Callable[[str], str]) -> bytes:
    """``data`` with ``change`` applied to its text; bytes that are no UTF-8 stay as they are."""
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
    """``value``, which is plain JSON, with ``change`` applied to every text in it but those under the keys ``keep``.
    Entries whose key ``drop`` wants gone are left out."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [map_texts(item, change, keep=keep, drop=drop) for item in value]
    if isinstance(value, dict):
        items = value.items() if drop is None else ((k, v) for k, v in value.items() if not drop(k))
        return {k: v if k in keep else map_texts(v, change, keep=keep, drop=drop) for k, v in items}
    return value
