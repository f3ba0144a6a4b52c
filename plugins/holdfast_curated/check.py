"""Checks a whole curated document.

Refused (severity error): diary and transcript lines, guesses, topic branches, open work, machine paths, prose,
duplicates, items that are too long or too many. Core never lets an already stored line block a new one. Only reported
(warning):

- everything except machine paths when a stored document is checked (``holdfast validate``). The file is the operator's,
  who may have meant it. A path of one machine is wrong on all others;
- fenced code. Its content is not checked.

The text is the document as it will be stored, each entry with its ``- ``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from holdfast.facts.factrules import duplicate_key
from holdfast.models import Finding, Severity
from holdfast_curated import rules
from holdfast_curated.document import Kind, Line, read

if TYPE_CHECKING:
    from holdfast.subject import Subject
    from holdfast_curated import Limits

#: Maximum characters of a line that the word rules read, which bounds their time. A longer item is refused for its
#: length, unless the user allowed such items.
_JUDGED_CHARS: Final = 2_000

#: Checking stops after this many findings.
_MAX_FINDINGS: Final = 1_000

_SHAPES: Final = {
    Kind.TITLE: "a title below the first line",
    Kind.ITEM: "an empty item",
    Kind.PROSE: "not an item",
    Kind.FENCE: "fenced code, not an item",
}


def check(subject: Subject, limits: Limits) -> tuple[Finding, ...]:
    """Findings in line order, at most one from the word rules per line."""
    return _Check(subject, limits).run()


class _Check:
    def __init__(self, subject: Subject, limits: Limits) -> None:
        self._subject = subject
        self._limits = limits
        self._findings: list[Finding] = []

    def run(self) -> tuple[Finding, ...]:
        firsts: dict[str, int] = {}  # duplicate key -> line of the first item that has it
        count = 0
        for index, line in enumerate(read(self._subject.text)):
            if len(self._findings) >= _MAX_FINDINGS:
                break
            if line.kind is Kind.ITEM and line.text:
                count += 1
                self._item(line, firsts)
                if count == self._limits.max_items + 1:
                    message = f"exceeds the limit of {self._limits.max_items} items"
                    self._add("curated/items", line, message, fix="Merge or remove items before adding one.")
            elif line.kind is not Kind.HEADING and not (line.kind is Kind.TITLE and index == 0):
                self._shape(line)
            if line.kind not in (Kind.FENCE, Kind.UNCLOSED):
                self._content(line)
        return tuple(sorted(self._findings, key=lambda f: f.line or 0))  # an unclosed block is found at the end

    def _item(self, line: Line, firsts: dict[str, int]) -> None:
        if len(line.text) > self._limits.max_chars:
            message = f"has {len(line.text)} characters, more than {self._limits.max_chars}"
            self._add("curated/length", line, message, fix="Shorten it to one sentence, or link to the details.")
        first = firsts.setdefault(duplicate_key(line.text), line.number)
        if first != line.number:
            self._add("curated/duplicate", line, f"repeats line {first}", fix="Remove either line.")

    def _shape(self, line: Line) -> None:
        if line.kind is Kind.UNCLOSED:
            self._add("curated/unclosed", line, f"opens a {line.text} that never ends", fix="Close it.")
        elif self._limits.bullets:
            fix = "Begin each item with '- ' at the margin."
            self._add(
                "curated/bullets",
                line,
                f"is {_SHAPES[line.kind]}",
                fix=fix,
                warning=True if line.kind is Kind.FENCE else None,
            )

    def _content(self, line: Line) -> None:
        if path := rules.machine_path(line.text):
            message = f"contains a path that exists on one machine only: {path}"
            fix = "Use a path relative to the project, or a URL."
            self._add("curated/machine-path", line, message, fix=fix, warning=False)
        text = rules.prepare(line.text[:_JUDGED_CHARS])
        if line.kind in (Kind.TITLE, Kind.HEADING):
            if said := rules.diary_heading(text):
                self._add("curated/chronology", line, said, fix="Group by subject, not by day.")
            return
        for rule in rules.RULES:
            if said := rule.check(text):
                self._add(rule.id, line, said, fix=rule.fix)
                return

    def _add(self, rule: str, line: Line, message: str, *, fix: str, warning: bool | None = None) -> None:
        if warning is None:
            warning = self._subject.stored
        severity = Severity.WARNING if warning else Severity.ERROR
        name = self._subject.name
        self._findings.append(
            Finding(rule=rule, message=message, severity=severity, line=line.number, fix=fix, name=name)
        )
