"""The lines of MEMORY.md and USER.md, each with its sources and its age."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Final

from attrs import evolve, frozen

from holdfast.config.layout import Surface
from holdfast.text.lazy import Lazy
from holdfast_app.authorship import sources
from holdfast_app.dream import confirmed
from holdfast_app.dream.dreamlog import Status
from holdfast_app.facts.rejected import key_of
from holdfast_app.markdown.lines import BLANK, HEADING, ITEM, Lines, read_line

if TYPE_CHECKING:
    from holdfast_app.view.project import Project

#: Maximum number of notes searched for an item without a recorded source.
NOTES_SEARCHED: Final = 31
_LABEL: Final = Lazy(r"(?:Fact|Decision|Next|Next step|Promised|Needed|Artifact|Blocker|memory|user): ", re.IGNORECASE)
#: Sources shown for one line.
_SOURCES: Final = 3


@frozen(kw_only=True)
class Line:
    """One line. ``kind`` is heading, item or text. ``first`` and ``last`` are when an item was said first and last, on
    ``days`` days, None when that is unknown. ``sources`` are ``document:line``, the strongest first. ``dream`` is the
    run that wrote the line."""

    number: int
    kind: str
    text: str
    first: datetime | None = None
    last: datetime | None = None
    days: int = 0
    sources: tuple[str, ...] = ()
    dream: str = ""


class Origins:
    """The origins of items in curated memory, from the record of confirmations, the dream's runs and the notes.

    Raises: Corrupt; Unavailable.
    """

    def __init__(self, project: Project) -> None:
        self._project = project
        memory = project.services.layout.name(Surface.MEMORY)
        self._confirmed = confirmed.load(project.services.state)
        self._sources: dict[str, list[str]] = {}
        self._added: dict[str, tuple[str, datetime]] = {}
        for run in project.dreams():
            if run.status is not Status.DONE:
                continue
            for line in run.lines:
                # A line of the memory itself is where the dream found the text, not where it comes from.
                found = [source for source in line.sources if source.rpartition(":")[0] != memory]
                self._sources.setdefault(key_of(_bare(line.text)), []).extend(found)
            for text in run.added:
                self._added[key_of(_bare(text))] = (run.id, run.at)

    @cached_property
    def _noted(self) -> dict[str, list[str]]:
        """Each item's places in the newest notes, the newest first. Its label does not count."""
        found: dict[str, list[str]] = {}
        for _, name in self._project.note_names()[:NOTES_SEARCHED]:
            for number, line in enumerate(self._project.text(name).split("\n"), 1):
                if line.startswith("- "):
                    found.setdefault(plain(unlabelled(line)), []).append(f"{name}:{number}")
        return found

    def dated(self, line: Line) -> Line:
        """An item with its origin; other lines unchanged."""
        if line.kind != "item":
            return line
        key = key_of(line.text)
        known = self._confirmed.get(key)
        said = known if known is not None and known.is_said else None
        dream, at = self._added.get(key, ("", None))
        places = tuple(dict.fromkeys(self._sources.get(key) or self._noted.get(plain(line.text), [])))
        return evolve(
            line,
            first=said.first if said else at,
            last=said.last if said else at,
            days=said.count if said else int(at is not None),
            sources=places if len(places) <= _SOURCES else (*places[: _SOURCES - 1], places[-1]),  # the oldest stays
            dream=dream,
        )


def lines_of(text: str) -> Iterator[Line]:
    """A document's lines with content, in order, without their origins."""
    for line in Lines(text):
        if line.kind in (ITEM, HEADING):
            yield Line(number=line.number, kind=line.kind, text=line.text)
        elif line.kind != BLANK:
            yield Line(number=line.number, kind="text", text=line.mark + line.text)


def unlabelled(line: str) -> str:
    """A note line's text, without its list mark and label."""
    return _LABEL.sub("", line.strip().removeprefix("- "), count=1)


def plain(text: str) -> str:
    """``text`` as it is compared with a note's line."""
    return sources.plain(text).rstrip(".")


def _bare(text: str) -> str:
    line = read_line(text)
    return line.text if line.kind == ITEM else text
