"""Markdown documents with anchors: editing and validation.

An anchor is a heading as written, ``## Decisions``. It must appear exactly once as a heading of the document. The same
words in different case are another heading (reading A52). An entry goes to its section, and every other byte is kept.

Errors refuse a document: missing or repeated required anchors, an unclosed construct that swallows the text after it,
excessive size. Warnings are only reported, for a required anchor in different case, other repeated headings (A53), and
empty sections (A54).
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import takewhile
from typing import Final, NamedTuple

from holdfast.config.layout import Surface
from holdfast.errors import Corrupt, Refused
from holdfast.models import CuratedEntry, Finding, Severity
from holdfast.text.plain import BOM, same_key
from holdfast.validation import MAX_DOCUMENT_CHARS, ValidationRequest
from holdfast_app.markdown import marks
from holdfast_app.markdown.lines import TEXT, read_line
from holdfast_app.markdown.marks import without_comments
from holdfast_app.markdown.outline import Heading, Outline, outline
from holdfast_app.records import ownlines
from holdfast_app.workflow.three import ANCHORS
from holdfast_file import conflicts

#: The placeholder text of a new section, replaced by the first entry.
PLACEHOLDER: Final = ownlines.NONE_YET

#: Maximum number of items per section, and of characters per entry. More is refused (R237, R239).
MAX_ITEMS: Final = 50
MAX_CHARS: Final = 500


class Item(NamedTuple):
    """A list item: offsets of its first paragraph, and its text on one line without the marker."""

    start: int
    end: int
    text: str


class Section(NamedTuple):
    """``start`` to ``end`` spans the text directly under the heading, before the next heading of any level."""

    heading: Heading
    start: int
    end: int
    items: tuple[Item, ...]


class Edit(NamedTuple):
    """The new text, and the added entries and those already present, each with its anchor."""

    text: str
    added: Sequence[tuple[str, str]]
    known: Sequence[tuple[str, str]]


def heading_of(anchor: str) -> tuple[int, str]:
    """Level and words of ``## Words``."""
    hashes, _, words = anchor.partition(" ")
    return len(hashes), words.strip()


def locate(text: str, anchors: Iterable[str], name: str) -> dict[str, Section]:
    """Sections by anchor.

    Raises: Corrupt, naming every error of the document's structure.
    """
    anchors = tuple(anchors)
    structure = _sound(text, anchors, name)
    places = {(heading.level, heading.text): at for at, heading in enumerate(structure.headings)}
    sections = {}
    for anchor in anchors:
        index = places[heading_of(anchor)]
        heading = structure.headings[index]
        end = structure.headings[index + 1].start if index + 1 < len(structure.headings) else len(text)
        starts = [at for at in structure.items if heading.end <= at < end]
        items = tuple(_item(text, at, until) for at, until in zip(starts, [*starts[1:], end], strict=False))
        sections[anchor] = Section(heading, heading.end, end, items)
    return sections


def insert(text: str, entries: Mapping[str, Sequence[CuratedEntry]], *, name: str) -> Edit:
    """Place entries, each on one line, under their anchors. Existing entries are not repeated.

    An entry that ``replaces`` an item takes its place, or is added when the item is missing. The first entry replaces
    :data:`PLACEHOLDER`. Repeating the call on its own result changes nothing.
    Raises: Corrupt as :func:`locate`; Refused when an entry is blank or too long, or its section is full.
    """
    new = text
    locate(text, entries, name)  # all of them, before the first is changed
    added, known = list[tuple[str, str]](), list[tuple[str, str]]()
    for anchor, listed in entries.items():
        for entry in listed:
            line = _line(entry, f"{name} under `{anchor}`")
            section = locate(new, (anchor,), name)[anchor]
            if same_key(line) in {same_key(item.text) for item in section.items}:
                known.append((anchor, line))
            else:
                new = _placed(new, section, line, line_of(entry.replaces), f"{name} under `{anchor}`")
                added.append((anchor, line))
    before, after = ([(h.level, h.text) for h in outline(version).headings] for version in (text, new))
    if before != after:
        raise Refused(
            f"An entry added to {name} would change its headings.",
            next_step="Close the open Markdown block just above the section.",
        )
    return Edit(text=new, added=added, known=known)


