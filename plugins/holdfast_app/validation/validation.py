"""Checks of stored data: every document through ``on_validate``, and whether related documents exist."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from attrs import evolve, frozen

from holdfast.config.layout import THREE_FILES, Surface
from holdfast.errors import Corrupt, NotFound, Refused
from holdfast.flush import handoff
from holdfast.models import Finding, Severity
from holdfast.text import conflicts
from holdfast.validation import MAX_DOCUMENT_CHARS, ValidationRequest
from holdfast_app.validation.consistency import Derived

if TYPE_CHECKING:
    from holdfast_app.base import Services

#: The surface that validators get for a document of no known surface.
OTHER = "other"
FIX = "Keep the right lines and remove the markers; `holdfast doctor --fix` merges notes and the handoff."


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


@frozen(kw_only=True)
class Repair:
    """What would put a document right safely: only anchors are added. ``before`` is None when it does not exist."""

    surface: Surface
    name: str
    before: str | None
    after: str


def validate(services: Services, names: Iterable[str] = ()) -> Validation:
    """See :meth:`holdfast.Holdfast.validate`."""
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
            findings.append(
                Finding(rule="document/size", message=message, fix="Move old content out of it.", name=name)
            )
            continue
        checked.append(name)
        findings += [
            Finding(rule="document/conflict", message="has git conflict markers", fix=FIX, name=name, line=found.first)
            for found in conflicts.find(document.text)
        ]
        surface = services.layout.surface_of(name) or OTHER
        found = services.gate.findings(ValidationRequest(surface, name, document.text, stored=True))
        found = [*(_placed(f, name, document.text) for f in found), *derived.findings(name)]
        if surface is Surface.HANDOFF:
            found += _crowded(name, document.text)
        findings += sorted(found, key=lambda f: f.line or 0)
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


def _crowded(name: str, text: str) -> list[Finding]:
    """A warning when the handoff has open work from so many sessions that it shortens old entries."""
    try:
        told = handoff.crowded(handoff.parse(text, name))
    except Corrupt:
        return []  # no matter of how many there are
    if not told:
        return []
    fix = "End the sessions that are over: `holdfast end --session ID`."
    return [Finding(rule="handoff/crowded", message=told, severity=Severity.WARNING, fix=fix, name=name)]


def _placed(finding: Finding, name: str, text: str) -> Finding:
    line = finding.line
    if line is None and finding.span is not None:
        line = text.count("\n", 0, finding.span[0]) + 1
    return evolve(finding, name=name, line=line)
