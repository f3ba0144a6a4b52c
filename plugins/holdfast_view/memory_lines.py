"""The lines of MEMORY.md and USER.md, each with its sources and its age."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Final

from attrs import evolve, frozen

from holdfast_dream import confirmed
from holdfast_dream.confirmed import Confirmation, key_of
from holdfast_dream.dreamlog import Status
from holdfast_markdown.lines import BLANK, HEADING, ITEM, Lines, read_line

if TYPE_CHECKING:
    from holdfast_dream.dreamlog import DreamResult

#: Sources shown for one line.
_SOURCES: Final = 3


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
    """The origins of items, from the record of confirmations, the dream's runs and the notes.

    ``memory`` is the memory's own name, ``note_of`` names a day's note, and ``read`` returns a document's text,
    empty when there is none.
    """

    def __init__(
        self,
        state: str,
        runs: Iterable[DreamResult],
        *,
        memory: str,
        note_of: Callable[[datetime], str],
        read: Callable[[str], str],
    ) -> None:
        """``runs`` are newest first."""
        self._memory, self._note_of, self._read = memory, note_of, read
        self._confirmed = confirmed.load(state)
        self._sources: dict[str, list[str]] = {}
        self._added: dict[str, tuple[str, datetime]] = {}
        for run in runs:
            if run.status is not Status.DONE:
                continue
            for line in run.lines:
                # A line of the memory itself is where the dream found the text, not where it comes from.
                found = [source for source in line.sources if source.rpartition(":")[0] != memory]
                self._sources.setdefault(key_of(_bare(line.text)), []).extend(found)
            for text in run.added:
                self._added[key_of(_bare(text))] = (run.id, run.at)

    def _said_in(self, text: str, known: Confirmation | None) -> tuple[str, ...]:
        """The note lines of an item's first and last mention, the last first."""
        if known is None:
            return ()
        names = dict.fromkeys((known.by, self._note_of(known.last), self._note_of(known.first)))
        wanted = _plain(text)
        found = []
        for name in names:
            lines = self._read(name).split("\n") if name not in (self._memory, confirmed.BY_HAND) else []
            number = next((at for at, line in enumerate(lines, 1) if wanted in _plain(line)), 0)
            if number:
                found.append(f"{name}:{number}")
        return tuple(found)

    def dated(self, line: Line) -> Line:
        """An item with its origin; other lines unchanged."""
        if line.kind != "item":
            return line
        text, key = line.text, key_of(line.text)
        known: Confirmation | None = self._confirmed.get(key)
        dream, at = self._added.get(key, ("", None))
        sources = tuple(dict.fromkeys(self._sources.get(key, ()))) or self._said_in(text, known)
        return evolve(
            line,
            first=known.first if known else at,
            last=known.last if known else at,
            days=known.count if known else int(at is not None),
            sources=_ends(sources),
            dream=dream,
        )


def lines_of(text: str) -> Iterator[Line]:
    """A document's lines with content, in order, without their origins."""
    for line in Lines(text):
        if line.kind in (ITEM, HEADING):
            yield Line(number=line.number, kind=line.kind, text=line.text)
        elif line.kind != BLANK:
            yield Line(number=line.number, kind="text", text=line.mark + line.text)


def _ends(sources: tuple[str, ...]) -> tuple[str, ...]:
    """The newest sources and the oldest one."""
    return sources if len(sources) <= _SOURCES else (*sources[: _SOURCES - 1], sources[-1])


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold().rstrip(".")


def _bare(text: str) -> str:
    line = read_line(text)
    return line.text if line.kind == ITEM else text
