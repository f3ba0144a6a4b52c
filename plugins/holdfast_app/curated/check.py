"""Checks a whole curated document.

Refused (severity error): diary and transcript lines, guesses, topic branches, open work, machine paths, prose,
duplicates, items that are too long or too many. Core never lets an already stored line block a new one. Only reported
(warning):

- everything except machine paths when a stored document is checked (``holdfast validate``). The file is the operator's,
  who may have meant it. A path of one machine is wrong on all others;
- fenced code. Its content is not checked.

The text is the document as it will be stored, each entry with its ``- ``.
"""

from collections.abc import Iterator
from typing import Final

from holdfast.models import Finding, Severity
from holdfast.text.stored import duplicate_key
from holdfast.validation import ValidationRequest
from holdfast_app.curated import rules
from holdfast_app.curated.limits import Limits
from holdfast_app.dream.memorytext import LASTING
from holdfast_app.markdown.lines import BLANK, CODE, FENCE, HEADING, ITEM, Line, Lines

#: Maximum characters of a line that the word rules read, which bounds their time. A longer item is refused for its
#: length, unless the user allowed such items.
_JUDGED_CHARS: Final = 2_000

_RELATIVE: Final = "Use a path relative to the project, or a URL."
#: Checking stops after this many findings.
_MAX_FINDINGS: Final = 1_000


def check(request: ValidationRequest, limits: Limits) -> tuple[Finding, ...]:
    """Findings in line order, at most one from the word rules per line."""
    findings: list[Finding] = []

    def add(rule: str, line: int, message: str, fix: str, *, warning: bool = request.stored) -> None:
        severity = Severity.WARNING if warning else Severity.ERROR
        rule = f"curated/{rule}"
        findings.append(Finding(rule=rule, message=message, severity=severity, line=line, fix=fix, name=request.name))

    firsts: dict[str, int] = {}  # duplicate key -> line of the first item that has it
    count, heading = 0, ""
    document = Lines(request.text)
    for index, line in enumerate(line for line in document if line.kind not in (BLANK, CODE)):
        if len(findings) >= _MAX_FINDINGS:
            break
        if _is_item(line) and line.text:
            count += 1
            first = firsts.setdefault(duplicate_key(line.text), line.number)
            for rule, message, fix in _item(line, first, count, limits):
                add(rule, line.number, message, fix)
        elif limits.bullets and not (line.kind == HEADING and (line.level > 1 or not index)):
            if line.kind == FENCE and not line.mark:
                continue  # of fenced code only the line that opens it is reported
            other = "an empty item" if _is_item(line) else "not an item"
            shape = {HEADING: "a title below the first line", FENCE: "fenced code, not an item"}.get(line.kind, other)
            fix = "Begin each item with '- ' at the margin."
            add("bullets", line.number, f"is {shape}", fix, warning=request.stored or line.kind == FENCE)
        heading = line.text if line.kind == HEADING else heading
        if line.kind != FENCE:
            if path := rules.machine_path(line.text):
                message, fix = f"contains a path that exists on one machine only: {path}", _RELATIVE
                add("machine-path", line.number, message, fix, warning=False)
            for rule, message, fix in _said(line, heading):
                add(rule, line.number, message, fix)
    if document.unclosed:
        mark, number = document.unclosed
        message = f"opens a {'comment' if mark == '<!--' else 'code block'} that never ends"
        add("unclosed", number, message, "Close it.")
    return tuple(sorted(findings, key=lambda f: f.line or 0))  # an unclosed block is found at the end


def _item(line: Line, first: int, count: int, limits: Limits) -> Iterator[tuple[str, str, str]]:
    """The problems of the item number ``count``, each with its rule and what to do. Line ``first`` says the same."""
    if len(line.text) > limits.max_chars:
        message = f"has {len(line.text)} characters, more than {limits.max_chars}"
        yield "length", message, "Shorten it to one sentence, or link to the details."
    if first != line.number:
        yield "duplicate", f"repeats line {first}", "Remove either line."
    if count == limits.max_items + 1:
        message = f"exceeds the limit of {limits.max_items} items"
        yield "items", message, "Merge or remove items before adding one."


def _said(line: Line, heading: str) -> Iterator[tuple[str, str, str]]:
    """The first problem of the line's words, under ``heading``. What was given up is told as work that was done."""
    text = rules.prepare(line.text[:_JUDGED_CHARS])
    if line.kind == HEADING:
        if rules.DIARY_HEADING.fullmatch(text.bare.strip()):
            yield "chronology", "is a diary heading", "Group by subject, not by day."
        return
    for rule in rules.RULES:
        if (rule.id, heading) != ("chronology", LASTING["Rejected"]) and (problem := rule.check(text)):
            yield rule.id, problem, rule.fix
            return


def _is_item(line: Line) -> bool:
    """Whether a line is an item in the form that holdfast writes. Other lists are prose."""
    return line.kind == ITEM and line.mark == "-" and not line.indent
