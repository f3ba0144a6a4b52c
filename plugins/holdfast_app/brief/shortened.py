"""Shorten MEMORY.md to its newest and most confirmed items, in their order, and count the others."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from holdfast_app.dream import confirmed, memorytext
from holdfast_app.dream.memorytext import Item, Memory
from holdfast_app.facts.rejected import key_of

_NOTE = "\n… {out} of {all} lines not shown, the least confirmed and oldest: `holdfast show {name}`"


def shortened(text: str, name: str, chars: int, state: str) -> str:
    """``text`` in at most ``chars`` characters; unchanged when it fits, or when not even one item fits."""
    if len(text) <= chars:
        return text
    record = confirmed.load(state)
    title = next((part for part in memorytext.parts(text) if isinstance(part, memorytext.Title)), "")
    chars -= len(_NOTE) + len(name) + 10 + len(title)
    stay: dict[int, Item] = {}
    headings: set[str] = set()
    count = 0
    known = {at: item for at, item in _items(text) if key_of(item.text) in record} if record else {}
    first = [list(known)[at] for at in confirmed.ordered(record, [item.text for item in known.values()])]
    others = ((at, item) for at, item in _items(text) if at not in known)  # lazily, because there may be very many
    for at, item in chain(((at, known[at]) for at in first), others):
        count += 1
        size = len(item.text) + 3 + (0 if item.heading in headings or not item.heading else len(item.heading) + 6)
        if size <= chars:
            chars -= size
            stay[at] = item
            headings.add(item.heading)
    if not stay:
        return text
    kept = [stay[at] for at in sorted(stay)]
    note = _NOTE.format(out=count - len(kept), all=count, name=name)
    return Memory(title=title, items=kept).render().rstrip("\n") + note


def _items(text: str) -> Iterator[tuple[int, Item]]:
    return enumerate(part for part in memorytext.parts(text, prose_is_item=True) if isinstance(part, Item))
