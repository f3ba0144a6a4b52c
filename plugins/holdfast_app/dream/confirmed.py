"""When each item of MEMORY.md was last confirmed, and by what. MEMORY.md itself stays plain and undated.

The record is ``state/dream.confirmed.json``. It maps an item's digest to its first and last mention, the number of
days, the last document, and a later sentence of the user that may have ended it. It holds no item text. A missing or
damaged record affects only the order in which items are shown and archived, and such sentences. The next dream writes
it again.
"""

import math
import os
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from attrs import frozen

from holdfast.flush.notes import PURGED
from holdfast.fs import private
from holdfast_app.facts.rejected import key_of
from holdfast_app.records import json_file

NAME: Final = "dream.confirmed.json"
#: Source recorded for an item written into MEMORY.md by a person or an agent, or older than the record.
BY_HAND: Final = "MEMORY.md"
#: How much younger each further day of confirmation makes an item, in the order in which items are archived.
WORTH: Final = timedelta(days=30)
_MOST: Final = 12


@frozen(kw_only=True)
class Confirmation:
    """``count`` is the number of days on which the item was said; ``by`` the document that said it last. For an item
    that no document said, the times only order the items. ``doubt`` is what the user said at ``doubted`` that may have
    ended the item, masked; empty without it."""

    first: datetime
    last: datetime
    count: int = 1
    by: str = BY_HAND
    doubt: str = ""
    doubted: datetime | None = None

    @property
    def since(self) -> datetime | None:
        """When the doubt arose, if it was not purged and the item was not confirmed again."""
        return self.doubted if self.doubted and self.doubted > self.last and self.doubt != PURGED else None

    @property
    def is_said(self) -> bool:
        """Whether a note said the item, so that its times are known."""
        return self.by != BY_HAND

    @property
    def weight(self) -> float:
        """Greater for later confirmation on more days, in seconds."""
        return (self.last + WORTH * (min(self.count, _MOST) - 1)).timestamp()


def load(state: str) -> dict[str, Confirmation]:
    """The record; empty when it is missing or cannot be read."""
    return json_file.load_if_readable(os.path.join(state, NAME), dict[str, Confirmation]) or {}


def save(state: str, record: Mapping[str, Confirmation]) -> None:
    """Store the record, durably. Raises: Unavailable."""
    private.make(state)
    json_file.save(os.path.join(state, NAME), record)


def ordered(record: Mapping[str, Confirmation], items: Sequence[str]) -> list[int]:
    """The positions of ``items``: newest and most confirmed first, items without a record last, in their order."""
    values = weights(record, items, unknown=-math.inf)
    return sorted(range(len(items)), key=lambda at: -values[at])


def weights(record: Mapping[str, Confirmation], items: Sequence[str], *, unknown: float) -> list[float]:
    """A number for each item of MEMORY.md, greater for later confirmation on more days, ``unknown`` without one."""
    return [entry.weight if (entry := record.get(key_of(text))) else unknown for text in items]
