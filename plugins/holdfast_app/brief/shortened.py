"""Shorten MEMORY.md to its newest and most confirmed items, in their order, and count the others."""

from __future__ import annotations

from attrs import evolve

from holdfast_app.dream import confirmed, memorytext

_NOTE = "\n… {out} of {all} lines not shown, the least confirmed and oldest: `holdfast show {name}`"


def shortened(text: str, name: str, chars: int, state: str) -> str:
    """``text``, which is longer, in at most ``chars`` characters; unchanged when not even one item fits."""
    memory = memorytext.read(text, prose_is_item=True)
    items = memory.items
    chars -= len(_NOTE) + len(name) + 10 + len(memory.title)
    stay: set[int] = set()
    headings = {""}
    for at in confirmed.ordered(confirmed.load(state), [item.text for item in items]):
        item = items[at]
        size = len(item.text) + 3 + (0 if item.heading in headings else len(item.heading) + 6)
        if size <= chars:
            chars -= size
            stay.add(at)
            headings.add(item.heading)
    if not stay:
        return text
    note = _NOTE.format(out=len(items) - len(stay), all=len(items), name=name)
    return evolve(memory, items=[items[at] for at in sorted(stay)]).render().rstrip("\n") + note
