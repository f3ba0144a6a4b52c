"""A dream without a model: appends the facts and decisions from the notes to the existing memory.

Every item of the result is in a source, word for word. A newer statement replaces an older one as
:mod:`holdfast.facts.relation` decides. Nothing else is removed from the memory.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Final

from holdfast.facts.relation import Known, Relation, same_key
from holdfast.flush import notes
from holdfast.models import DreamDraft, DreamSources
from holdfast.text import ownlines
from holdfast.text.humanize import count
from holdfast_app.dream import memorytext
from holdfast_app.dream.consolidate import MOST_STATEMENTS
from holdfast_app.dream.memorytext import Item, Memory

#: Label of a note's lines -> the heading for new items.
HEADINGS: Final = {"Decision": "Decisions", "Fact": "Facts"}

_EVER: Final = datetime.min.replace(tzinfo=UTC)


def dream(sources: DreamSources) -> DreamDraft:
    """The memory updated with new statements from the notes."""
    old = memorytext.read(sources.memory, prose_is_item=True)
    memory = _Growing({same_key(text): at for text, at in sources.confirmed})
    for item in old.items:
        memory.keep(item)
    for at, said in deque(_said(sources.notes), MOST_STATEMENTS):
        memory.hear(said, at)
    return DreamDraft(
        memory=Memory(title=old.title, items=_grouped(memory.items())).render(),
        diary=_notice(len(sources.notes), memory.added, memory.repeated, memory.replaced),
    )


def _said(notes_read: Iterable[tuple[str, str]]) -> Iterator[tuple[datetime, Item]]:
    """Statements from the notes with their times. A block without a time uses the previous block's time."""
    last, reached = _EVER, dict[str, datetime]()
    for _, text in notes_read:
        for block, at in notes.in_order(text, last, reached):
            last = at
            for label, heading in HEADINGS.items():
                for said in block.items(label):
                    for item in memorytext.read(f"- {said}").items:  # in the form in which it will be read back
                        yield at, Item(text=item.text, heading=heading)


class _Growing:
    """Memory items, to which statements are added or which they confirm or replace."""

    def __init__(self, confirmed: dict[str, datetime]) -> None:
        self._items: dict[str, Item] = {}
        self._ranks: dict[str, int] = {}
        self._at = confirmed
        self._known = Known[str]()
        self.added = self.repeated = self.replaced = 0

    def items(self) -> list[Item]:
        return [self._items[key] for key in sorted(self._items, key=self._ranks.__getitem__)]

    def keep(self, item: Item) -> None:
        """Add an item of the old memory, unless it repeats an earlier item."""
        key = same_key(item.text)
        if key in self._items:
            self.repeated += 1
        else:
            self._put(key, item, len(self._ranks))

    def hear(self, item: Item, at: datetime) -> None:
        """Add a statement made ``at`` a time. Older statements do not replace newer ones."""
        key = same_key(item.text)
        older = [k for k, found in self._known.related(item.text) if found is Relation.REPLACES]
        if key in self._items:
            self._at[key] = max(at, self._time(key))
        elif any(self._time(k) > at for k in older):
            return
        gone = [k for k in older if self._time(k) <= at]
        if key not in self._items:
            self._at[key] = at
            if gone:  # replace in place, under the same heading
                first = min(gone, key=self._ranks.__getitem__)
                self._put(key, Item(text=item.text, heading=self._items[first].heading), self._ranks[first])
            else:
                self._put(key, item, len(self._ranks))
                self.added += 1
        for old in gone:
            del self._items[old]
            self._known.remove(old)
            self.replaced += 1

    def _time(self, key: str) -> datetime:
        return self._at.get(key, _EVER)

    def _put(self, key: str, item: Item, place: int) -> None:
        self._items[key] = item
        self._ranks[key] = place
        self._known.add(key, item.text)


def _grouped(items: Iterable[Item]) -> list[Item]:
    """Items grouped by heading, in order of each heading's first appearance."""
    groups: dict[str, list[Item]] = {}
    for item in items:
        groups.setdefault(item.heading, []).append(item)
    return [item for group in groups.values() for item in group]


def _notice(read_notes: int, added: int, repeated: int, replaced: int) -> str:
    counts = [count(added, "new item")]
    if repeated:
        counts.append(f"{count(repeated, 'repetition')} in MEMORY.md merged")
    if replaced:
        counts.append(f"{count(replaced, 'older item')} replaced")
    return ownlines.line(ownlines.NO_MODEL, count(read_notes, "daily note"), ", ".join(counts))
