"""Editing a Markdown document by anchor. An entry goes to its section, and every other byte is kept.

An anchor is a heading as written, ``## Decisions``. It must appear exactly once as a heading of the document. The same
words in different case are another heading (reading A52).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Final, NamedTuple

from attrs import frozen

from holdfast.errors import Corrupt, Refused
from holdfast.facts.relation import same_key
from holdfast.models import CuratedEntry
from holdfast.text import ownlines
from holdfast.text.plain import BOM
from holdfast.validation import MAX_DOCUMENT_CHARS
from holdfast_app.markdown import marks
from holdfast_app.markdown.lines import TEXT, read_line
from holdfast_app.markdown.outline import Heading, Outline, outline

#: The placeholder text of a new section, replaced by the first entry.
PLACEHOLDER: Final = ownlines.NONE_YET

_NOTHING: Final = "none yet"


@frozen(kw_only=True)
class Limits:
    """``max_items`` per section and ``max_chars`` characters per entry. More is refused (R237, R239)."""

    max_items: int = 50
    max_chars: int = 500


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


@frozen(kw_only=True)
class Edit:
    """The new text, and by anchor the added entries and those already present."""

    text: str
    added: Mapping[str, tuple[str, ...]]
    known: Mapping[str, tuple[str, ...]]


def heading_of(anchor: str) -> tuple[int, str]:
    """Level and words of ``## Words``."""
    hashes, _, words = anchor.partition(" ")
    return len(hashes), words.strip()


def locate(text: str, anchors: Iterable[str], name: str) -> dict[str, Section]:
    """Sections by anchor.

    Raises: Corrupt, naming every missing or duplicate anchor, or the unclosed block at the end.
    """
    return _locate(text, outline(_checked(text, name)), anchors, name)


def insert(text: str, entries: Mapping[str, Sequence[CuratedEntry]], *, name: str, limits: Limits) -> Edit:
    """Place entries, each on one line, under their anchors. Existing entries are not repeated.

    An entry that ``replaces`` an item takes its place, or is added when the item is missing. The first entry replaces
    :data:`PLACEHOLDER`. Line ends follow the section. Repeating the call on its own result changes nothing.
    Raises: Corrupt as :func:`locate`; Refused when an entry is blank or too long, or its section is full.
    """
    before = outline(_checked(text, name))
    sections = _locate(text, before, entries, name)
    new = text
    added: dict[str, tuple[str, ...]] = {}
    known: dict[str, tuple[str, ...]] = {}
    for anchor, section in sorted(sections.items(), key=lambda s: -s[1].start):  # from the end, so offsets stay valid
        change = _Change(text, section, limits, name)
        for entry in entries[anchor]:
            change.put(entry)
        new = new[: section.start] + change.result() + new[section.end :]
        added[anchor], known[anchor] = tuple(change.added), tuple(change.known)
    if new != text and _structure(outline(new)) != _structure(before):
        raise Refused(
            f"An entry added to {name} would change its headings.",
            next_step="Close the open Markdown block just above the section.",
        )
    return Edit(text=new, added=added, known=known)


def complete(text: str | None, *, title: str, anchors: Iterable[str], name: str) -> str:
    """``text`` with a section appended for each missing anchor. Nothing is renamed or removed.

    Raises: Corrupt when the end is inside an unclosed block, so nothing can be added.
    """
    if text is None or not text.removeprefix(BOM).strip():
        return f"{title}\n" + "".join(f"\n{anchor}\n\n{PLACEHOLDER}\n" for anchor in anchors)
    found = outline(_checked(text, name))
    have = {(h.level, h.text) for h in found.headings}
    missing = [anchor for anchor in anchors if heading_of(anchor) not in have]
    if not missing:
        return text
    _refuse_unclosed(found, name)
    newline = _newline(text)
    ended = text if text.endswith(("\n", "\r")) else text + newline
    return ended + "".join(f"{newline}{anchor}{newline * 2}{PLACEHOLDER}{newline}" for anchor in missing)


def line_of(text: str) -> str:
    """``text`` as one line for a list item, with no marker, single spaces, no comment opener."""
    line = " ".join(text.split())
    return line.removeprefix("- ").strip().replace("<!--", "&lt;!--")


