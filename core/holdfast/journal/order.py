"""The order in which a session was said, whatever the clock showed.

Hooks journal prompts, tool calls and final answers at once. The rest, such as remarks between two calls, is only in the
client's transcript, and follows in the journal at the next compaction or at the session's end.
"""

from collections.abc import Sequence
from heapq import merge
from operator import attrgetter
from typing import Final

from holdfast import models
from holdfast.journal.journal import Journal

#: Beginning of the ids that hooks give.
_BY_HOOK: Final = "hook-"


def flushes(journal: Journal) -> tuple[str, ...]:
    """The session's completed flushes by id, in their order. Raises: Unavailable."""
    receipts = (entry.record["receipt"] for entry in journal.of_kinds("checkpoint"))
    return tuple(dict.fromkeys(str(receipt["flush_id"]) for receipt in receipts if receipt))


def is_after(flushes: Sequence[str], other: str, one: str) -> bool | None:
    """Whether flush ``other`` was made after flush ``one``, in a session with these ``flushes``. None when
    ``other`` is not among them. A flush ``one`` that is not among them has yet to complete, so it is the last."""
    if other not in flushes:
        return None
    return one in flushes and flushes.index(other) > flushes.index(one)


def as_said(messages: Sequence[models.Message]) -> list[models.Message]:
    """``messages``, as journalled, in the order they were said.

    Messages from the transcript are merged by time into those from hooks. Each kind keeps its own order, so a clock
    that was set back changes little. A session without hooks is already in order.
    """
    hooked = [m for m in messages if m.id.startswith(_BY_HOOK)]
    others = [m for m in messages if not m.id.startswith(_BY_HOOK)]
    return list(merge(hooked, others, key=attrgetter("at")))
