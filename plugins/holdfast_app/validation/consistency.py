"""Whether the content of summaries appears in their sources.

A summary is never the only place of a fact (R165) and never replaces the note it refers to (R177). A change
of state is never only in a note (R174). Data removed by retention because of its age is not a finding.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, timedelta
from typing import TYPE_CHECKING, Final

from holdfast.config.layout import Surface
from holdfast.errors import Corrupt, Refused
from holdfast.flush import notes
from holdfast.models import Finding, Severity
from holdfast.storage import block_marker
from holdfast_app.markdown.lines import BLANK, HEADING, ITEM, Line, Lines

if TYPE_CHECKING:
    from holdfast_app.base import Services

#: Surfaces made from other surfaces; their content is not a source.
DERIVED: Final = (Surface.TRAIL, Surface.REPORT, Surface.DIARY)
_SOURCE: Final = re.compile(r"Source: (.+), block (\S+)")
_KIND: Final = re.compile(r"\*\*\w+\*\* ")
_POINTER: Final = re.compile(r"  \(([^()]|\([^()]*\))*\)$")
_URL: Final = re.compile(r"\(https?://[^()\s]+\)$")
#: The report sections whose lines are decisions, changes of state and blockers.
_CRITICAL: Final = ("What changed", "What is blocked")


class Derived:
    """One check of the stored documents, read once each. ``also`` is a further source, such as a forge's answer."""

    def __init__(self, services: Services, *, also: str = "") -> None:
        self._services = services
        self._also = also
        self._texts: dict[str, str | None] = {}
        self._all: str | None = None

    def findings(self, name: str) -> list[Finding]:
        """The problems in a document, by line. None for an unreadable document. Raises: Unavailable."""
        surface = self._services.layout.surface_of(name)
        if surface is Surface.TRAIL:
            return list(self._summary(name))
        if surface is Surface.REPORT:
            return list(self._report(name))
        return list(self._note(name)) if surface is Surface.DAILY else []

    def _summary(self, name: str) -> Iterator[Finding]:
        """A daily summary: every block has its note, and every line appears in a source. Skips a summary older than
        the retention limit of notes."""
        day = self._services.layout.day_of(Surface.TRAIL, name)
        if day is None or self._is_old(day, self._services.config.retention.daily):
            return
        note = _plain(self._text(self._services.layout.name(Surface.DAILY, day)) or "")  # most lines are here
        for line in Lines(self._text(name) or ""):
            told = _SOURCE.fullmatch(line.text)
            if told is not None:
                if problem := self._lost(told[1], told[2]):
                    fix = "Restore the note from a copy, because a summary does not replace it."
                    yield Finding(rule="summary/source", message=problem, fix=fix, line=line.number, name=name)
            elif line.kind not in (BLANK, HEADING):
                claim = _claim(line)
                if _plain(claim) not in note and not self._known(claim):
                    yield self._alone(name, line.number, Severity.ERROR if line.kind == ITEM else Severity.WARNING)

    def _report(self, name: str) -> Iterator[Finding]:
        """A saved report: its decisions, changes and blockers appear in a source, or point to a forge."""
        section = ""
        for line in Lines(self._text(name) or ""):
            if line.kind == HEADING:
                section = line.text
            elif section in _CRITICAL and line.kind == ITEM and not _URL.search(line.text):
                claim = _POINTER.sub("", _claim(line))
                if claim != "nothing" and not self._known(claim):
                    yield self._alone(name, line.number, Severity.ERROR)

    def _note(self, name: str) -> Iterator[Finding]:
        """A daily note: every flush that changed state is also in that day's summary."""
        day = self._services.layout.day_of(Surface.DAILY, name)
        if day is None or self._is_old(day, self._services.config.retention.trail):
            return
        summary = self._services.layout.name(Surface.TRAIL, day)
        for block in notes.blocks(self._text(name) or ""):
            if block.items("State") and block_marker(block.id) not in (self._text(summary) or ""):
                line = (self._text(name) or "").split(block_marker(block.id), 1)[0].count("\n") + 1
                message = f"changed state in {block.id}, and the change is missing from {summary}, where people look"
                fix = "Run `holdfast doctor --fix`, which writes it again, or restore that summary from a copy."
                yield Finding(rule="trail/missing", message=message, fix=fix, line=line, name=name)

    def _lost(self, note: str, block: str) -> str:
        """Why a summary's source is missing, or an empty string."""
        text = self._text(note)
        if text is None:
            return f"refers to {note}, which is missing"
        return "" if block_marker(block) in text else f"refers to the block {block}, which {note} does not hold"

    def _known(self, claim: str) -> bool:
        wanted = _plain(claim)
        if self._all is None:
            names = (n for n in self._services.store.names() if self._services.layout.surface_of(n) not in DERIVED)
            self._all = _plain("\n".join([*(self._text(name) or "" for name in names), self._also]))
        return wanted in self._all

    def _alone(self, name: str, line: int, severity: Severity) -> Finding:
        return Finding(
            rule="summary/only-place",
            message="appears in no daily note and no other source",
            severity=severity,
            fix="Write it to its source (`holdfast flush` with a payload). A summary is made from other documents.",
            line=line,
            name=name,
        )

    def _text(self, name: str) -> str | None:
        if name not in self._texts:
            try:
                document = self._services.store.read(name)
                self._texts[name] = document.text if document else None
            except Corrupt:
                self._texts[name] = ""  # the check that reads this document itself reports it
            except Refused:
                self._texts[name] = None  # not a document name, so no such document exists
        return self._texts[name]

    def _is_old(self, day: date, days: int) -> bool:
        """Whether retention may have removed documents of ``day``."""
        return bool(days) and self._services.now().date() - day > timedelta(days=days)


def _claim(line: Line) -> str:
    """A line's content, without its bullet and the preceding kind of change."""
    return _KIND.sub("", line.text, count=1)


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()
