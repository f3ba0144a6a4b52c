"""Checks of stored documents, each through ``on_validate``, whether related documents exist, and whether the content of
summaries appears in their sources.

A summary is never the only place of a fact (R165) and never replaces the note it refers to (R177). A change
of state is never only in a note (R174). Data removed by retention because of its age is not a finding.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import date, timedelta
from typing import Final

from attrs import evolve, frozen

from holdfast.config.layout import Surface
from holdfast.errors import Corrupt, NotFound, Refused, must_be
from holdfast.flush import handoff
from holdfast.models import Finding, Severity
from holdfast.storage import block_marker
from holdfast.validation import MAX_DOCUMENT_CHARS, ValidationRequest
from holdfast_app.base import THREE_FILES, Services
from holdfast_app.markdown.lines import BLANK, HEADING, ITEM, Line, Lines
from holdfast_app.records.blocks import blocks
from holdfast_file import conflicts

#: Surfaces made from other surfaces; their content is not a source.
DERIVED: Final = (Surface.TRAIL, Surface.REPORT, Surface.DIARY)
_SOURCE: Final = re.compile(r"Source: (.+), block (\S+)")
_KIND: Final = re.compile(r"\*\*\w+\*\* ")
_POINTER: Final = re.compile(r"  \(([^()]|\([^()]*\))*\)$")
_URL: Final = re.compile(r"\(https?://[^()\s]+\)$")
#: The report sections whose lines appear in a source, and lines made from other files.
_CRITICAL: Final = ("What happened", "What changed", "What is blocked", "Where the proof lives")
_MADE: Final = re.compile(r"(?:heartbeat|briefing): |Session \S+ was compacted past the gate on |Daily note of ")


class Derived:
    """One check of the stored documents, read once each. ``also`` is a further source, such as a forge's answer."""

    def __init__(self, services: Services, *, also: str = "") -> None:
        self._services = services
        self._also = also
        self._texts: dict[str, str | None] = {}
        self._all: str | None = None

    def findings(self, name: str) -> list[Finding]:
        """The problems in a document, by line. None for an unreadable document. Raises: Unavailable."""
        surface, retention = self._services.layout.surface_of(name), self._services.config.retention
        checks = {
            Surface.TRAIL: (self._summary, retention.daily),
            Surface.REPORT: (self._report, retention.daily),
            Surface.DAILY: (self._note, retention.trail),
        }
        day = self._services.layout.day_of(surface, name) if surface in checks else None
        if surface is None or day is None:
            return []
        check, days = checks[surface]  # retention may have removed what older ones are compared with
        is_old = bool(days) and self._services.now().date() - day > timedelta(days=days)
        return [] if is_old else list(check(name, day))

    def _summary(self, name: str, day: date) -> Iterator[Finding]:
        """A daily summary: its blocks have notes, its lines a source."""
        note = _plain(self._text(self._services.layout.name(Surface.DAILY, day)) or "")  # most lines are here
        for line in Lines(self._text(name) or ""):
            match = _SOURCE.fullmatch(line.text)
            if match is not None:
                if problem := self._lost(match[1], match[2]):
                    fix = "Restore the note from a copy, because a summary does not replace it."
                    yield Finding(rule="summary/source", message=problem, fix=fix, line=line.number, name=name)
            elif line.kind not in (BLANK, HEADING):
                claim = _claim(line)
                if _plain(claim) not in note and not self._known(claim):
                    yield self._alone(name, line.number, Severity.ERROR if line.kind == ITEM else Severity.WARNING)

    def _report(self, name: str, _: date) -> Iterator[Finding]:
        """A saved report: its facts, decisions, changes and blockers appear in a source, or point to a forge."""
        section = ""
        for line in Lines(self._text(name) or ""):
            if line.kind == HEADING:
                section = line.text
            elif section in _CRITICAL and line.kind == ITEM and not _URL.search(line.text):
                claim = _POINTER.sub("", _claim(line))
                if claim != "nothing" and not _MADE.match(claim) and not self._known(claim):
                    yield self._alone(name, line.number, Severity.ERROR)

    def _note(self, name: str, day: date) -> Iterator[Finding]:
        """A daily note: every flush that changed state is also in that day's summary."""
        summary = self._services.layout.name(Surface.TRAIL, day)
        for block in blocks(self._text(name) or ""):
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


