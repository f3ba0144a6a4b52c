"""A dream without a model: what the notes recorded as facts and decisions, behind what the memory says already.

Every item of the result stands in a source, word for word; nothing is left out of the memory but repetitions.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from holdfast import dreamtext, notes
from holdfast.dreamtext import Item, Memory
from holdfast.facts import duplicate_key
from holdfast.models import DreamDraft, DreamSources

#: Label of a note's lines -> the heading that new items come under.
HEADINGS: Final = {"Decision": "Decisions", "Fact": "Facts"}

#: Words that an item may begin with and that say nothing of its matter.
_OPENINGS: Final = frozenset(
    ("a", "an", "the", "we", "i", "use", "uses", "using", "to", "will", "shall", "should", "decided", "let's")
)


def dream(sources: DreamSources) -> DreamDraft:
    """The memory with what is new in the notes."""
    old = dreamtext.read(sources.memory, prose_is_item=True)
    items: dict[str, Item] = {}
    for item in old.items:
        items.setdefault(duplicate_key(item.text), item)
    repeated = len(old.items) - len(items)
    before = len(items)
    matters = {_matter(item.text) for item in items.values()}
    for label, heading in HEADINGS.items():
        for _, text in sources.notes:
            for block in notes.blocks(text):
                for said in block.items(label):
                    for item in dreamtext.read(f"- {said}").items:  # as it will be read again
                        if duplicate_key(item.text) not in items and _matter(item.text) not in matters:
                            items[duplicate_key(item.text)] = Item(text=item.text, heading=heading)
                            matters.add(_matter(item.text))
    return DreamDraft(
        memory=Memory(title=old.title, items=_grouped(items.values())).render(),
        diary=_told(len(sources.notes), len(items) - before, repeated),
    )


def _matter(text: str) -> str:
    """What an item is about, without how it begins: "use a lock", "we use a lock" and "A lock" are one decision."""
    words = text.split()
    while words and words[0].strip(",:").casefold() in _OPENINGS:
        del words[0]
    return duplicate_key(" ".join(words) or text)


def _grouped(items: Iterable[Item]) -> list[Item]:
    """Items of one heading together, in order of the headings' first appearance."""
    groups: dict[str, list[Item]] = {}
    for item in items:
        groups.setdefault(item.heading, []).append(item)
    return [item for group in groups.values() for item in group]


def _told(read: int, added: int, repeated: int) -> str:
    return (
        f"No model was asked. Facts and decisions of {_count(read, 'daily note')} were copied as they stand: "
        f"{_count(added, 'item')} new, {_count(repeated, 'repetition')} in MEMORY.md merged."
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
