"""Moves the least confirmed lines of full curated memory to the archive document, so newer ones are not refused.

The archive is never read into a prompt; search finds it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from holdfast.config.serde import stamp
from holdfast.facts.factrules import duplicate_key
from holdfast.flush import confirmed
from holdfast.flush.curated import bullets, count
from holdfast.storage import block_marker, sha256
from holdfast.text.plain import lines, one_line

#: Share of the limit that stays filled after lines are archived, leaving room for the next lines.
FILLED: Final = 0.95
#: Maximum number of lines that a flush moves to the archive.
MOST_REMOVED: Final = 2_000
#: From this share of the limit on a flush and `holdfast doctor` warn.
NEARLY: Final = 0.9


def surplus(text: str, most: int, state: str, newest: Sequence[str] = ()) -> list[str]:
    """The items to remove from ``text`` so that it holds at most ``most``, in document order; may be empty.

    The least and longest-ago confirmed items go first, then those without a record, from the top of the document
    down, and only then the ``newest``. Of a document with far too many items none are removed: the next dream does
    it, in bounded memory.
    """
    if not most < count(text) <= most + MOST_REMOVED:
        return []
    items = bullets(text)
    record = confirmed.load(state)
    new = {duplicate_key(line) for line in newest}

    def rank(at: int) -> tuple[bool, float, int]:
        one = record.get(confirmed.key_of(items[at]))
        return duplicate_key(items[at]) in new, one.weight if one else float("inf"), at

    first = sorted(range(len(items)), key=rank)[: len(items) - max(1, int(most * FILLED))]
    return [items[at] for at in sorted(first)]


def without(text: str, gone: Sequence[str]) -> str:
    """``text`` without these items; everything else stays byte for byte."""
    if not gone:
        return text
    keys = {duplicate_key(line) for line in gone}
    return "".join(
        line
        for _, line in lines(text, keepends=True)
        if not line.strip().startswith("- ") or duplicate_key(line.strip()[2:]) not in keys
    )


def block(gone: Sequence[str], name: str, flush_id: str, at: datetime) -> tuple[str, str]:
    """Id and block of the archive with items that no longer fit into the document ``name``."""
    return _block([f"- {one_line(text)} (from {name}, which was full)" for text in gone], flush_id, at)


def replaced_block(old: Sequence[tuple[str, str]], name: str, flush_id: str, at: datetime) -> tuple[str, str]:
    """Id and block of the archive with lines of the document ``name`` and the newer ones that replace them."""
    return _block(
        [f"- {one_line(text)} (from {name}, replaced by: {one_line(newer)})" for text, newer in old], flush_id, at
    )


def _block(said: Sequence[str], flush_id: str, at: datetime) -> tuple[str, str]:
    block_id = "archive_" + sha256("\n".join([flush_id, *said]))[:16]
    head = [
        "",
        f"## Archived ({at:%Y-%m-%d %H:%M})",
        block_marker(block_id),
        f"<!-- at={stamp(at.astimezone(UTC))} -->",
        "",
    ]
    return block_id, "\n".join([*head, *said]) + "\n"


def is_archived(text: str, archive: str) -> bool:
    """Whether the archive holds the item."""
    return f"\n- {one_line(text)} (" in archive


def warning(items: int, most: int, name: str) -> str:
    """A sentence when a curated document is nearly full, else an empty string."""
    if items < most * NEARLY:
        return ""
    return (
        f"{name} has {items} items of {most}. Beyond that the least confirmed and oldest items move to the archive, "
        "which search still finds."
    )
