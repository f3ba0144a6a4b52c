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

from typing import Final

from holdfast.models import Finding, Severity
from holdfast.text.stored import duplicate_key
from holdfast.validation import ValidationRequest
from holdfast_app.curated import rules
from holdfast_app.curated.limits import Limits
from holdfast_app.markdown.lines import BLANK, CODE, FENCE, HEADING, ITEM, Line, Lines

#: Maximum characters of a line that the word rules read, which bounds their time. A longer item is refused for its
#: length, unless the user allowed such items.
_JUDGED_CHARS: Final = 2_000

#: Checking stops after this many findings.
_MAX_FINDINGS: Final = 1_000


def check(request: ValidationRequest, limits: Limits) -> tuple[Finding, ...]:
    """Findings in line order, at most one from the word rules per line."""
    return _Check(request, limits).run()


class _Check:
    def __init__(self, request: ValidationRequest, limits: Limits) -> None:
        self._request = request
        self._limits = limits
        self._findings: list[Finding] = []

    def run(self) -> tuple[Finding, ...]:
        firsts: dict[str, int] = {}  # duplicate key -> line of the first item that has it
        count = 0
        document = Lines(self._request.text)
        shown = (line for line in document if line.kind not in (BLANK, CODE))
        for index, line in enumerate(shown):
            if len(self._findings) >= _MAX_FINDINGS:
                break
            if _is_item(line) and line.text:
                count += 1
                self._item(line, firsts)
                if count == self._limits.max_items + 1:
                    message = f"exceeds the limit of {self._limits.max_items} items"
                    self._add("curated/items", line.number, message, fix="Merge or remove items before adding one.")
            elif line.kind != HEADING or (line.level == 1 and index > 0):
                self._shape(line)
            if line.kind != FENCE:
                self._content(line)
        if document.unclosed:
            mark, number = document.unclosed
            message = f"opens a {'comment' if mark == '<!--' else 'code block'} that never ends"
            self._add("curated/unclosed", number, message, fix="Close it.")
        return tuple(sorted(self._findings, key=lambda f: f.line or 0))  # an unclosed block is found at the end

    def _item(self, line: Line, firsts: dict[str, int]) -> None:
        if len(line.text) > self._limits.max_chars:
            message = f"has {len(line.text)} characters, more than {self._limits.max_chars}"
            self._add("curated/length", line.number, message, fix="Shorten it to one sentence, or link to the details.")
        first = firsts.setdefault(duplicate_key(line.text), line.number)
        if first != line.number:
            self._add("curated/duplicate", line.number, f"repeats line {first}", fix="Remove either line.")

    def _shape(self, line: Line) -> None:
        """Report a line that has no place in a memory. Of fenced code only the line that opens it is reported."""
        if not self._limits.bullets or (line.kind == FENCE and not line.mark):
            return
        other = "an empty item" if _is_item(line) else "not an item"
        shape = {HEADING: "a title below the first line", FENCE: "fenced code, not an item"}.get(line.kind, other)
        warning = True if line.kind == FENCE else None
        fix = "Begin each item with '- ' at the margin."
        self._add("curated/bullets", line.number, f"is {shape}", fix=fix, warning=warning)

    def _content(self, line: Line) -> None:
        if path := rules.machine_path(line.text):
            message = f"contains a path that exists on one machine only: {path}"
            fix = "Use a path relative to the project, or a URL."
            self._add("curated/machine-path", line.number, message, fix=fix, warning=False)
        text = rules.prepare(line.text[:_JUDGED_CHARS])
        if line.kind == HEADING:
            if said := rules.diary_heading(text):
                self._add("curated/chronology", line.number, said, fix="Group by subject, not by day.")
            return
        for rule in rules.RULES:
            if said := rule.check(text):
                self._add(rule.id, line.number, said, fix=rule.fix)
                return

    def _add(self, rule: str, line: int, message: str, *, fix: str, warning: bool | None = None) -> None:
        if warning is None:
            warning = self._request.stored
        severity = Severity.WARNING if warning else Severity.ERROR
        name = self._request.name
        self._findings.append(Finding(rule=rule, message=message, severity=severity, line=line, fix=fix, name=name))


def _is_item(line: Line) -> bool:
    """Whether a line is an item in the form that holdfast writes. Other lists are prose."""
    return line.kind == ITEM and line.mark == "-" and not line.indent
