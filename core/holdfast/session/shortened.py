"""Shorten MEMORY.md to its newest and most confirmed items, in their order, and count the others."""

from __future__ import annotations

from holdfast.flush import confirmed
from holdfast.session import dreamtext
from holdfast.session.dreamtext import Memory

_NOTE = "\n… {out} of {all} lines not shown, the least confirmed and oldest: `holdfast show {name}`"


def shortened(text: str, name: str, chars: int, state: str) -> str:
    """``text`` in at most ``chars`` characters; unchanged when it fits, or when not even one item fits."""
    if len(text) <= chars:
        return text
    memory = dreamtext.read(text, prose_is_item=True)
    record = confirmed.load(state)
    chars -= len(_NOTE) + len(name) + 10 + len(memory.title)
    stay: set[int] = set()
    headings: set[str] = set()
    for at in confirmed.ordered(record, [item.text for item in memory.items]):
        item = memory.items[at]
        size = len(item.text) + 3 + (0 if item.heading in headings or not item.heading else len(item.heading) + 6)
        if size <= chars:
            chars -= size
            stay.add(at)
            headings.add(item.heading)
    if not stay:
        return text
    kept = [item for at, item in enumerate(memory.items) if at in stay]
    note = _NOTE.format(out=len(memory.items) - len(kept), all=len(memory.items), name=name)
    return Memory(title=memory.title, items=kept).render().rstrip("\n") + note
