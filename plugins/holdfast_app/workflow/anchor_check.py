"""Validation of a document with anchors.

Errors refuse the document: missing or repeated required anchors, an unclosed construct that swallows the text after it,
excessive size. Warnings are only reported, for a required anchor in different case, which does not satisfy it (reading
A52), other repeated headings (A53), and empty sections (A54).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from holdfast.config.layout import Surface
from holdfast.models import Finding, Severity
from holdfast.text.plain import same_key
from holdfast.validation import MAX_DOCUMENT_CHARS, ValidationRequest
from holdfast_app.markdown.marks import without_comments
from holdfast_app.markdown.outline import Heading, Outline, outline
from holdfast_app.workflow.sections import heading_of
from holdfast_app.workflow.three import ANCHORS

_FILE: Final = "`holdfast init --three-files` adds it."


def check(request: ValidationRequest) -> tuple[Finding, ...]:
    """Findings in line order, those without a line first; ``()`` for a valid document."""
    anchors = ANCHORS[Surface(request.surface)]
    text = request.text
    if len(text) > MAX_DOCUMENT_CHARS:
        message = f"has {len(text):,} characters, more than the limit of {MAX_DOCUMENT_CHARS:,}"
        return (_finding(request, "anchors/size", message, fix="Move old entries out of it."),)
    found = outline(text)
    told = [*_anchors(request, found, anchors), *_repeats(request, found, anchors), *_empty(request, found)]
    if found.unclosed:
        kind, line = found.unclosed
        message = f"opens {'fenced code' if kind == 'fence' else 'an HTML block or comment'} that never ends"
        told.append(_finding(request, "anchors/unclosed", message, line=line, fix="Close it."))
    return tuple(sorted(told, key=lambda f: f.line or 0))


def _anchors(request: ValidationRequest, found: Outline, anchors: Sequence[str]) -> Iterator[Finding]:
    for anchor in anchors:
        wanted = heading_of(anchor)
        places = [h for h in found.headings if (h.level, h.text) == wanted]
        if not places:
            other = next((h for h in found.headings if h.level == wanted[0] and _alike(h.text, wanted[1])), None)
            if other:
                message = f"`{_shown(other)}` is not the required `{anchor}`: its case differs"
                fix = f"Write it as `{anchor}`."
                yield _finding(request, "anchors/case", message, line=other.line, fix=fix, warning=True)
            yield _finding(request, "anchors/missing", f"The required anchor `{anchor}` is missing", fix=_FILE)
        for again in places[1:]:
            message = f"The anchor `{anchor}` is a duplicate of line {places[0].line}"
            yield _finding(
                request, "anchors/duplicate", message, line=again.line, fix="Merge the two sections manually."
            )


def _repeats(request: ValidationRequest, found: Outline, anchors: Sequence[str]) -> Iterator[Finding]:
    """Repeated optional headings, and headings that resemble an existing anchor."""
    required = {heading_of(anchor) for anchor in anchors}
    have = required & {(h.level, h.text) for h in found.headings}
    first: dict[tuple[int, str], int] = {}
    parent: list[str] = []
    for heading in found.headings:
        del parent[heading.level - 1 :]
        parent += [""] * (heading.level - 1 - len(parent)) + [heading.text]
        if (heading.level, heading.text) in required:
            continue
        near = next((a for a in have if a[0] == heading.level and _alike(a[1], heading.text)), None)
        if near:
            message = f"`{_shown(heading)}` differs from the anchor `{'#' * near[0]} {near[1]}` in case only"
            fix = "Merge the two sections, or rename this one."
            yield _finding(request, "anchors/case", message, line=heading.line, fix=fix, warning=True)
            continue
        # The same words under different parents mean different things: `### Notes` of two sections is fine.
        key = (heading.level, "\n".join(parent))
        if first.setdefault(key, heading.line) != heading.line:
            message = f"The heading `{_shown(heading)}` is a duplicate of line {first[key]}"
            fix = "Merge the two sections, or rename one."
            yield _finding(request, "anchors/repeated", message, line=heading.line, fix=fix, warning=True)


def _empty(request: ValidationRequest, found: Outline) -> Iterator[Finding]:
    """Report empty sections. A section ends at the next heading of its level or higher; comments are not text."""
    pieces: list[bool] = []
    for index, heading in enumerate(found.headings):
        until = found.headings[index + 1].start if index + 1 < len(found.headings) else len(request.text)
        body = request.text[heading.end : until]
        pieces.append(bool(without_comments(body)[0].strip()))
    # From the end, so each section knows its subsections: level still open -> whether it has text.
    told: list[Finding] = []
    for index in range(len(found.headings) - 1, -1, -1):
        heading = found.headings[index]
        inside = index + 1
        if not pieces[index] and inside < len(found.headings) and found.headings[inside].level > heading.level:
            continue  # the empty part is a subsection, reported separately
        if not pieces[index]:
            message = f"The section `{_shown(heading)}` is empty"
            fix = "Write its text, or `- None yet`."
            told.append(_finding(request, "anchors/empty", message, line=heading.line, fix=fix, warning=True))
    yield from reversed(told)


def _alike(one: str, other: str) -> bool:
    return same_key(one) == same_key(other)


def _shown(heading: Heading) -> str:
    return f"{'#' * heading.level} {heading.text}"


def _finding(
    request: ValidationRequest, rule: str, message: str, *, line: int | None = None, fix: str, warning: bool = False
) -> Finding:
    severity = Severity.WARNING if warning else Severity.ERROR
    return Finding(rule=rule, message=message, severity=severity, line=line, fix=fix, name=request.name)
