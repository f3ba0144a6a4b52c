"""Room in a curated document for a flush's lines.

Lines that a newer value replaces go to the archive, and of a full document the least confirmed ones, so that newer ones
are not refused.
"""

import math
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from attrs import evolve

from holdfast.config.layout import Surface
from holdfast.flush import curated
from holdfast.models import CuratedEntry
from holdfast.services.interfaces import Room
from holdfast.storage import Document
from holdfast.text.plain import one_line, same_key
from holdfast_app.base import Services
from holdfast_app.dream import confirmed
from holdfast_app.records import archive
from holdfast_app.sentences.relation import outdated

#: Share of the limit that stays filled after lines are archived, leaving room for the next lines.
FILLED: Final = 0.95
#: Maximum number of lines that a flush moves to the archive.
MOST_REMOVED: Final = 2_000


def room(
    services: Services,
    surface: Surface,
    stored: Document | None,
    entries: Sequence[CuratedEntry],
    flush_id: str,
    at: datetime,
) -> Room:
    """Make room for the entries: lines that they make out of date, and surplus lines, go to the archive first."""
    name, place = services.layout.name(surface), services.archive
    text = services.store.sifted(stored).text if stored else ""
    there, new = list(curated.bullets(text)), list(entries)
    for at_, entry in enumerate(entries):
        if not entry.replaces and (old := _out_of_date(curated.item(entry.text), there)):
            new[at_] = evolve(entry, replaces=old)
    replaced = [(after.replaces, after.text) for before, after in zip(entries, new, strict=True) if before != after]
    warnings = [f"{name}: a newer value replaced {line!r}, which is in {place}." for line, _ in replaced]
    if replaced:
        lines = [f"- {one_line(old)} (from {name}, replaced by: {one_line(newer)})" for old, newer in replaced]
        archive.append(services, lines, flush_id, at)
    if gone := _surplus(services, curated.apply(text, new, surface), [entry.text for entry in new]):
        archive.append(services, [f"- {one_line(line)} (from {name}, which was full)" for line in gone], flush_id, at)
        many = "its least confirmed line" if len(gone) == 1 else f"its {len(gone)} least confirmed lines"
        warnings.append(f"{name} was full: {many} moved to {place}.")
    else:
        count = sum(1 for _ in curated.bullets(curated.apply(stored.text if stored else None, new, surface)))
        warnings += filter(None, [archive.warning(count, services.curated_limit, name)])
    return Room(new, gone, warnings)


def _surplus(services: Services, text: str, newest: Sequence[str]) -> list[str]:
    """The items to remove from ``text`` so that it holds no more than the limit, in document order; may be empty.

    The least and longest-ago confirmed items go first, then items without a record, from the document's top down, and
    only then the ``newest``. A document with far too many items is left to the next dream, which needs only bounded
    memory.
    """
    items, most = list(curated.bullets(text)), services.curated_limit
    if not most < len(items) <= most + MOST_REMOVED:
        return []
    weights = confirmed.weights(confirmed.load(services.state), items, unknown=math.inf)
    new = {same_key(line) for line in newest}
    first = sorted(range(len(items)), key=lambda at: (same_key(items[at]) in new, weights[at], at))
    return [items[at] for at in sorted(first[: len(items) - max(1, int(most * FILLED))])]


def _out_of_date(new: str, there: Sequence[str]) -> str:
    """The first line that ``new`` replaces, unless ``new`` is among them."""
    old = outdated(new, there)
    return "" if same_key(new) in map(same_key, old) else next(iter(old), "")