def _claim(line: Line) -> str:
    """A line's content, without its bullet and the preceding kind of change."""
    return _KIND.sub("", line.text, count=1)


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


#: The surface that validators get for a document of no known surface.
OTHER = "other"


@frozen(kw_only=True)
class Validation:
    """``checked`` names the documents that were read, sorted; ``findings`` are by document, then by line. A finding's
    ``name`` is its document's. For a secret only the position is shown, never its value."""

    checked: tuple[str, ...]
    findings: tuple[Finding, ...]

    @property
    def errors(self) -> tuple[Finding, ...]:
        return tuple(f for f in self.findings if f.severity is Severity.ERROR)

    @property
    def warnings(self) -> tuple[Finding, ...]:
        return tuple(f for f in self.findings if f.severity is Severity.WARNING)

    @property
    def ok(self) -> bool:
        """Whether the result is free of errors. Warnings do not count."""
        return not self.errors


def validate(services: Services, names: Iterable[str] = ()) -> Validation:
    """See :meth:`holdfast.Holdfast.validate`."""
    must_be(Iterable, names, "names")
    stored = services.store.names()
    expected = three_files(services, stored)
    wanted = tuple(dict.fromkeys(names)) or tuple(sorted({*stored, *expected}))
    checked: list[str] = []
    findings: list[Finding] = []
    derived = Derived(services)
    for name in sorted(wanted):
        try:
            document = services.store.read(name)
        except (Corrupt, Refused) as error:
            findings.append(Finding(rule="document/unreadable", message=error.message, fix=error.next_step, name=name))
            continue
        if document is None:
            if name not in expected:
                raise NotFound(f"There is no document {name!r}.", next_step="`holdfast show` lists the documents.")
            fix = "`holdfast validate --fix` creates it. If it existed before, restore it from a copy."
            findings.append(Finding(rule="document/missing", message="is missing", fix=fix, name=name))
            continue
        if len(document.text) > MAX_DOCUMENT_CHARS:  # skip the validators, which would exceed their deadline
            message = f"has {len(document.text):,} characters; more than {MAX_DOCUMENT_CHARS:,} are not checked"
            findings.append(Finding(rule="document/size", message=message, fix="Move old text out of it.", name=name))
            continue
        checked.append(name)
        problem = Finding(rule="document/conflict", message="has git conflict markers", fix=conflicts.FIX, name=name)
        findings += [evolve(problem, line=conflict.first) for conflict in conflicts.find(document.text)]
        surface = services.layout.surface_of(name) or OTHER
        raw = services.gate.findings(ValidationRequest(surface, name, document.text, stored=True))
        placed = [*(_placed(f, name, document.text) for f in raw), *derived.findings(name)]
        if surface is Surface.HANDOFF:
            with suppress(Corrupt):  # no matter of how many entries there are
                if notice := handoff.crowded(handoff.parse(document.text, name)):  # so many that old ones are shortened
                    rule, fix = "handoff/crowded", "End the sessions that are over: `holdfast end --session ID`."
                    placed.append(Finding(rule=rule, message=notice, severity=Severity.WARNING, fix=fix, name=name))
        findings += sorted(placed, key=lambda f: f.line or 0)
    return Validation(checked=tuple(checked), findings=tuple(findings))


def unsupported(services: Services, names: Iterable[str], *, also: str = "") -> Iterator[Finding]:
    """Lines of the summaries, reports and notes ``names`` without a source, in order; names of missing documents are
    skipped. ``also`` is a further source, such as a forge's answer. Raises: Unavailable."""
    derived = Derived(services, also=also)
    there = set(services.store.names())
    for name in names:
        if name in there:
            yield from derived.findings(name)


def three_files(services: Services, stored: Iterable[str]) -> dict[str, Surface]:
    """The three-file memory's required files. With the layout made for them all are required, and with any other
    layout once at least one exists."""
    names = {services.layout.name(surface): surface for surface in THREE_FILES}
    there = services.layout.preset == "opencode" or not set(stored).isdisjoint(names)
    return names if there else {}


def _placed(finding: Finding, name: str, text: str) -> Finding:
    line = finding.line
    if line is None and finding.span is not None:
        line = text.count("\n", 0, finding.span[0]) + 1
    return evolve(finding, name=name, line=line)
