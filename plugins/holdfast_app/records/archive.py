"""The archive of curated memory, for lines that a newer value replaced or that no longer fit.

In a full document the least confirmed lines go to the archive document, so newer ones are not refused. The archive is
never read into a prompt; search finds it.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Final

from attrs import evolve

from holdfast.config.layout import Surface
from holdfast.config.serde import stamp
from holdfast.flush import curated
from holdfast.models import CuratedEntry
from holdfast.services.interfaces import Room
from holdfast.storage import Document, block_marker, sha256
from holdfast.text.plain import one_line, same_key
from holdfast_app.base import Services
from holdfast_app.records import ownlines

#: The first line of a new archive, see :attr:`holdfast_app.base.Services.archive`.
HEADER: Final = ownlines.ARCHIVE_HEADER + "\n"
#: Share of the limit that stays filled after lines are archived, leaving room for the next lines.
FILLED: Final = 0.95


#: Maximum number of lines that a flush moves to the archive.
MOST_REMOVED: Final = 2_000


#: From this share of the limit on a flush and `holdfast doctor` warn.
NEARLY: Final = 0.9


def room(
    services: Services,
    surface: Surface,
    stored: Document | None,
    entries: Sequence[CuratedEntry],
    flush_id: str,
    at: datetime,
    *,
    weights: Callable[[Sequence[str]], Sequence[float]],
) -> Room:
    """Make room for the entries: lines that they make out of date, and surplus lines, go to the archive first."""
    name, archive = services.layout.name(surface), services.archive
    text = services.store.sifted(stored).text if stored else ""
    there, new = list(curated.bullets(text)), list(entries)
    for at_, one in enumerate(entries):
        if not one.replaces and (old := services.out_of_date(curated.item(one.text), there)):
            new[at_] = evolve(one, replaces=old)
    replaced = [(after.replaces, after.text) for before, after in zip(entries, new, strict=True) if before != after]
    warnings = [f"{name}: a newer value replaced {line!r}, which is in {archive}." for line, _ in replaced]
    if replaced:
        lines = [f"- {one_line(old)} (from {name}, replaced by: {one_line(newer)})" for old, newer in replaced]
        _append(services, lines, flush_id, at)
    if gone := surplus(curated.apply(text, new, surface), services.curated_limit, weights, [one.text for one in new]):
        _append(services, [f"- {one_line(line)} (from {name}, which was full)" for line in gone], flush_id, at)
        many = "its least confirmed line" if len(gone) == 1 else f"its {len(gone)} least confirmed lines"
        warnings.append(f"{name} was full: {many} moved to {archive}.")
    else:
        count = sum(1 for _ in curated.bullets(curated.apply(stored.text if stored else None, new, surface)))
        warnings += filter(None, [warning(count, services.curated_limit, name)])
    return Room(new, gone, warnings)


def surplus(
    text: str, most: int, weights: Callable[[Sequence[str]], Sequence[float]], newest: Sequence[str] = ()
) -> list[str]:
    """The items to remove from ``text`` so that it holds at most ``most``, in document order; may be empty.

    The least and longest-ago confirmed items go first by their ``weights``, then items without a record, from the
    document's top down, and only then the ``newest``. A document with far too many items is left to the next dream,
    which needs only bounded memory.
    """
    if not most < sum(1 for _ in curated.bullets(text)) <= most + MOST_REMOVED:
        return []
    items = list(curated.bullets(text))
    weighed = weights(items)
    new = {same_key(line) for line in newest}

    def rank(at: int) -> tuple[bool, float, int]:
        return same_key(items[at]) in new, weighed[at], at

    first = sorted(range(len(items)), key=rank)[: len(items) - max(1, int(most * FILLED))]
    return [items[at] for at in sorted(first)]


def _append(services: Services, lines: Sequence[str], flush_id: str, at: datetime) -> None:
    block_id = "archive_" + sha256("\n".join([flush_id, *lines]))[:16]
    name = services.archive
    text = services.gate.admit(block(block_id, at, "", lines), surface=Surface.DIARY, name=name)
    services.store.append(Surface.DIARY, name, text, HEADER, block_id)


def block(block_id: str, at: datetime, about: str, lines: Iterable[str]) -> str:
    """A block of the archive. ``about`` follows the time in its comment."""
    heading = ownlines.line(ownlines.ARCHIVED_BLOCK, ownlines.ARCHIVED_TITLE, f"{at:%Y-%m-%d}", f"{at:%H:%M}")
    head = ("", heading, block_marker(block_id), f"<!-- at={stamp(at.astimezone(UTC))}{about} -->", "")
    return "\n".join([*head, *lines]) + "\n"


def archived(services: Services, items: Iterable[str]) -> set[str]:
    """Those of ``items`` that are in the archive."""
    stored = services.store.read(services.archive)
    return {text for text in items if stored and f"\n- {one_line(text)} (" in stored.text}


def warning(items: int, most: int, name: str) -> str:
    """A sentence when a curated document is nearly full, else an empty string."""
    if items < most * NEARLY:
        return ""
    return (
        f"{name} has {items} items of {most}. Beyond that the least confirmed and oldest items move to the archive, "
        "which search still finds."
    )
