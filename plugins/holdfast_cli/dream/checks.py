"""The checks of ``holdfast doctor`` on dreams."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from holdfast.plugin.checks import Check, Outcome
from holdfast_app.dream.dreamlog import Status

if TYPE_CHECKING:
    from holdfast import Holdfast


def checks(memory: Holdfast) -> Iterator[Check]:
    """Report how the last dream that ran ended, because nightly dreams run unattended."""
    runs = [run for run in memory.dreams() if run.status is not Status.SKIPPED]
    if not runs:
        return
    last = runs[-1]
    good = f"the last dream, at {last.at:%Y-%m-%d %H:%M}, succeeded"
    yield Check(
        name="dreams",
        outcome=Outcome.OK if last.ok else Outcome.WARN,
        message=good if last.ok else f"the dream of {last.at:%Y-%m-%d %H:%M} failed: {last.reason}",
        next_step="" if last.ok else last.next_step or "Run `holdfast dream --log` for details.",
    )
