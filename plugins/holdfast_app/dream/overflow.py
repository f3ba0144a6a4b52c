"""The items of MEMORY.md that a dream compares.

A dream takes some 2 kB of memory for each item that it compares, whatever its length. A document of a megabyte holds at
most 250,000 items. So a dream compares a bounded number, and the others go to the archive without being compared.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Final, NamedTuple

from holdfast.facts.relation import same_key
from holdfast.text.plain import one_line
from holdfast_app.dream import confirmed
from holdfast_app.dream.memorytext import Item, Memory, Title, parts

#: Minimum number of items compared, and how many times the limit of MEMORY.md this is otherwise.
_LEAST: Final = 2_000
_TIMES: Final = 2


class Considered(NamedTuple):
    """``text`` is MEMORY.md with the items to compare. ``rest`` holds the ``further`` items, one per line."""

    text: str
    rest: str = ""
    further: int = 0


def bound(limit: int) -> int:
    """The number of items compared when MEMORY.md may have ``limit`` items."""
    return max(_LEAST, _TIMES * limit)


def considered(text: str, record: Container[str], most: int) -> Considered:
    """``text`` with at most ``most`` items: those in ``record``, confirmed earlier, and then the first ones.

    Repetitions of a compared item are left out. A document with few items is returned unchanged. Takes the bytes of the
    rest and some hundred per compared item.
    """
    if sum(1 for _ in _items(text)) <= most:
        return Considered(text)
    known: set[str] = set()
    for item in _items(text):
        if len(known) < most and confirmed.key_of(item.text) in record:
            known.add(same_key(item.text))
    kept: dict[str, Item] = {}
    room = most - len(known)  # for items without a record
    rest, count = bytearray(), 0
    for item in _items(text):
        key = same_key(item.text)
        if key in kept:
            continue
        if key in known or room > 0:
            kept[key] = item
            room -= key not in known
        else:
            rest += f"- {one_line(item.text)}\n".encode("utf-8", "surrogatepass")
            count += 1
    title = next((part for part in parts(text) if isinstance(part, Title)), "")
    return Considered(Memory(title=title, items=kept.values()).render(), rest.decode("utf-8", "surrogatepass"), count)


def _items(text: str) -> Iterator[Item]:
    return (part for part in parts(text, prose_is_item=True) if isinstance(part, Item))
