"""A dream without a model: appends the facts and decisions from the notes to the existing memory.

Every item of the result is in a source, word for word. A newer statement replaces an older one as
:mod:`holdfast_app.sentences.relation` decides. Nothing else is removed from the memory.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Final

from holdfast.models import DreamDraft, DreamSources
from holdfast.text.humanize import count
from holdfast.text.plain import same_key
from holdfast_app.dream import memorytext
from holdfast_app.dream.consolidate import MOST_ITEMS, MOST_STATEMENTS
from holdfast_app.dream.memorytext import Item, Memory
from holdfast_app.records import blocks, ownlines
from holdfast_app.sentences.relation import Known, Relation
from holdfast_app.sentences.withdrawal import ended, is_line

_EVER: Final = datetime.min.replace(tzinfo=UTC)


def dream(sources: DreamSources) -> DreamDraft:
    """The memory updated with new statements from the notes. An older statement does not replace a newer one."""
    old = memorytext.read(sources.memory, prose_is_item=True)
    times = {same_key(text): at for text, at in sources.confirmed}
    items: dict[str, Item] = {}
    known = Known[str]()
    for item in old.items:
        if items.setdefault(same_key(item.text), item) is item and len(items) <= MOST_ITEMS:
            known.add(same_key(item.text), item.text)
    repeated = len(old.items) - len(items)
    added = replaced = 0
    for at, item in deque(_said(sources.notes), MOST_STATEMENTS):
        key = same_key(item.text)
        if is_line(item.text):
            gone = ended(item.text, [old.text for k, old in items.items() if times.get(k, _EVER) <= at])
            for one in map(same_key, gone):
                items.pop(one, None)
                known.remove(one)
            continue
        # what one block states holds together
        related = {k: how for k, how in known.related(item.text) if how is not Relation.SAME}
        rivals = {k: how for k, how in related.items() if at == _EVER or times.get(k) != at}
        older = {k for k in rivals if times.get(k, _EVER) <= at}
        if key not in items:
            if any(how is Relation.REPLACES for k, how in rivals.items() if k not in older):
                continue
            if older:  # in place, under the same heading
                place = next(k for k in items if k in older)
                there = Item(text=item.text, heading=items[place].heading)
                items = {key if k == place else k: there if k == place else one for k, one in items.items()}
            else:
                items[key] = item
                added += 1
            known.add(key, item.text)
        times[key] = max(at, times.get(key, at))
        for one in older:
            items.pop(one, None)
            known.remove(one)
        replaced += len(older)
    headings = list(dict.fromkeys(item.heading for item in items.values()))
    grouped = sorted(items.values(), key=lambda item: headings.index(item.heading))
    return DreamDraft(
        memory=Memory(title=old.title, items=grouped).render(),
        diary=_notice(len(sources.notes), added, repeated, replaced),
    )


def _said(notes_read: Iterable[tuple[str, str]]) -> Iterator[tuple[datetime, Item]]:
    """Statements from the notes with their times. A block without a time uses the previous block's time."""
    last, reached = _EVER, dict[str, datetime]()
    for _, text in notes_read:
        for block, at in blocks.in_order(text, last, reached):
            last = at
            for label, heading in memorytext.LASTING.items():
                for said in block.items(label):
                    for item in memorytext.read(f"- {said}").items:  # in the form in which it will be read back
                        yield at, Item(text=item.text, heading=heading)


def _notice(read_notes: int, added: int, repeated: int, replaced: int) -> str:
    counts = [count(added, "new item")]
    if repeated:
        counts.append(f"{count(repeated, 'repetition')} in MEMORY.md merged")
    if replaced:
        counts.append(f"{count(replaced, 'older item')} replaced")
    return ownlines.line(ownlines.NO_MODEL, count(read_notes, "daily note"), ", ".join(counts))
