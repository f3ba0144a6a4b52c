"""Curated memory changes only by an explicit decision that adds a line or replaces a corrected line."""

from __future__ import annotations

from collections.abc import Iterable

from attrs import evolve

from holdfast.facts import factsubject
from holdfast.facts.factrules import duplicate_key
from holdfast.models import CuratedEntry
from holdfast.text.plain import BOM

TITLES = {"memory": "# Memory", "user": "# User"}


def bullets(text: str) -> list[str]:
    """A curated document's items, without their dashes."""
    return [line.strip()[2:].strip() for line in text.removeprefix(BOM).splitlines() if line.strip().startswith("- ")]


def not_found(text: str | None, entries: Iterable[CuratedEntry]) -> list[str]:
    """The lines that entries are to replace and that ``text`` does not hold, unless their entry is there already."""
    there = {duplicate_key(line) for line in bullets(text or "")}
    return [
        entry.replaces
        for entry in entries
        if entry.replaces and not there & {duplicate_key(_bullet(entry.replaces)), duplicate_key(_bullet(entry.text))}
    ]


def _bullet(text: str) -> str:
    return " ".join(text.split()).removeprefix("- ").strip()


def updating(text: str | None, entries: Iterable[CuratedEntry]) -> list[CuratedEntry]:
    """The entries. An entry that names no line to replace gets the line of ``text`` that it makes out of date, if there
    is one (:func:`holdfast.facts.factsubject.replaces`)."""
    lines = bullets(text or "")
    found = []
    for entry in entries:
        if not entry.replaces and factsubject.speaks(entry.text) and _bullet(entry.text) not in lines:
            old = next((line for line in lines if factsubject.replaces(_bullet(entry.text), line)), "")
            entry = evolve(entry, replaces=old)
        found.append(entry)
    return found


def apply(text: str | None, entries: Iterable[CuratedEntry], surface: str) -> str:
    """``text`` with the decided entries. Everything else stays byte for byte, an editor's byte-order mark too.

    An existing entry adds nothing. An entry that ``replaces`` a line takes its place. If that line is
    missing, the entry is added, so a correction is never lost and applying it twice changes nothing.
    """
    mark = BOM if text and text.startswith(BOM) else ""
    text = text.removeprefix(BOM) if text else ""
    lines = (text if text.strip() else TITLES[surface] + "\n").splitlines()
    for entry in entries:
        wanted = "- " + _bullet(entry.text)
        keys = [duplicate_key(line.strip()[2:]) if line.strip().startswith("- ") else None for line in lines]
        there = duplicate_key(wanted[2:]) in keys
        old = duplicate_key(entry.replaces.strip().removeprefix("- ")) if entry.replaces else None
        if old is not None and old in keys and old != duplicate_key(wanted[2:]):
            at = keys.index(old)
            lines[at : at + 1] = [] if there else [wanted]
        elif not there:
            if lines and not lines[-1].strip().startswith("- ") and lines[-1].strip():
                lines.append("")
            lines.append(wanted)
    return mark + "\n".join(lines) + "\n"