class _Change:
    """The new text of one section while entries are added."""

    def __init__(self, text: str, section: Section, limits: Limits, name: str) -> None:
        self._body = text[section.start : section.end]
        own = text[section.heading.start : section.end]
        self._newline = _newline(own if "\n" in own or "\r" in own else text)
        self._open_heading = not text[: section.start].endswith(("\n", "\r"))
        self._last = section.end == len(text)
        self._items = [Item(i.start - section.start, i.end - section.start, i.text) for i in section.items]
        self._keys = {same_key(i.text) for i in section.items}
        self._swaps: dict[int, str] = {}
        self._lines: list[str] = []
        self._limits = limits
        self._where = f"{name} under `{'#' * section.heading.level} {section.heading.text}`"
        self.added: list[str] = []
        self.known: list[str] = []

    def put(self, entry: CuratedEntry) -> None:
        line = line_of(entry.text)
        if not line:
            raise Refused(f"An entry for {self._where} is blank.", next_step="Write some text, or leave the entry out.")
        if len(line) > self._limits.max_chars:
            raise Refused(
                f"An entry for {self._where} has {len(line)} characters, more than {self._limits.max_chars}.",
                next_step="Use one sentence, or link to the details.",
            )
        key, old = same_key(line), same_key(line_of(entry.replaces))
        if key in self._keys:
            self.known.append(line)
            return
        self._keys.add(key)
        self.added.append(line)
        at = next((n for n, i in enumerate(self._items) if same_key(i.text) == old), None) if old else None
        if at is None and not self._lines:
            at = next((n for n, i in enumerate(self._items) if same_key(i.text) == _NOTHING), None)
        if at is not None and at not in self._swaps:
            self._swaps[at] = line
            return
        if len(self._items) + len(self._lines) >= self._limits.max_items:
            raise Refused(
                f"{self._where} is full. It holds {self._limits.max_items} items.",
                next_step="Remove or merge old ones, or let the new entry replace one.",
            )
        self._lines.append(line)

    def result(self) -> str:
        body, newline = self._body, self._newline
        for at, line in sorted(self._swaps.items(), reverse=True):
            item = self._items[at]
            old = body[item.start : item.end]
            body = body[: item.start] + f"- {line}" + old[len(old.rstrip("\r\n")) :] + body[item.end :]
        if not self._lines:
            return body
        new = "".join(f"- {line}{newline}" for line in self._lines)
        filled = body.rstrip(" \t\r\n")
        if not filled:
            lead = newline * 2 if self._open_heading else newline
            return lead + new + (body or ("" if self._last else newline))
        cut = len(filled) + len(_ending(body, len(filled)))
        head = body[:cut]
        lead = "" if head.endswith(("\n", "\r")) else newline
        # A blank line is needed except directly after a list item.
        tail = self._body[self._items[-1].start :].rstrip() if self._items else ""
        ends_in_item = bool(tail) and not re.search(r"[\r\n]\S", tail)
        return head + lead + ("" if ends_in_item else newline) + new + body[cut:]


def _ending(text: str, at: int) -> str:
    """The spaces and line end at ``at``."""
    match = re.compile(r"[ \t]*(?:\r\n|\r|\n)?").match(text, at)
    return match[0] if match else ""


def _locate(text: str, found: Outline, anchors: Iterable[str], name: str) -> dict[str, Section]:
    _refuse_unclosed(found, name)
    places: dict[tuple[int, str], list[int]] = {}
    for index, heading in enumerate(found.headings):
        places.setdefault((heading.level, heading.text), []).append(index)
    anchors = tuple(anchors)
    missing = [a for a in anchors if heading_of(a) not in places]
    twice = [a for a in anchors if len(places.get(heading_of(a), ())) > 1]
    if missing or twice:
        told = [f"`{a}` is missing" for a in missing] + [f"`{a}` is duplicated" for a in twice]
        step = "`holdfast validate --fix` adds missing anchors." if not twice else "Merge the sections manually."
        raise Corrupt(f"{name} has invalid anchors: {', '.join(told)}.", next_step=step)
    sections = {}
    for anchor in anchors:
        index = places[heading_of(anchor)][0]
        heading = found.headings[index]
        end = found.headings[index + 1].start if index + 1 < len(found.headings) else len(text)
        items = [at for at in found.items if heading.end <= at < end]
        ends = [*items[1:], end][: len(items)]
        sections[anchor] = Section(
            heading,
            heading.end,
            end,
            tuple(_item(text, at, until) for at, until in zip(items, ends, strict=True)),
        )
    return sections


def _item(text: str, start: int, until: int) -> Item:
    """The item's first paragraph: up to a blank line, a nested item or another block."""
    first, *rest = text[start:until].splitlines(keepends=True)
    paragraph = [first, *takewhile(lambda line: read_line(line).kind == TEXT, rest)]
    said = "".join(paragraph).strip()
    words = said[len(marks.item(said)) :].split()
    return Item(start, start + sum(map(len, paragraph)), " ".join(words))


def _checked(text: str, name: str) -> str:
    if len(text) > MAX_DOCUMENT_CHARS:
        raise Corrupt(
            f"{name} has {len(text):,} characters, more than the limit of {MAX_DOCUMENT_CHARS:,}.",
            next_step="Move old entries out of it.",
        )
    return text


def _refuse_unclosed(found: Outline, name: str) -> None:
    if found.unclosed:
        kind, line = found.unclosed
        what = "fenced code" if kind == "fence" else "an HTML block or comment"
        raise Corrupt(f"In {name}, line {line} opens {what} that never ends.", next_step="Close it.")


def _structure(found: Outline) -> list[tuple[int, str]]:
    return [(h.level, h.text) for h in found.headings]


def _newline(text: str) -> str:
    at = text.find("\n")
    if at < 0:
        return "\r" if "\r" in text else "\n"
    return "\r\n" if text[:at].endswith("\r") else "\n"