def _line(entry: CuratedEntry, where: str) -> str:
    """The entry's line. Raises: Refused."""
    line = line_of(entry.text)
    if not line:
        raise Refused(f"An entry for {where} is blank.", next_step="Write some text, or leave the entry out.")
    if len(line) > MAX_CHARS:
        why = f"An entry for {where} has {len(line)} characters, more than {MAX_CHARS}."
        raise Refused(why, next_step="Use one sentence, or link to the details.")
    return line


def _placed(text: str, section: Section, line: str, old: str, where: str) -> str:
    """``text`` with ``line`` in place of the item ``old`` or of the placeholder, otherwise at the section's end.

    Raises: Refused when the section is full.
    """
    items = {same_key(item.text): item for item in reversed(section.items)}
    replaced = (items.get(same_key(old)) if old else None) or items.get("none yet")
    if replaced is not None:
        end = replaced.start + len(text[replaced.start : replaced.end].rstrip("\r\n"))
        return f"{text[: replaced.start]}- {line}{text[end:]}"
    if len(section.items) >= MAX_ITEMS:
        raise Refused(
            f"{where} is full. It holds {MAX_ITEMS} items.",
            next_step="Remove or merge old ones, or let the new entry replace one.",
        )
    newline = _newline(text)
    body = text[section.start : section.end]
    if not body.strip():
        head = text[: section.start]
        head += "" if head.endswith(("\n", "\r")) else newline
        blank = body or (newline if section.end < len(text) else "")
        return f"{head}{newline}- {line}{newline}{blank}{text[section.end :]}"
    end = section.start + len(body.rstrip())
    end += len(text[end : section.end]) - len(text[end : section.end].lstrip(" \t"))
    # A blank line is needed except directly after a list item.
    last = text[section.items[-1].start : end] if section.items else ""
    gap = newline if last and not re.search(r"[\r\n]\S", last) else newline * 2
    return f"{text[:end]}{gap}- {line}{text[end:] or newline}"


def complete(text: str | None, *, title: str, anchors: Iterable[str], name: str) -> str:
    """``text`` with a section appended for each missing anchor. Nothing is renamed or removed.

    Raises: Corrupt when it is too long, or the end is inside an unclosed block, so nothing can be added.
    """
    if text is None or not text.removeprefix(BOM).strip():
        return f"{title}\n" + "".join(f"\n{anchor}\n\n{PLACEHOLDER}\n" for anchor in anchors)
    have = {(h.level, h.text) for h in _sound(text, (), name).headings}
    missing = [anchor for anchor in anchors if heading_of(anchor) not in have]
    if not missing:
        return text
    newline = _newline(text)
    ended = text if text.endswith(("\n", "\r")) else text + newline
    return ended + "".join(f"{newline}{anchor}{newline * 2}{PLACEHOLDER}{newline}" for anchor in missing)


def line_of(text: str) -> str:
    """``text`` as one line for a list item, with no marker, single spaces, no comment opener."""
    return " ".join(text.split()).removeprefix("- ").strip().replace("<!--", "&lt;!--")


def _item(text: str, start: int, until: int) -> Item:
    """The item's first paragraph: up to a blank line, a nested item or another block."""
    first, *rest = text[start:until].splitlines(keepends=True)
    paragraph = [first, *takewhile(lambda line: read_line(line).kind == TEXT, rest)]
    content = "".join(paragraph).strip()
    return Item(start, start + sum(map(len, paragraph)), " ".join(content[len(marks.item(content)) :].split()))


def _newline(text: str) -> str:
    return "\r\n" if text.partition("\n")[0].endswith("\r") else "\n"


def _sound(text: str, anchors: Sequence[str], name: str) -> Outline:
    """The document's outline. Raises: Corrupt for an error in its structure or for both sides of a merge."""
    if problem := conflicts.described(name, text):
        raise Corrupt(problem, next_step=f"{conflicts.BY_HAND}.")
    structure, errors = _read(text, anchors, name)
    if errors:
        problem = ", ".join(f"{error.message} (line {error.line})" if error.line else error.message for error in errors)
        raise Corrupt(f"{name} cannot be used: {problem}.", next_step=errors[0].fix)
    return structure


