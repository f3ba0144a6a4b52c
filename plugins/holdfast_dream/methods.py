"""Methods added to an opened project; :class:`holdfast.plugin.features.Features` declares them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.text.lazy import log

if TYPE_CHECKING:
    from types import EllipsisType

    from holdfast import Holdfast
    from holdfast_dream.dreamlog import DreamResult


logger = log("holdfast.dream")


def deep_dream(
    memory: Holdfast,
    lookback_days: int | EllipsisType = ...,
    *,
    dry_run: bool = False,
    force: bool = False,
    if_due: bool = False,
) -> DreamResult:
    from holdfast_dream import pipeline
    from holdfast_dream.dreamlog import Status

    result = pipeline.deep_dream(memory.services, lookback_days, dry_run=dry_run, force=force, if_due=if_due)
    if not dry_run and result.status is not Status.FAILED:
        _decide_conflicts(memory)
    return result


def _decide_conflicts(memory: Holdfast) -> None:
    """Keep the newest fact wherever two machines disagree. The fact log has the others."""
    from holdfast.errors import HoldfastError

    try:
        for conflict in memory.facts.conflicts():
            memory.facts.decide(conflict, conflict.facts[0], why="a dream kept the newest of two machines' values")
    except HoldfastError as error:
        logger.warning("conflicting facts stay until the next dream: %s", error.message)


def undo_dream(memory: Holdfast, *, force: bool = False, dry_run: bool = False) -> DreamResult:
    from holdfast_dream import write

    return write.undo(memory.services, force=force, dry_run=dry_run)


def dream_due(memory: Holdfast) -> bool:
    from holdfast_dream import pipeline

    return pipeline.is_due(memory.services)


def dreams(memory: Holdfast) -> list[DreamResult]:
    from holdfast_dream import dreamlog

    return dreamlog.entries(memory.services.state)
