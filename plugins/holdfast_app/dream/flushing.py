"""Answers a flush's questions about dreams."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from holdfast_app.dream import confirmed
from holdfast_app.dream.dreamlog import Status, entries
from holdfast_app.facts.rejected import key_of

if TYPE_CHECKING:
    from holdfast_app.base import Services


class Dreams:
    """See :class:`holdfast.flush.interfaces.Dreams`."""

    def __init__(self, services: Services) -> None:
        self._state = services.state

    def gone_since(self, at: datetime) -> Iterator[str]:
        runs = (r for r in entries(self._state) if r.status is Status.DONE and r.at >= at and not r.dry_run)
        return (line.text for run in runs for line in (*run.merged, *run.dropped, *run.replaced, *run.archived))

    def weights(self, items: Sequence[str]) -> list[float]:
        record = confirmed.load(self._state)
        found = (record.get(key_of(text)) for text in items)
        return [one.weight if one else float("inf") for one in found]
