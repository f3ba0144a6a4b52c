"""When each item of MEMORY.md was last confirmed, and by what. MEMORY.md itself stays plain and undated.

The record is ``state/dream.confirmed.json``: the digest of an item's text -> when it was first and last said, on how
many days, and the document that said it last. It holds no text. A missing or damaged record costs the order in which
items are shown and archived, nothing else; the next dream writes it again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Final

from attrs import evolve, frozen

from holdfast import durable, private, safeopen, untrusted
from holdfast.errors import Corrupt, HoldfastError
from holdfast.factrules import duplicate_key
from holdfast.serde import structure, unstructure

NAME: Final = "dream.confirmed.json"
#: The source of an item that a person or an agent wrote into MEMORY.md, or that is older than the record.
BY_HAND: Final = "MEMORY.md"
#: How much younger each further day of confirmation makes an item, in the order in which items are archived.
WORTH: Final = timedelta(days=30)
_MOST: Final = 12


@frozen(kw_only=True)
class Confirmation:
    """``count`` is the number of days on which the item was said; ``by`` the document that said it last."""

    first: datetime
    last: datetime
    count: int = 1
    by: str = BY_HAND

    @property
    def weight(self) -> float:
        """Greater for what was confirmed later and on more days, in seconds."""
        return (self.last + WORTH * (min(self.count, _MOST) - 1)).timestamp()


def key_of(text: str) -> str:
    """The key of an item: it changes with its words, not with case and space around it."""
    return sha256(duplicate_key(text).encode("utf-8", "surrogatepass")).hexdigest()[:24]


def load(state: str) -> dict[str, Confirmation]:
    """The record; empty when it is missing or cannot be read."""
    try:
        rows = untrusted.from_json(safeopen.read(os.path.join(state, NAME)))
        return {str(key): structure(row, Confirmation, what=NAME, error=Corrupt) for key, row in rows.items()}
    except (OSError, ValueError, AttributeError, HoldfastError):
        return {}


def save(state: str, record: Mapping[str, Confirmation]) -> None:
    """Store the record, durably. Raises: Unavailable."""
    private.make(state)
    rows = {key: unstructure(one) for key, one in record.items()}
    durable.replace(os.path.join(state, NAME), json.dumps(rows).encode("utf-8"))


def updated(
    record: Mapping[str, Confirmation],
    items: Iterable[str],
    said: Sequence[tuple[str, datetime, str]],
    heirs: Mapping[str, str],
    now: datetime,
) -> dict[str, Confirmation]:
    """The record for ``items``, with the statements ``said`` (text, time, document), oldest first.

    ``heirs`` maps items that are gone to the item that says the same now, which takes their confirmations over.
    """
    from holdfast.restating import Known, read

    known = Known()
    found: dict[str, Confirmation] = {}
    texts: dict[str, str] = {}
    for text in items:
        key = key_of(text)
        texts[key] = text
        if key in record:
            found[key] = record[key]
        known.add(key, read(text))
    for old, new in heirs.items():
        before, key = record.get(key_of(old)), key_of(new)
        if before is not None and key in texts:
            mine = found.get(key, before)
            found[key] = evolve(
                mine,
                first=min(mine.first, before.first),
                last=max(mine.last, before.last),
                count=max(mine.count, before.count),
            )
    for text, at, document in said:
        exact = key_of(text)
        keys = [exact] if exact in texts else list(known.same(read(text)))
        for key in keys:
            heard = found.get(key)
            if heard is None:
                found[key] = Confirmation(first=at, last=at, by=document)
            elif at > heard.last:
                another = at.date() > heard.last.date()
                found[key] = evolve(heard, last=at, count=heard.count + another, by=document)
    since = now if record else now - WORTH  # items from before the record are older than what notes say now
    return {key: found.get(key) or Confirmation(first=since, last=since) for key in texts}


def ordered(record: Mapping[str, Confirmation], items: Sequence[str]) -> list[int]:
    """The places of ``items``, the newest and most confirmed first; those without a record last, in their order."""
    weights = [one.weight if (one := record.get(key_of(text))) else float("-inf") for text in items]
    return sorted(range(len(items)), key=lambda at: (-weights[at], at))
