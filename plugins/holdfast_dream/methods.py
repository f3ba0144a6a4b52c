"""Methods added to an opened project; :class:`holdfast.plugin.features.Features` declares them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import EllipsisType

    from holdfast import Holdfast
    from holdfast.flush.dreamlog import DreamResult


def deep_dream(
    memory: Holdfast,
    lookback_days: int | EllipsisType = ...,
    *,
    dry_run: bool = False,
    force: bool = False,
    if_due: bool = False,
) -> DreamResult:
    from holdfast_dream import pipeline

    return pipeline.deep_dream(memory.services, lookback_days, dry_run=dry_run, force=force, if_due=if_due)


def undo_dream(memory: Holdfast, *, force: bool = False) -> DreamResult:
    from holdfast_dream import write

    return write.undo(memory.services, force=force)


def dream_due(memory: Holdfast) -> bool:
    from holdfast_dream import pipeline

    return pipeline.is_due(memory.services)


def dreams(memory: Holdfast) -> list[DreamResult]:
    from holdfast.flush import dreamlog

    return dreamlog.entries(memory.services.state)
