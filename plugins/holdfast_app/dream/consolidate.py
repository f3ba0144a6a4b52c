"""The notes that a dream reads, and the items of MEMORY.md in it, from any dreamer: replacement, limits and
confirmations."""

import hashlib
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from functools import cached_property
from typing import Final, NamedTuple

from attrs import evolve

from holdfast.config.layout import Surface
from holdfast.text.plain import lines, same_key
from holdfast_app.base import Services
from holdfast_app.dream import confirmed
from holdfast_app.dream.confirmed import Confirmation
from holdfast_app.dream.memorytext import LASTING, Item
from holdfast_app.facts.rejected import key_of
from holdfast_app.markdown.lines import read_line
from holdfast_app.records import blocks
from holdfast_app.sentences.relation import Known

#: Maximum number of statements in the notes that a dream compares with the items. Each takes some 2 kB.
MOST_STATEMENTS: Final = 2_000
#: Maximum number of a memory's items that are compared with statements, the first ones: a longer memory is cut anyway.
MOST_ITEMS: Final = 4_000
#: Share of the limit that a dream fills, which leaves room for additions before the next dream.
_FILLED: Final = 0.95


class Note(NamedTuple):
    """A daily note."""

    day: date
    name: str
    text: str


def window(services: Services, days: int) -> list[Note]:
    """Notes from the last ``days`` calendar days, including today, oldest first. Notes with only a title are left
    out. So are withheld passages, because a dream's result would count as written here; such a note may be blank.
    Source: readings A25, A26."""
    today = services.now().date()
    notes = []
    for name in services.store.backend.names(services.layout.prefix(Surface.DAILY)):
        day = services.layout.day_of(Surface.DAILY, name)
        document = services.store.read(name) if day is not None and 0 <= (today - day).days < days else None
        if day is None or document is None:
            continue
        if content(document.text):
            notes.append(Note(day, name, services.store.for_agents(document)))
    return sorted(notes)


def content(text: str) -> str:
    """A note without its title."""
    text = text.removeprefix("\ufeff").strip()
    _, first = next(lines(text), (0, ""))
    return text[len(first) :].strip() if read_line(first).level == 1 else text


def digest_of(read: Sequence[Note]) -> str:
    """A digest of the days and bytes of the notes ``read``. Source: reading A27."""
    digest = hashlib.sha256()
    for day, _, text in read:
        data = text.encode("utf-8", "surrogatepass")
        digest.update(f"{day.isoformat()} {len(data)}\n".encode() + data)
    return digest.hexdigest()


class Statement(NamedTuple):
    """A statement in a note: ``at`` is UTC, ``source`` the note."""

    text: str
    at: datetime
    source: str


def statements(read_notes: Iterable[Note]) -> tuple[list[Statement], int]:
    """The newest facts and decisions of the notes, oldest first, and the number of older ones left out."""
    newest: deque[Statement] = deque(maxlen=MOST_STATEMENTS)
    reached: dict[str, datetime] = {}
    count = 0
    for day, name, text in read_notes:
        for block, at in blocks.in_order(text, datetime(day.year, day.month, day.day, tzinfo=UTC), reached):
            for item in block.items(*LASTING):
                newest.append(Statement(item, at, name))
                count += 1
    return list(newest), count - len(newest)


class Before:
    """A memory's items before a dream. Several steps ask about them, so their keys and the index exist once."""

    def __init__(self, items: Iterable[str]) -> None:
        self.items = list(items)
        self._keys = {same_key(text) for text in self.items}

    def has(self, text: str) -> bool:
        """Whether it has this item, with the same key."""
        return same_key(text) in self._keys

    def __len__(self) -> int:
        """The number of different items."""
        return len(self._keys)

    @cached_property
    def _known(self) -> Known[str]:
        return Known((text, text) for text in self.items[:MOST_ITEMS])

    def replaced(self, after: Iterable[str]) -> dict[str, str]:
        """The items that a new one in ``after`` replaces -> the new one."""
        new = (text for text in after if not self.has(text))
        return {old: text for text in new for old, _ in self._known.related(text)}


def within(
    items: Sequence[Item], before: Before, record: Mapping[str, Confirmation], *, most: int, chars: int
) -> tuple[list[Item], list[str]]:
    """The ``items`` that fit into ``most`` items and ``chars`` characters, and a sentence about the rest.

    New items are kept before old ones; of the old ones the newest and most confirmed, of the new ones the last. When
    all fit, nothing is removed.
    """
    room = max(1, int(most * _FILLED)) if len(items) > most * _FILLED else len(items)
    sizes = [len(item.text) + 3 + (len(item.heading) + 6 if item.heading else 0) for item in items]
    if room == len(items) and sum(sizes) <= chars:
        return list(items), []
    new = [at for at, item in enumerate(items) if not before.has(item.text)]
    old = [at for at, item in enumerate(items) if before.has(item.text)]
    ranked = [old[i] for i in confirmed.ordered(record, [items[at].text for at in old])]
    stay: set[int] = set()
    for at in (*reversed(new), *ranked):
        if len(stay) < room and sizes[at] <= chars:
            stay.add(at)
            chars -= sizes[at]
    gone = [item.text for at, item in enumerate(items) if at not in stay]
    return [item for at, item in enumerate(items) if at in stay], gone


def updated(
    record: Mapping[str, Confirmation], items: Iterable[str], said: Sequence[tuple[str, datetime, str]], now: datetime
) -> dict[str, Confirmation]:
    """The record for ``items``, with the statements ``said`` (text, time, document), oldest first."""
    keys = {key_of(text) for text in items}
    updated = {key: record[key] for key in keys if key in record}
    for text, at, document in said:
        key = key_of(text)
        heard = updated.get(key)
        if key in keys and (heard is None or (at > heard.last and not heard.is_said)):
            updated[key] = Confirmation(first=at, last=at, by=document)
        elif heard is not None and at > heard.last:
            another = at.date() > heard.last.date()
            updated[key] = evolve(heard, last=at, count=heard.count + another, by=document)
    since = now if record else now - confirmed.WORTH  # items from before the record are older than the notes
    return {key: updated.get(key) or Confirmation(first=since, last=since) for key in keys}
