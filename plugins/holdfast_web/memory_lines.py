"""The lines of MEMORY.md and USER.md, each with its sources and its age."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Final

from attrs import frozen

from holdfast.flush import confirmed
from holdfast.flush.confirmed import Confirmation, key_of
from holdfast.flush.dreamlog import Status

if TYPE_CHECKING:
    from holdfast.flush.dreamlog import DreamResult

_ITEM: Final = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+(.*\S)")
_COMMENT: Final = re.compile(r"^\s*<!--.*-->\s*$")
#: Sources shown for one line.
_SOURCES: Final = 4


@frozen(kw_only=True)
class Line:
    """One line. ``kind`` is heading, item or text. ``first`` and ``last`` are when an item was said first and last, on
    ``days`` days; ``sources`` are ``document:line``, the strongest first. ``dream`` is the run that wrote the line."""

    number: int
    kind: str
    text: str
    first: datetime | None = None
    last: datetime | None = None
    days: int = 0
    sources: tuple[str, ...] = ()
    dream: str = ""

    @property
    def is_dated(self) -> bool:
        return self.first is not None


class Origins:
    """Where items come from: the record of confirmations, and the runs of the dream."""

    def __init__(self, state: str, runs: Iterable[DreamResult]) -> None:
        """``runs`` are newest first."""
        self._confirmed = confirmed.load(state)
        self._sources: dict[str, tuple[str, ...]] = {}
        self._added: dict[str, tuple[str, datetime]] = {}
        for run in runs:
            if run.status is not Status.DONE:
                continue
            for line in run.lines:
                if line.sources:
                    self._sources.setdefault(key_of(_bare(line.text)), line.sources)
            for text in run.added:
                self._added[key_of(_bare(text))] = (run.id, run.at)

    def lines(self, text: str) -> Iterator[Line]:
        """The lines of a document that say something, in order."""
        for number, line in enumerate(text.split("\n"), 1):
            if not line.strip() or _COMMENT.match(line):
                continue
            item = _ITEM.match(line)
            if item:
                yield self._item(number, item[1])
            elif line.startswith("#"):
                yield Line(number=number, kind="heading", text=line.lstrip("# "))
            else:
                yield Line(number=number, kind="text", text=line)

    def _item(self, number: int, text: str) -> Line:
        key = key_of(text)
        known: Confirmation | None = self._confirmed.get(key)
        dream, at = self._added.get(key, ("", None))
        sources = self._sources.get(key, ())
        if not sources and known is not None and known.by != confirmed.BY_HAND:
            sources = (known.by,)
        return Line(
            number=number,
            kind="item",
            text=text,
            first=known.first if known else at,
            last=known.last if known else at,
            days=known.count if known else int(at is not None),
            sources=sources[:_SOURCES],
            dream=dream,
        )


def _bare(text: str) -> str:
    item = _ITEM.match(text)
    return item[1] if item else text
