"""The three-file memory of document 004: file contents, update rules, and the definition of verified work.

``active_context`` holds the current state of the work, ``patterns`` the project's conventions, ``progress`` finished
and proven work. :data:`ANCHORS` is the authoritative structure (section 4), :data:`CONDITIONS` the rules for ending
(FR-4).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeVar

from attrs import field, fields, frozen

from holdfast.config.layout import Surface
from holdfast.config.serde import structure
from holdfast.models import CuratedEntry
from holdfast.models.payload import must_say
from holdfast_app.base import THREE_FILES
from holdfast_app.records.ownlines import THREE

T = TypeVar("T")

FILES: Final = THREE_FILES
TITLES: Final[Mapping[Surface, str]] = {surface: title for surface, (title, _) in zip(FILES, THREE, strict=True)}
ANCHORS: Final[Mapping[Surface, tuple[str, ...]]] = {
    surface: anchors for surface, (_, anchors) in zip(FILES, THREE, strict=True)
}
#: Conditions for ending a workflow, by workflow: name of the condition -> in words. Source: FR-4.
CONDITIONS: Final[Mapping[str, Mapping[str, str]]] = {
    "discovery": {"requirements-approved": "the requirements are approved"},
    "architecture": {"spec-approved": "the technical specification is approved"},
    "build": {"tests-passed": "the tests passed"},
    "debug": {"root-cause-confirmed": "the root cause is confirmed", "regression-test": "a regression test exists"},
    "review": {"review-complete": "the review is complete"},
}
WORKFLOWS: Final = tuple(CONDITIONS)

_REFERENCE: Final = re.compile(
    r"https?://[^\s/.]\S*|(?:[\w.-]+/[\w./-]+)?[#!]\d+|(?:[\w.-]+/[\w.-]+@)?(?=\S*\d|\S{8})[0-9a-f]{7,64}"
)
_PATH: Final = re.compile(r"(?:\S*/)?[^\s/]*[^\s/.][^\s/]*/?")
_PLACE: Final = re.compile(r"(?::\d+){1,2}$|::\S*$|#\S*$")  # a line, a test or a heading in a file


def _entries(value: Iterable[CuratedEntry | str]) -> tuple[CuratedEntry, ...]:
    return tuple(CuratedEntry(text=v) if isinstance(v, str) else v for v in _listed(value, "entries"))


def _deliverables(value: Iterable[Deliverable | str]) -> tuple[Deliverable, ...]:
    return tuple(Deliverable(text=v) if isinstance(v, str) else v for v in _listed(value, "deliverables"))


def _listed(value: Iterable[T], what: str) -> Iterable[T]:
    if isinstance(value, str):
        raise TypeError(f"expected a list of {what}, got a string")
    return value


def _files(value: Iterable[str]) -> tuple[Surface, ...]:
    names = [v.removesuffix(".md") for v in _listed(value, "file names")]
    if unknown := [name for name in names if name not in FILES]:
        raise ValueError(f"{unknown[0]!r} is not one of {', '.join(FILES)}")
    return tuple(s for s in FILES if s in names)


@frozen(kw_only=True)
class Deliverable:
    """A finished item. It is *verified* when ``evidence`` is a link (a URL, ``owner/repo#12``, a commit or a relative
    path), or when ``command`` ended with ``exit_status`` 0. Otherwise it is deferred. Source: reading A60.

    An update also checks that a path exists in the project."""

    text: str = field(validator=must_say)
    evidence: str = ""
    command: str = ""
    exit_status: int | None = None

    @property
    def proof(self) -> str:
        """The proof in words, or an empty string."""
        if is_reference(self.evidence) or path_of(self.evidence):
            return self.evidence.strip()
        if self.command.strip() and type(self.exit_status) is int and self.exit_status == 0:
            return f"`{self.command.strip()}` ended with exit status 0"
        return ""

    @property
    def problem(self) -> str:
        """Why it is not verified, or an empty string."""
        if self.proof or self.command.strip():
            return "" if self.proof else f"`{self.command.strip()}` has no exit status 0"
        return f"'{self.evidence.strip()}' is not a link" if self.evidence.strip() else "no evidence"


@frozen(kw_only=True)
class MemoryUpdate:
    """Entries for the three files, each for the anchor with that name. ``no_change`` names files explicitly left
    without entries. An entry may be a string or a :class:`CuratedEntry` that replaces an older one."""

    current_focus: tuple[CuratedEntry, ...] = field(default=(), converter=_entries)
    decisions: tuple[CuratedEntry, ...] = field(default=(), converter=_entries)
    open_questions: tuple[CuratedEntry, ...] = field(default=(), converter=_entries)
    next_steps: tuple[CuratedEntry, ...] = field(default=(), converter=_entries)
    conventions: tuple[CuratedEntry, ...] = field(default=(), converter=_entries)
    gotchas: tuple[CuratedEntry, ...] = field(default=(), converter=_entries)
    approved_practices: tuple[CuratedEntry, ...] = field(default=(), converter=_entries)
    verified_deliverables: tuple[Deliverable, ...] = field(default=(), converter=_deliverables)
    evidence_links: tuple[CuratedEntry, ...] = field(default=(), converter=_entries)
    deferred_items: tuple[CuratedEntry, ...] = field(default=(), converter=_entries)
    no_change: tuple[str, ...] = field(default=(), converter=_files)

    @property
    def unsaid(self) -> tuple[Surface, ...]:
        """The files with neither an entry nor an explicit "no change"."""
        stated = {surface for surface, _, entries in _by_anchor(self) if entries}
        return tuple(s for s in FILES if s not in stated and s not in self.no_change)


def entries_of(update: MemoryUpdate) -> dict[Surface, dict[str, list[CuratedEntry]]]:
    """The entries as file -> anchor -> entries. Deliverables without proof become deferred items."""
    table: dict[Surface, dict[str, list[CuratedEntry]]] = {surface: {} for surface in FILES}

    def put(surface: Surface, anchor: str, entry: CuratedEntry) -> None:
        table[surface].setdefault(anchor, []).append(entry)

    for surface, anchor, entries in _by_anchor(update):
        for entry in entries:
            if isinstance(entry, CuratedEntry):
                put(surface, anchor, entry)
            elif entry.proof:
                put(surface, anchor, CuratedEntry(text=f"{entry.text} ({entry.proof})"))
                put(surface, "## Evidence Links", CuratedEntry(text=f"{entry.proof}: {entry.text}"))
            else:
                put(surface, "## Deferred Items", CuratedEntry(text=f"{entry.text} (not verified: {entry.problem})"))
    return table


def _by_anchor(update: MemoryUpdate) -> Iterator[tuple[Surface, str, Sequence[CuratedEntry | Deliverable]]]:
    names = {anchor.removeprefix("## ").lower().replace(" ", "_"): (s, anchor) for s in FILES for anchor in ANCHORS[s]}
    for attribute in fields(MemoryUpdate):
        if attribute.name in names:
            surface, anchor = names[attribute.name]
            yield surface, anchor, getattr(update, attribute.name)


def update_from(data: object) -> MemoryUpdate:
    """An update as it is, or from parsed JSON; an entry is a string, or a table with ``text`` and its other fields.

    Raises: ConfigError naming each bad key.
    """
    return data if isinstance(data, MemoryUpdate) else structure(data, MemoryUpdate, what="The update")


def is_reference(text: str) -> bool:
    """Whether ``text`` is a link recognisable by form alone (URL, ``owner/repo#12``, ``#12`` or commit)."""
    return bool(_REFERENCE.fullmatch(text.strip()))


def path_of(text: str) -> str:
    """The path that a link names, without a line number, test or heading; empty when the link cannot be a path."""
    text = text.strip()
    if is_reference(text) or not _PATH.fullmatch(text) or text.casefold() == "n/a":
        return ""
    path = _PLACE.sub("", text)
    return path if "/" in path or "." in path.strip(".") else ""