def check(request: ValidationRequest) -> tuple[Finding, ...]:
    """Findings in line order, those without a line first; ``()`` for a valid document."""
    anchors = ANCHORS[Surface(request.surface)]
    structure, errors = _read(request.text, anchors, request.name)
    findings = [*errors, *_repeats(request, structure, anchors), *_empty(request, structure)]
    return tuple(sorted(findings, key=lambda f: f.line or 0))


def _read(text: str, anchors: Sequence[str], name: str) -> tuple[Outline, list[Finding]]:
    """The outline, empty for a document that is too long, and the structure's errors, the first to correct first."""

    error = partial(_finding, name)
    if len(text) > MAX_DOCUMENT_CHARS:
        message = f"has {len(text):,} characters, more than the limit of {MAX_DOCUMENT_CHARS:,}"
        return Outline(()), [error("size", message, "Move old entries out of it.")]
    structure, errors, missing = outline(text), list[Finding](), list[Finding]()
    if structure.unclosed:
        kind, line = structure.unclosed
        message = f"opens {'fenced code' if kind == 'fence' else 'an HTML block or comment'} that never ends"
        errors.append(error("unclosed", message, "Close it.", line))
    for anchor in anchors:
        places = [h for h in structure.headings if (h.level, h.text) == heading_of(anchor)]
        if not places:
            message = f"The required anchor `{anchor}` is missing"
            missing.append(error("missing", message, "`holdfast init --three-files` adds it."))
        for again in places[1:]:
            message = f"The anchor `{anchor}` is a duplicate of line {places[0].line}"
            errors.append(error("duplicate", message, "Merge the two sections manually.", again.line))
    return structure, [*errors, *missing]


def _repeats(request: ValidationRequest, structure: Outline, anchors: Sequence[str]) -> Iterator[Finding]:
    """Repeated optional headings, and headings that resemble a required anchor."""
    required = {heading_of(anchor) for anchor in anchors}
    first: dict[tuple[int, str], int] = {}
    parent: list[str] = []
    for heading in structure.headings:
        del parent[heading.level - 1 :]
        parent += [""] * (heading.level - 1 - len(parent)) + [heading.text]
        if (heading.level, heading.text) in required:
            continue
        near = next((a for a in required if a[0] == heading.level and same_key(a[1]) == same_key(heading.text)), None)
        if near:
            message = f"`{_shown(heading)}` differs from the anchor `{'#' * near[0]} {near[1]}` in case only"
            fix = "Write it as the anchor, or merge it with that section."
            yield _finding(request.name, "case", message, fix, heading.line, Severity.WARNING)
            continue
        # The same words under different parents mean different things: `### Notes` of two sections is fine.
        key = (heading.level, "\n".join(parent))
        if first.setdefault(key, heading.line) != heading.line:
            message = f"The heading `{_shown(heading)}` is a duplicate of line {first[key]}"
            fix = "Merge the two sections, or rename one."
            yield _finding(request.name, "repeated", message, fix, heading.line, Severity.WARNING)


def _empty(request: ValidationRequest, structure: Outline) -> Iterator[Finding]:
    """Report empty sections. A section ends at the next heading of its level or higher; comments are not text."""
    for heading, following in zip(structure.headings, (*structure.headings[1:], None), strict=False):
        body = request.text[heading.end : following.start if following else len(request.text)]
        # An empty part before a subsection is fine; the subsection is reported for itself.
        if not without_comments(body)[0].strip() and not (following and following.level > heading.level):
            message = f"The section `{_shown(heading)}` is empty"
            fix = "Write its text, or `- None yet`."
            yield _finding(request.name, "empty", message, fix, heading.line, Severity.WARNING)


def _shown(heading: Heading) -> str:
    return f"{'#' * heading.level} {heading.text}"


def _finding(
    name: str, rule: str, message: str, fix: str, line: int | None = None, severity: Severity = Severity.ERROR
) -> Finding:
    return Finding(rule=f"anchors/{rule}", message=message, severity=severity, line=line, fix=fix, name=name)
